"""What comes back from a project, whatever its kind: people, what looks wrong, and all that Label Studio has."""

from __future__ import annotations

import json
from typing import Any

from abcdlink.corpus.records import Record
from abcdlink.judgments import Annotator, Judgment, Skip
from abcdlink.layout import ANNOTATIONS, ANOMALIES
from abcdlink.store import Store


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
