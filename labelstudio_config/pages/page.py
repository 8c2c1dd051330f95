"""What every kind of work for people has: what is asked, how answers are read, what is kept.

Each kind is one module beside the XML of its page (the label config). All pages share the look of ``style.css``.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from abcdlink.corpus.records import Record
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.judgments import Annotator, Judgment, Skip
from abcdlink.layout import ANNOTATIONS, ANOMALIES
from abcdlink.store import Store
from labelstudio_config.projects import Asked
from labelstudio_config.snapshot import Snapshot


class Page(Record, ABC):
    """One kind of work for people in one run. ``grows``: tasks may be added after the first push."""

    grows: ClassVar[bool] = False

    @property
    @abstractmethod
    def slug(self) -> str:
        """Names the project within the run."""

    @abstractmethod
    def ask(self, store: Store, domain: Domain) -> Asked:
        """Return what people are asked; no tasks: nothing."""

    @abstractmethod
    def is_pulled(self, store: Store) -> bool:
        """Tell whether the answers were read and kept."""

    @abstractmethod
    def keep(self, store: Store, snapshot: Snapshot) -> None:
        """Read the answers from what counts in Label Studio, and keep them; the file that tells so comes last."""

    def keep_unasked(self, store: Store) -> None:
        """Keep that nobody was asked.

        Raises:
            InputError: when this kind of work always asks somebody.
        """
        msg = f"{self.slug} of run {store.key!r} is not in Label Studio"
        raise InputError(msg, "start the flow again: it pushes the tasks first")

    @abstractmethod
    def counts(self, store: Store) -> dict[str, Any]:
        """Return how much was read."""


class Pull(Record):
    """What every pull has.

    ``annotators``: all people of the run so far who have this role (annotators, applicants, raters,
    adjudicators), under their pseudonyms. ``anomalies``: one sentence for each thing that was left out or
    looks wrong. ``raw``: the tasks with all their annotations as Label Studio has them, without the documents.
    """

    annotators: list[Annotator]
    anomalies: list[str]
    raw: list[dict[str, Any]]


class JudgmentsPull(Pull):
    """What people judged: Link or No Link, or that they skipped a task."""

    judgments: list[Judgment]
    skips: list[Skip]


def keep_pull(store: Store, folder: str, pull: Pull) -> None:
    """Write what looks wrong and all that Label Studio has into a folder of the run."""
    # On one line: Python writes indented JSON ten times slower, and nobody reads this by eye.
    store.write_text(f"{folder}/{ANNOTATIONS}", json.dumps(pull.raw, ensure_ascii=False))
    store.write_json(f"{folder}/{ANOMALIES}", pull.anomalies)


@cache
def label_config(kind: str) -> str:
    """Return the label config (XML) of a kind of work: what people see and decide."""
    return Path(__file__).with_name(f"{kind}.xml").read_text(encoding="utf-8")
