"""Sentence boundaries: somebody reads a document and joins, splits or removes sentences.

Everyone who can log in to Label Studio can read all task data: no name of a document, no id of a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from abcdlink.boundaries import (
    FOLDER,
    SEGMENTATION,
    AskedDocument,
    Segmentation,
    finish,
    prepare,
    segment,
)
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Document
from abcdlink.domain import Domain
from abcdlink.layout import BOUNDARIES_SLUG, NATURAL
from abcdlink.store import Store
from labelstudio_config.answers import read_answers, with_pseudonyms
from labelstudio_config.pages import (
    NO_KEY,
    Asked,
    Page,
    Project,
    Pull,
    keep_pull,
    project_of,
    text_html,
    title_of,
)
from labelstudio_config.pages.annotate import candidate_id
from labelstudio_config.snapshot import Snapshot, TaskAnswer

JOINED, DROPPED, BEGINS, DONE = "joined", "dropped", "begins", "done"
"""Names in the label config."""
NOTHING = "I read everything; nothing had to be changed"
HIDDEN = ("joins_html", "drops_html")
ROLE = "corrector"
"""Prefix of these people's pseudonyms."""

HOW_TO = """# Check the sentence boundaries

A program has split this document into sentences, one per line. Read all of it.

- **Left**: tick a line that continues the sentence before it (one sentence was cut in two).
- **Right**: tick a line that is not part of the text, such as a caption, a menu or a share button.
- **Two sentences on one line?** Type the first words of the second one into the field at the bottom, exactly as they
  are, and press Enter. Do this for each further sentence on the line.
- Then press **a** (or **n** if nothing had to be changed), and **Ctrl + Enter** to submit.

Nothing else in the text can be changed.
"""


def boundary_tasks(asked: Sequence[AskedDocument], documents: Mapping[str, Document]) -> dict[str, dict[str, Any]]:
    """Return task key -> data, in the order in which people get them."""
    return {
        one.key: {
            "doc_title": f"Document {number} of {len(asked)}, {len(documents[one.document].sentences)} lines",
            "joins_html": _rows(one, documents[one.document], "join"),
            "drops_html": _rows(one, documents[one.document], "drop"),
        }
        for number, one in enumerate(asked, start=1)
    }


def _rows(one: AskedDocument, document: Document, what: str) -> list[dict[str, str]]:
    first = 1 if what == "join" else 0
    return [
        {
            "value": candidate_id(one.key, f"{what} {sentence.id}"),
            "html": f"<b>{number}</b> {text_html(sentence.text)}",
            "hotkey": NO_KEY,
        }
        for number, sentence in list(enumerate(document.sentences, start=1))[first:]
    ]


def boundary_project(run_key: str) -> Project:
    """Return the project; each document is checked by one person."""
    about = "Check the sentence boundaries of each document."
    return project_of("boundaries", title_of(run_key, "boundaries"), about, HOW_TO, 1, HIDDEN)


class BoundaryPull(Pull):
    """The sentence boundaries that people set."""

    segmentations: list[Segmentation]


def segmentations_in(
    snapshot: Snapshot, asked: Sequence[AskedDocument], documents: Mapping[str, Document]
) -> BoundaryPull:
    """Read segmentations from Label Studio; if several people checked a document, the first answer counts."""
    by_key = {one.key: one for one in asked}
    answers = read_answers(snapshot, by_key, with_pseudonyms((), snapshot, ROLE))
    anomalies, found = [*answers.anomalies], dict[str, Segmentation]()
    for who, answer in answers.newest:
        one = by_key[answer.key]
        if one.document in found:
            anomalies.append(f"{who} checked the task {answer.key} too: the first person's answer counts")
            continue
        found[one.document], problems = _segmentation(answer, one, documents[one.document])
        anomalies += [f"{who}, document {one.document!r}: {problem}" for problem in problems]
    return BoundaryPull(
        segmentations=[found[one.document] for one in asked if one.document in found],
        annotators=answers.annotators,
        anomalies=anomalies,
    )


def _segmentation(answer: TaskAnswer, one: AskedDocument, document: Document) -> tuple[Segmentation, list[str]]:
    chosen = answer.given.choices
    ids = {
        what: {candidate_id(one.key, f"{what} {sentence.id}"): sentence.id for sentence in document.sentences}
        for what in ("join", "drop")
    }
    joined = {ids["join"][name] for name in chosen.get(JOINED, ()) if name in ids["join"]}
    dropped = {ids["drop"][name] for name in chosen.get(DROPPED, ()) if name in ids["drop"]}
    begins = answer.given.texts.get(BEGINS, "").splitlines()
    made, problems = segment(document, joined, dropped, begins)
    foreign = [
        name
        for name in (*chosen.get(JOINED, ()), *chosen.get(DROPPED, ()))
        if name not in {**ids["join"], **ids["drop"]}
    ]
    if foreign:
        problems.append(f"{len(foreign)} ticked lines are not in the document")
    if chosen.get(DONE) == [NOTHING] and (joined or dropped or begins):
        problems.append("said that nothing had to be changed, but changed something")
    return made, problems


class BoundaryPage(Page):
    """The documents of a run. ``documents``: how many, from the first; ``None``: all."""

    documents: int | None = None
    slug: ClassVar[str] = BOUNDARIES_SLUG
    last: ClassVar[str] = SEGMENTATION

    def ask(self, store: Store, domain: Domain) -> Asked:  # noqa: ARG002 - boundaries are the same in every domain
        documents = read_corpus_from(store, NATURAL).documents
        return Asked(boundary_project(store.key), boundary_tasks(prepare(store, self.documents), documents))

    def keep(self, store: Store, snapshot: Snapshot) -> None:
        documents = read_corpus_from(store, NATURAL).documents
        result = segmentations_in(snapshot, prepare(store, self.documents), documents)
        keep_pull(store, FOLDER, result, snapshot)
        finish(store, result.segmentations)
