"""Adjudication: somebody decides, once, each candidate on which annotators disagree.

The page shows what was said, but never who said it and never a method; the order differs for each candidate.
"""

from __future__ import annotations

import html
import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from abcdlink.adjudicate import Adjudication
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus
from abcdlink.domain import Domain
from abcdlink.feedback import SecondAnswer
from abcdlink.feedback.guidelines import newest_guidelines
from abcdlink.judgments import Annotator, Judgment, Pool, by_candidate
from abcdlink.layout import ADJUDICATE_SLUG, ADJUDICATORS, NATURAL
from abcdlink.stages.annotate import (
    annotators_of,
    judged_so_far,
    keep_adjudications,
    pools_in,
    prepare_adjudication,
)
from abcdlink.stages.feedback import second_answers
from abcdlink.store import Store
from labelstudio_config.answers import with_pseudonyms
from labelstudio_config.pages import (
    Asked,
    JudgmentsPull,
    Page,
    Project,
    Pull,
    keep_pull,
    project_of,
    text_html,
    title_of,
)
from labelstudio_config.pages.annotate import (
    HIDDEN,
    candidate_id,
    documents_of,
    judgments_in,
    offered,
    reading_order,
    task_data,
)
from labelstudio_config.snapshot import Snapshot


def adjudication_tasks(
    pools: Sequence[Pool],
    judgments: Sequence[Judgment],
    corpus: Corpus,
    domain: Domain,
    answers: Sequence[SecondAnswer] = (),
) -> dict[str, dict[str, Any]]:
    """Return task key -> data of disputed candidates, grouped by pair; each has ``said_html``.

    ``answers``: what annotators said in feedback rounds.

    Raises:
        InputError: when a pool does not fit the corpus.
    """
    documents = documents_of(pools, corpus)
    said = by_candidate(judgments)
    again = by_candidate(answers)
    ordered = reading_order({pool.key: pool for pool in pools}, corpus)
    tasks = {}
    for number, pool in enumerate(ordered, start=1):
        data = task_data(pool, *documents[pool.key], domain, f"Sentence {number} of {len(ordered)}")
        for candidate, shown_one in zip(pool.candidates, offered(data), strict=True):
            at = (pool.pair, pool.source, candidate.target)
            group = said.get(at, {})
            shown_one["said_html"] = said_html(group, candidate_id(pool.key, candidate.target), again.get(at))
        tasks[pool.key] = data
    return tasks


def said_html(group: Mapping[str, Judgment], seed: str, again: Mapping[str, SecondAnswer] | None = None) -> str:
    """Return what annotators said about a candidate, one line each, shuffled by ``seed`` (its opaque id).

    ``group``: annotator -> judgment; ``again``: annotator -> what they said in the feedback round.
    """
    people = sorted(group)
    random.Random(seed).shuffle(people)  # noqa: S311 - an order that is stable, not secret
    lines = []
    for number, who in enumerate(people):
        opinion, second = group[who], (again or {}).get(who)
        remarks = [f"<b>{opinion.label}</b>", *(html.escape(flag) for flag in opinion.flags)]
        if opinion.comment:
            remarks.append(f"“{text_html(opinion.comment)}”")
        if second:
            remarks.append(f"after feedback <b>{second.label}</b>")
            remarks += [f"“{text_html(second.comment)}”"] if second.comment else []
        lines.append(f"<p>{'Another' if number else 'One annotator'}: {', '.join(remarks)}</p>")
    return "".join(lines)


HOW_TO = """# You decide where annotators disagree

- You see only candidates on which annotators disagree. Their labels and comments are shown below each candidate; a
  comment refers to all candidates of its source sentence. **Nobody is right by default**: read both texts and follow
  the guidelines.
- The keyboard works as in a batch: the number for Link, **Shift** and the number for No Link. **Enter** submits.
- If you decide together (consensus), discuss the case first, then submit from one account.

---

"""


def adjudication_title(run_key: str) -> str:
    """Return the title of the project."""
    return title_of(run_key, "adjudication")


def adjudication_project(run_key: str, domain: Domain, guidelines: str) -> Project:
    """Return the project; ``guidelines``: Markdown, the newest."""
    about = f"{domain.settings.title}. Decide where annotators disagree: {domain.settings.question}"
    return project_of("adjudicate", adjudication_title(run_key), about, HOW_TO + guidelines, 1, HIDDEN)


ADJUDICATOR = "adjudicator"
"""Prefix of the pseudonyms of adjudicators who are not annotators of the run."""


SAME = {"batch", "pair", "source", "target", "label", "comment", "submitted"}
"""Fields that a decision shares with a judgment."""


class AdjudicationPull(Pull):
    """The decisions. ``annotators``: the adjudicators who are not annotators of batches."""

    adjudications: list[Adjudication]


def adjudications_in(
    snapshot: Snapshot,
    pools: Sequence[Pool],
    judgments: Sequence[Judgment],
    annotators: Sequence[Annotator],
    adjudicators: Sequence[Annotator],
) -> AdjudicationPull:
    """Read decisions from what is in Label Studio."""
    at_work = {person.account for person in annotators}
    known = [*annotators, *(person for person in adjudicators if person.account not in at_work)]
    result = judgments_in(snapshot, {pool.key: pool for pool in pools}, with_pseudonyms(known, snapshot, ADJUDICATOR))
    decided, twice = _newest(result, pools)
    judged = by_candidate(judgments)
    return AdjudicationPull(
        adjudications=[
            Adjudication(
                **one.model_dump(include=SAME),
                adjudicator=one.annotator,
                consensus=one.annotator in judged.get(one.at, {}),
            )
            for one in decided
        ],
        annotators=[person for person in result.annotators if person.account not in at_work],
        anomalies=[*result.anomalies, *twice],
    )


def _newest(result: JudgmentsPull, pools: Sequence[Pool]) -> tuple[list[Judgment], list[str]]:
    """Return the newest decision on each candidate, in pool order, and note where several people decided."""
    decided = by_candidate(result.judgments)
    newest, anomalies = [], []
    for pool in pools:
        groups = [decided.get((pool.pair, pool.source, candidate.target), {}) for candidate in pool.candidates]
        people = sorted({name for group in groups for name in group})
        if len(people) > 1:
            anomalies.append(f"{' and '.join(people)} decided the task {pool.key}; the newest counts")
        newest += [max(group.values(), key=lambda one: str(one.submitted)) for group in groups if group]
    return newest, anomalies


class AdjudicationPage(Page):
    """The disputes of batches; if none is named, of all that were pulled. Pushing again adds new ones.

    ``settled_too``: also those that a feedback round settled.
    """

    batches: tuple[int, ...] = ()
    settled_too: bool = False
    grows: ClassVar[bool] = True
    slug: ClassVar[str] = ADJUDICATE_SLUG

    def ask(self, store: Store, domain: Domain) -> Asked:
        pools = prepare_adjudication(store, self.batches, settled_too=self.settled_too)
        project = adjudication_project(store.key, domain, newest_guidelines(store, domain.guidelines))
        judgments, corpus = judged_so_far(store), read_corpus_from(store, NATURAL)
        tasks = adjudication_tasks(pools, judgments, corpus, domain, second_answers(store))
        return Asked(project, tasks)

    def is_pulled(self, store: Store) -> bool:  # noqa: ARG002 - what was decided is read each time
        return False

    def keep(self, store: Store, snapshot: Snapshot) -> None:
        people = annotators_of(store), store.find_records(ADJUDICATORS, Annotator)
        result = adjudications_in(snapshot, pools_in(store), judged_so_far(store), *people)
        keep_pull(store, ADJUDICATE_SLUG, result, snapshot)
        keep_adjudications(store, result.adjudications, result.annotators, result.anomalies)

    def keep_unasked(self, store: Store) -> None:
        keep_adjudications(store, [], [], [])
