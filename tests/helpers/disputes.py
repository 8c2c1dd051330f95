"""Two documents and a few judgments; two annotators disagree on some of them."""

from __future__ import annotations

from typing import Any

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.judgments import Judgment, Label
from tests.helpers.builders import document, judgment

LINK, NO = Label.LINK, Label.NO_LINK
RUN = "a-run"
TEXTS = [f"Text {n}." for n in range(6)]


CORPUS = Corpus(
    name="c",
    documents={name: document(name, TEXTS, "sid-{n}") for name in ("doc-a", "doc-b")},
    pairs=[Pair(id="pair-1", source="doc-a", target="doc-b"), Pair(id="pair-2", source="doc-b", target="doc-a")],
)


def judged(source: int, target: int, *labels: Label, pair: str = "pair-1", **more: Any) -> list[Judgment]:
    return [
        judgment(
            (pair, f"sid-{source}", f"sid-{target}"),
            number,
            label,
            batch=1 if pair == "pair-1" else 2,
            method="numbat",
            **more,
        )
        for number, label in enumerate(labels, start=1)
    ]


JUDGMENTS_MADE = [
    *judged(4, 5, LINK, NO, comment="<b>It follows</b>", flags=("Unsure",)),
    *judged(4, 1, NO, LINK),
    *judged(4, 2, LINK, LINK),
    *judged(0, 3, NO, NO),
    *judged(0, 2, LINK),
    *judged(1, 0, NO, LINK),
]
