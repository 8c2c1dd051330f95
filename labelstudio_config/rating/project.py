"""Documents to be rated as a project: nothing in it tells which are synthetic."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.domain import Domain
from abcdlink.ratings.criteria import Criterion
from abcdlink.ratings.records import HIGHEST
from labelstudio_config.html import guidelines_html
from labelstudio_config.label_configs import label_config
from labelstudio_config.projects import Project, title_of
from labelstudio_config.rating.tasks import HIDDEN

KEYS = ("12345", "qwert", "asdfg", "zxcvb")
"""For each criterion the keys of its values, lowest first: rows of the keyboard."""


def rating_title(run_key: str) -> str:
    """Return the title of the project."""
    return title_of(run_key, "ratings")


def rating_page(criteria: Sequence[Criterion]) -> str:
    """Return the label config for some criteria; their texts are escaped."""
    from jinja2 import Environment, StrictUndefined

    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(label_config("rating"))
    return template.render(rows=list(zip(criteria, KEYS, strict=False)))


def rating_project(run_key: str, domain: Domain, criteria: Sequence[Criterion], overlap: int) -> Project:
    """Return the project; ``overlap``: raters a document."""
    return Project(
        title=rating_title(run_key),
        description=f"{domain.settings.title}. Rate each document.",
        label_config=rating_page(criteria),
        instruction=guidelines_html(instruction(criteria)),
        overlap=overlap,
        hidden=HIDDEN,
    )


def instruction(criteria: Sequence[Criterion]) -> str:
    """Return what raters read first, as Markdown."""
    asked = "\n".join(f"- **{one.name}**: {one.question} 1: {one.low}. {HIGHEST}: {one.high}." for one in criteria)
    return (
        f"# Rate each document\n\nRead document A, and document B beside it. Then rate document A, from 1 to {HIGHEST}:"
        f"\n\n{asked}\n\nUse all values. Each criterion stands for itself: a fluent document may be of something else. "
        "Every value has its key, which stands beside it; **Ctrl + Enter** submits. Enter keeps a comment."
    )
