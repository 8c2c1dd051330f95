"""A batch as a project."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.corpus.records import Corpus
from abcdlink.domain import Domain
from abcdlink.judgments import Pool
from labelstudio_config.client import Client
from labelstudio_config.html import guidelines_html
from labelstudio_config.label_configs import label_config
from labelstudio_config.linking.tasks import HIDDEN, batch_tasks
from labelstudio_config.projects import Project, title_of
from labelstudio_config.push import PushResult, push_tasks


def batch_title(run_key: str, batch: int) -> str:
    """Return the title of a batch's project."""
    return title_of(run_key, f"batch {batch}")


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
        label_config=label_config("linking"),
        instruction=guidelines_html(domain.guidelines),
        overlap=overlap,
        hidden=HIDDEN,
    )
