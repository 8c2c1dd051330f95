"""The project in which every target sentence of the sampled sources is judged."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from abcdlink.domain import Domain
from labelstudio_config.exhaustive.tasks import HIDDEN
from labelstudio_config.html import guidelines_html
from labelstudio_config.projects import Project, title_of

LABEL_CONFIG = Path(__file__).with_name("config.xml")

HOW_TO = """# On this page you judge every sentence

- Read the whole document B. Tick each sentence that is linked to the source sentence; what stays unticked is *No Link*.
- By keyboard: **Tab** goes to the next sentence, the **space bar** ticks it. After the last sentence Tab goes on to the
  two answers below.
- At the end say that you read all: **a** (every link is ticked) or **n** (there is no link). These keys work once a
  tick has been set; else go there by Tab, and press the space bar. **Ctrl + Enter** submits.

---

"""


@cache
def label_config() -> str:
    """Return the label config: what an annotator sees and decides."""
    return LABEL_CONFIG.read_text(encoding="utf-8")


def exhaustive_title(run_key: str) -> str:
    """Return the title of the project."""
    return title_of(run_key, "exhaustive")


def exhaustive_project(run_key: str, domain: Domain, guidelines: str, overlap: int) -> Project:
    """Return the project; ``guidelines``: Markdown; ``overlap``: annotators who judge each sampled source."""
    return Project(
        title=exhaustive_title(run_key),
        description=f"{domain.settings.title}. Every sentence: {domain.settings.question}",
        label_config=label_config(),
        instruction=guidelines_html(HOW_TO + guidelines),
        overlap=overlap,
        hidden=HIDDEN,
    )
