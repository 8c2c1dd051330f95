"""The project of a feedback round: borderline cases to judge again, and the new guidelines."""

from __future__ import annotations

from abcdlink.domain import Domain
from labelstudio_config.feedback.tasks import HIDDEN
from labelstudio_config.html import guidelines_html
from labelstudio_config.label_configs import label_config
from labelstudio_config.projects import Project, title_of

HOW_TO = """# Feedback round

- Annotators differed on these cases. **Nobody is right by default**: read both texts, what was said and the
  clarification, and judge again. Your first judgments stay as they are.
- By keyboard: **0** for Link, **Shift + 0** for No Link. **Ctrl + Enter** submits.
- The last task shows the guidelines for the next batch. Say that you have read them (**a**), or that you still have a
  question (**q**).

---

"""


def feedback_title(run_key: str, batch: int) -> str:
    """Return the title of the project of the round after a batch."""
    return title_of(run_key, f"feedback {batch}")


def feedback_project(run_key: str, batch: int, domain: Domain, guidelines: str, overlap: int) -> Project:
    """Return the project of the round after a batch.

    Args:
        run_key: name of the run.
        batch: after which the round is.
        domain: title and question.
        guidelines: Markdown of the newest guidelines.
        overlap: annotators who answer: all of the batch.
    """
    return Project(
        title=feedback_title(run_key, batch),
        description=f"{domain.settings.title}. Feedback after batch {batch}: cases on which annotators differed",
        label_config=label_config("feedback"),
        instruction=guidelines_html(HOW_TO + guidelines),
        overlap=overlap,
        hidden=HIDDEN,
    )
