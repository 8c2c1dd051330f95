"""A batch as a project: the tasks of its pools, those of one pair after each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from abcdlink.corpus.records import Corpus
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.judgments import Pool
from labelstudio_config.client import Client
from labelstudio_config.html import guidelines_html
from labelstudio_config.linking.tasks import HIDDEN, documents_of, task_data
from labelstudio_config.projects import Project, title_of
from labelstudio_config.push import PushResult, push_tasks

LABEL_CONFIG = Path(__file__).with_name("config.xml")


@cache
def label_config() -> str:
    """Return the label config: what an annotator sees and decides."""
    return LABEL_CONFIG.read_text(encoding="utf-8")


def batch_title(run_key: str, batch: int) -> str:
    """Return the title of a batch's project."""
    return title_of(run_key, f"batch {batch}")


def of_batch(pools: Iterable[Pool], batch: int) -> dict[str, Pool]:
    """Return the pools of one batch by their key."""
    return {pool.key: pool for pool in pools if pool.batch == batch}


def keys_of(pools: Iterable[Pool], batch: int) -> tuple[str, ...]:
    """Return the task keys of one batch."""
    return tuple(of_batch(pools, batch))


def push_batch(
    client: Client,
    run_key: str,
    batch: int,
    pools: Sequence[Pool],
    corpus: Corpus,
    domain: Domain,
    overlap: int | None = None,
) -> PushResult:
    """Bring the tasks of one batch into its project; tasks that are there already stay untouched.

    Args:
        client: the server.
        run_key: name of the run.
        batch: number of the batch, from 1; pools of other batches are left aside.
        pools: the candidate pools of the run.
        corpus: the documents and pairs that the pools name.
        domain: guidelines and question.
        overlap: annotators per task; ``None``: as the domain says.

    Raises:
        InputError: when the batch has no pools, or a pool does not fit the corpus.
        ServiceError: when Label Studio does not do its part.
    """
    project = batch_project(run_key, batch, domain, overlap or domain.settings.overlap)
    return push_tasks(client, project, batch_tasks(run_key, batch, pools, corpus, domain))


def batch_project(run_key: str, batch: int, domain: Domain, overlap: int) -> Project:
    """Return the project of a batch."""
    return Project(
        title=batch_title(run_key, batch),
        description=f"{domain.settings.title}. {domain.settings.question}",
        label_config=label_config(),
        instruction=guidelines_html(domain.guidelines),
        overlap=overlap,
        hidden=HIDDEN,
    )


def batch_tasks(
    run_key: str, batch: int, pools: Sequence[Pool], corpus: Corpus, domain: Domain
) -> dict[str, dict[str, Any]]:
    """Return task key -> data of one batch, in the order in which annotators get the tasks.

    Raises:
        InputError: when the batch has no pools, or a pool does not fit the corpus.
    """
    wanted = of_batch(pools, batch)
    if not wanted:
        msg = f"batch {batch} of run {run_key!r} has no candidate pools"
        raise InputError(msg, "give the run more pairs, or annotate it in fewer batches")
    documents = documents_of(list(wanted.values()), corpus)
    ordered = reading_order(wanted, corpus)
    return {
        pool.key: task_data(pool, *documents[pool.key], domain, progress)
        for pool, progress in zip(ordered, _progress(ordered), strict=True)
    }


def reading_order(pools: Mapping[str, Pool], corpus: Corpus) -> list[Pool]:
    """Return the pools so that those of one pair follow each other, in the order of its source document."""
    pair_at = {pair.id: index for index, pair in enumerate(corpus.pairs)}
    sources = {pair.id: corpus.source_of(pair).position for pair in corpus.pairs}
    return sorted(pools.values(), key=lambda pool: (pair_at[pool.pair], sources[pool.pair][pool.source]))


def _progress(pools: Sequence[Pool]) -> Iterator[str]:
    """Yield for each pool where it stands in the batch; the pools of one pair follow each other."""
    sizes = Counter(pool.pair for pool in pools)
    for number, pair in enumerate(sizes, start=1):
        for sentence in range(1, sizes[pair] + 1):
            yield f"Sentence {sentence} of {sizes[pair]} in this pair · pair {number} of {len(sizes)}"
