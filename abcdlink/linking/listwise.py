"""A retriever + LLM approach: one question per source sentence, about all its candidates at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from abcdlink.corpus.records import Corpus, Document, Pair, Sentence
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.linking.records import Approach, Decision
from abcdlink.llm.records import Answer, Message, Outcome, Question
from abcdlink.progress import Progress, silent

if TYPE_CHECKING:
    from abcdlink.llm.client import LLM

SOURCE_WINDOW = 3
TARGET_WINDOW = 1
"""Sentences kept on either side when the documents are shortened."""
MAX_TOKENS_PER_ID = 24
MAX_TOKENS_BASE = 16
"""Room for ``"id": false,`` with long ids, and for the braces."""


@dataclass
class _Asked:
    """One source sentence on its way to a decision: what is known of its candidates so far."""

    source: str
    offered: tuple[str, ...]
    known: dict[str, bool] = field(default_factory=dict)
    outcome: Outcome = Outcome.OK
    detail: str = ""
    shortened: bool = False
    asked_again: bool = False

    @property
    def open(self) -> tuple[str, ...]:
        """The offered ids without an answer, best first."""
        return tuple(target for target in self.offered if target not in self.known)

    def take(self, answer: Answer) -> bool:
        """Take over what an answer says; return whether there is something to ask again."""
        self.known |= {target: bool(value) for target, value in (answer.value or {}).items() if target in self.offered}
        self.outcome, self.detail = answer.outcome, answer.detail
        if answer.outcome is Outcome.TOO_LONG and not self.shortened:
            self.shortened = True
            return True
        if answer.outcome is Outcome.MISSING_IDS and not self.asked_again and self.known:
            self.asked_again = True
            return True
        return False

    def decision(self, approach: str, pair: str) -> Decision:
        """Return the decision; ids that were never answered are unknown, never ``False``."""
        return Decision(
            approach=approach,
            pair=pair,
            source=self.source,
            targets=tuple(target for target in self.offered if self.known.get(target)),
            offered=self.offered,
            unknown=self.open,
            outcome=self.outcome,
            detail=self.detail,
        )


class ListwiseLinker:
    """Lets an LLM decide on the top-ranked target sentences of each source sentence.

    Args:
        domain: gives the prompt templates and texts.
        llm: whom to ask.
        approach: of kind ``llm``; its prompt mode chooses what guidance the prompt holds
            (1 none, 2 examples, 3 description, 4 both).

    Raises:
        InputError: when the approach has no prompt mode.
    """

    def __init__(self, domain: Domain, llm: LLM, approach: Approach) -> None:
        if approach.prompt_mode is None:
            msg = f"approach {approach.name!r} has no prompt mode"
            raise InputError(msg, "give a prompt mode from 1 to 4, or use it as a retriever without an LLM")
        self.domain, self.llm, self.approach = domain, llm, approach
        self._system = domain.render("link_system.j2", mode=approach.prompt_mode)

    def questions(
        self, source: Document, target: Document, offered: Mapping[str, Sequence[str]], *, shortened: bool = False
    ) -> list[Question]:
        """Return one question per source sentence, all with the same beginning.

        What is static in the domain comes first, then the two documents, then what differs: a server
        that caches prompt prefixes reads the documents once when the questions are asked in this order.

        Args:
            source: document A.
            target: document B.
            offered: source sentence id -> target sentence ids, best first.
            shortened: show only the sentences around those that are asked about.

        Raises:
            KeyError: when a document has no sentence of an id.
        """
        return [self._question(source, target, asked, tuple(ids), shortened) for asked, ids in offered.items()]

    def _question(
        self, source: Document, target: Document, asked: str, ids: tuple[str, ...], shortened: bool
    ) -> Question:
        sentence = source.sentences[source.position[asked]]
        # In document order: the retriever's order would tell the model what the retriever thinks.
        candidates = sorted((target.sentences[target.position[i]] for i in ids), key=lambda s: target.position[s.id])
        shown = (
            (_around(source, [asked], SOURCE_WINDOW), _around(target, ids, TARGET_WINDOW))
            if shortened
            else (source.sentences, target.sentences)
        )
        pair = self.domain.render("link_pair.j2", source=shown[0], target=shown[1])
        question = self.domain.render("link_question.j2", source=sentence, candidates=candidates)
        return Question(
            messages=(
                Message(role="system", content=self._system),
                Message(role="user", content=f"{pair}\n\n{question}"),
            ),
            json_schema=answer_schema([candidate.id for candidate in candidates]),
            stage=self.approach.name,
            max_tokens=MAX_TOKENS_BASE + MAX_TOKENS_PER_ID * len(ids),
        )

    def decide(
        self, pair: Pair, corpus: Corpus, offered: Mapping[str, Sequence[str]], progress: Progress = silent
    ) -> list[Decision]:
        """Decide the links of one pair.

        Ids that an answer left out are asked for once more, by themselves; a question that is too long
        is asked once more with the documents shortened. What is then still open is unknown.

        Args:
            pair: whose links are decided.
            corpus: holds the pair's documents.
            offered: source sentence id -> target sentence ids, best first.
            progress: told of every answer.

        Returns:
            One decision per source sentence, in the order of ``offered``. A source sentence with
            nothing offered is decided without a question.
        """
        source, target = corpus.source_of(pair), corpus.target_of(pair)
        everything = [_Asked(sentence, tuple(ids)) for sentence, ids in offered.items()]
        waiting = [asked for asked in everything if asked.offered]
        while waiting:
            questions = [self._question(source, target, asked.source, asked.open, asked.shortened) for asked in waiting]
            answers = self.llm.ask_many(questions, progress=progress)
            waiting = [asked for asked, answer in zip(waiting, answers, strict=True) if asked.take(answer)]
        return [asked.decision(self.approach.name, pair.id) for asked in everything]


def answer_schema(ids: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of a listwise answer: exactly the offered ids, each a boolean."""
    return {
        "type": "object",
        "properties": {target: {"type": "boolean"} for target in ids},
        "required": list(ids),
        "additionalProperties": False,
    }


def _around(document: Document, ids: Sequence[str], window: int) -> list[Sentence | None]:
    """Return the sentences within ``window`` of the given ones; one ``None`` for each gap."""
    near = {
        index
        for i in ids
        for index in range(document.position[i] - window, document.position[i] + window + 1)
        if 0 <= index < len(document.sentences)
    }
    shown: list[Sentence | None] = []
    for index, sentence in enumerate(document.sentences):
        if index in near:
            shown.append(sentence)
        elif not shown or shown[-1] is not None:
            shown.append(None)
    return shown
