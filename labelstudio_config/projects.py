"""The Label Studio project of one batch: found by its title, made once, with the guidelines in it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from abcdlink.domain import Domain
from abcdlink.errors import ServiceError
from labelstudio_config.client import Client

LABEL_CONFIG = Path(__file__).with_name("linking.xml")
TITLE_LIMIT = 50
"""Longest project title that Label Studio takes, in characters."""

TAB = "Annotate"
"""The tab that keeps the tasks of one pair together.

The button "Label All Tasks" of Label Studio gives a second annotator the tasks of the first in random
order; labelling from a tab with an order goes through them one after the other.
"""

HIDDEN_COLUMNS = [
    f"tasks:{column}"
    for column in (
        *("id", "annotations_results", "annotations_ids", "predictions_score", "predictions_model_versions"),
        *("predictions_results", "total_predictions", "file_upload", "storage_filename", "created_at", "updated_at"),
        *("updated_by", "draft_exists", "data.task_key", "data.question", "data.doc_a_name", "data.doc_b_name"),
        *("data.doc_a_html", "data.doc_b_html", "data.candidates"),
    )
]
"""Columns of the tab's table that tell an annotator nothing."""


def title_of(run_key: str, batch: int) -> str:
    """Return the title of a batch's project; a long run key is cut and made unique by its hash."""
    title = f"{run_key} · batch {batch}"
    if len(title) <= TITLE_LIMIT:
        return title
    ending = f"~{hashlib.sha256(run_key.encode()).hexdigest()[:8]} · batch {batch}"
    return run_key[: TITLE_LIMIT - len(ending)] + ending


def find_project(client: Client, run_key: str, batch: int) -> int | None:
    """Return the id of a batch's project, or ``None``. Of several with this title the oldest counts."""
    return next(iter(client.projects_titled(title_of(run_key, batch))), None)


def require_project(client: Client, run_key: str, batch: int) -> int:
    """Return the id of a batch's project.

    Raises:
        ServiceError: when there is none.
    """
    project = find_project(client, run_key, batch)
    if project is None:
        msg = f"Label Studio at {client.url} has no project {title_of(run_key, batch)!r}"
        raise ServiceError(msg, f"push batch {batch} of run {run_key!r} again, or bring the project back")
    return project


@cache
def label_config() -> str:
    """Return the label config: what an annotator sees and decides."""
    return LABEL_CONFIG.read_text(encoding="utf-8")


def guidelines_html(domain: Domain) -> str:
    """Return the annotator guidelines of a domain as HTML; HTML inside the guidelines shows as text."""
    from markdown_it import MarkdownIt

    text = MarkdownIt("commonmark", {"html": False}).enable("table").render(domain.guidelines)
    return f'<div class="xd-guide">{text}</div>'


def ensure_project(client: Client, run_key: str, batch: int, domain: Domain, overlap: int) -> int:
    """Return the id of the batch's project; make it, for ``overlap`` annotators per task, when it is not there.

    Two processes may do this at once: both look again after making, keep the oldest, and the empty
    later one goes.
    """
    title = title_of(run_key, batch)
    if not client.projects_titled(title):
        client.create_project(
            title=title,
            description=f"{domain.settings.title}. {domain.settings.question}",
            label_config=label_config(),
            expert_instruction=guidelines_html(domain),
            show_instruction=True,
            maximum_annotations=overlap,
            sampling="Sequential sampling",
            show_skip_button=False,
            enable_empty_annotation=False,
            show_collab_predictions=False,
            show_annotation_history=False,
            color="#2F6FDE",
        )
    oldest, *later = (same := client.projects_titled(title))
    for project in later:
        if not same[project]:
            client.delete_project(project)
    return oldest


def annotate_url(client: Client, project: int) -> str:
    """Return the address where annotators begin to label; makes the project's tab when it is not there."""
    tab = next((tab["id"] for tab in client.tabs(project) if tab["data"].get("title") == TAB), None)
    if tab is None:
        data = {"title": TAB, "type": "list", "target": "tasks", "ordering": ["tasks:id"]}
        tab = client.create_tab(project, {**data, "hiddenColumns": {"explore": HIDDEN_COLUMNS, "labeling": []}})
    return f"{client.url}/projects/{project}/data?tab={tab}&labeling=1"
