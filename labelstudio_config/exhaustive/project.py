"""The project in which every target sentence of the sampled sources is judged."""

from __future__ import annotations

from abcdlink.domain import Domain
from labelstudio_config.exhaustive.tasks import HIDDEN
from labelstudio_config.html import guidelines_html
from labelstudio_config.label_configs import label_config
from labelstudio_config.projects import Project, title_of

HOW_TO = """# On this page you judge every sentence

- Read the whole document B. Tick each sentence that is linked to the source sentence; what stays unticked is *No Link*.
- No sentence is marked as a candidate here: what the guidelines say of candidates holds for every sentence of B.
- By keyboard: **Tab** goes to the next sentence, the **space bar** ticks it. In a new task press Tab until the first
  sentence has a bar at its left, or click on a sentence. After the last one Tab goes on to the two answers below.
- At the end say that you read all: **a** (every link is ticked) or **n** (there is no link). These keys work once a
  tick has been set; else go there by Tab, and press the space bar. **Ctrl + Enter** submits.

---

"""


def exhaustive_title(run_key: str) -> str:
    """Return the title of the project."""
    return title_of(run_key, "exhaustive")


def exhaustive_project(run_key: str, domain: Domain, guidelines: str, overlap: int) -> Project:
    """Return the project; ``guidelines``: Markdown; ``overlap``: annotators who judge each sampled source."""
    return Project(
        title=exhaustive_title(run_key),
        description=f"{domain.settings.title}. Every sentence: {domain.settings.question}",
        label_config=label_config("exhaustive"),
        instruction=guidelines_html(HOW_TO + guidelines),
        overlap=overlap,
        hidden=HIDDEN,
    )
