"""From disputed candidates to the data of tasks: what was said is shown, never by whom, never a method.

Everyone who can log in to Label Studio can read all task data, so it holds what the tasks of a batch hold,
and what annotators said in an order that is another one for each candidate.
"""

from __future__ import annotations

import html
import random
from collections.abc import Mapping, Sequence
from typing import Any

from abcdlink.corpus.records import Corpus
from abcdlink.domain import Domain
from abcdlink.judgments import Judgment, Pool, by_candidate
from labelstudio_config.html import shown
from labelstudio_config.linking.tasks import HIDDEN, candidate_id, documents_of, offered, reading_order, task_data

__all__ = ["HIDDEN", "adjudication_tasks", "said_html"]


def adjudication_tasks(
    pools: Sequence[Pool], judgments: Sequence[Judgment], corpus: Corpus, domain: Domain
) -> dict[str, dict[str, Any]]:
    """Return task key -> data, those of one pair after each other; each candidate has ``said_html``.

    Args:
        pools: the disputed candidates.
        judgments: on all of them, and on others.
        corpus: holds what was judged.
        domain: question and names of the documents.

    Raises:
        InputError: when a pool does not fit the corpus.
    """
    documents = documents_of(pools, corpus)
    said = by_candidate(judgments)
    ordered = reading_order({pool.key: pool for pool in pools}, corpus)
    tasks = {}
    for number, pool in enumerate(ordered, start=1):
        data = task_data(pool, *documents[pool.key], domain, f"Sentence {number} of {len(ordered)}")
        for candidate, shown_one in zip(pool.candidates, offered(data), strict=True):
            group = said.get((pool.pair, pool.source, candidate.target), {})
            shown_one["said_html"] = said_html(group, candidate_id(pool.key, candidate.target))
        tasks[pool.key] = data
    return tasks


def said_html(group: Mapping[str, Judgment], seed: str) -> str:
    """Return what annotators said of a candidate, a line each; the first is not the same person everywhere.

    Args:
        group: annotator -> judgment.
        seed: opaque id of the candidate; the same one gives the same order.
    """
    opinions = [group[annotator] for annotator in sorted(group)]
    random.Random(seed).shuffle(opinions)  # noqa: S311 - an order that is stable, not secret
    lines = []
    for number, opinion in enumerate(opinions):
        remarks = [f"<b>{opinion.label}</b>", *(html.escape(flag) for flag in opinion.flags)]
        if opinion.comment:
            remarks.append(f"“{html.escape(shown(opinion.comment))}”")
        lines.append(f"<p>{'Another' if number else 'One annotator'}: {', '.join(remarks)}</p>")
    return "".join(lines)
