"""The project of an adjudication: each disputed candidate is decided once."""

from __future__ import annotations

from abcdlink.domain import Domain
from labelstudio_config.adjudication.tasks import HIDDEN
from labelstudio_config.html import guidelines_html
from labelstudio_config.label_configs import label_config
from labelstudio_config.projects import Project, title_of

HOW_TO = """# You decide where annotators differ

- Only candidates on which annotators differ are shown. Below each stands what they said and wrote; a comment is on
  all candidates of its source sentence. **Nobody is right by default**: read both texts and decide by the guidelines.
- By keyboard as in a batch: the number for Link, **Shift** and the number for No Link. **Ctrl + Enter** submits.
- If you decide together (consensus), talk first, and submit from one account.

---

"""


def adjudication_title(run_key: str) -> str:
    """Return the title of the project."""
    return title_of(run_key, "adjudication")


def adjudication_project(run_key: str, domain: Domain, guidelines: str) -> Project:
    """Return the project.

    Args:
        run_key: name of the run.
        domain: title and question.
        guidelines: Markdown of the newest guidelines.
    """
    return Project(
        title=adjudication_title(run_key),
        description=f"{domain.settings.title}. Decide where annotators differ: {domain.settings.question}",
        label_config=label_config("adjudication"),
        instruction=guidelines_html(HOW_TO + guidelines),
        overlap=1,
        hidden=HIDDEN,
    )
