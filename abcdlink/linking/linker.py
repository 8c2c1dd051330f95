"""Lets an LLM decide what a source sentence links to: among all candidates, one by one, or in the whole target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from abcdlink.corpus.records import Corpus, Document, Pair
from abcdlink.domain import Domain
from abcdlink.linking.decisions import ScoredAnswer, SourceAnswers, verdict_of
from abcdlink.linking.prompts import Shown, ShownPair, around, halves, letters, prompts_of, thoughts_key
from abcdlink.linking.records import Approach, Decision, Scoring, Setup
from abcdlink.llm.client import LLM
from abcdlink.llm.records import Answer, Message, Outcome, Question

SOURCE_WINDOW = 3
TARGET_WINDOW = 1
"""Sentences kept on either side when the documents are shortened."""
MAX_TOKENS_PER_ID = 24
MAX_TOKENS_BASE = 16
"""Tokens for ``"id": false,`` with long ids, and for the braces."""

SEEDS_APART = 1000
"""Added to the seed of a repeated question: with the same one, the cache could return the same answer."""


@dataclass(frozen=True)
class Piece:
    """The content of a question, before it is worded.

    ``ids``: the target sentences that it asks about. ``window``: the target sentences that it shows,
    if not all. ``shortened``: whether documents are cut around the sentences.
    ``again``: whether it repeats ids that an answer left out.
    """

    source: str
    ids: tuple[str, ...]
    window: tuple[str, ...] = ()
    shortened: bool = False
    again: bool = False


Settle = Callable[[list[Piece]], list[Piece]]
"""Asks questions until no answer leads to another one; returns the questions answered last."""


class LLMLinker(ABC):
    """Lets an LLM decide the links of one pair.

    A set-up determines how a source sentence's candidates are divided among questions, which parts of the documents
    they show, and what to ask instead of a question that is too long. ``approach``: one of this set-up. Raises
    ``InputError`` when the approach asks no LLM.
    """

    def __init__(self, domain: Domain, llm: LLM, approach: Approach) -> None:
        self.llm, self.approach, self.ranked = llm, approach, domain.settings.ranked
        self.prompts = prompts_of(domain, approach)

    def check(self) -> None:
        """Raise ``ServiceError`` if the server does not work, or cannot do what the approach needs."""
        self.llm.check()
        if self.approach.scoring is Scoring.PROBABILITY:
            self.llm.require_probabilities()

    @abstractmethod
    def pieces(self, source: str, ids: tuple[str, ...]) -> list[Piece]:
        """Return the initial questions on a source sentence and the targets offered to it."""

    @abstractmethod
    def shown(self, piece: Piece, source: Document, target: Document) -> tuple[Shown, Shown]:
        """Return the parts of both documents that a question shows."""

    @abstractmethod
    def smaller(self, piece: Piece, source: Document, target: Document) -> list[Piece]:
        """Return what to ask instead of a question that is too long; empty if it cannot be smaller."""

    def scores(self, piece: Piece, answer: Answer) -> dict[str, float]:
        """Return an answer by target id: 1 for a link and 0 for none, or the probability of a link."""
        if self.approach.scoring is Scoring.PROBABILITY:
            said = answer.probabilities or {}
        else:
            said = {target: float(link) for target, link in (answer.value or {}).items() if isinstance(link, bool)}
        return {target: said[key] for target, key in zip(piece.ids, self.keys(piece.ids), strict=True) if key in said}

    def keys(self, ids: Sequence[str]) -> Sequence[str]:
        """Return the keys under which an answer names these targets."""
        return ids

    def schema(self, keys: Sequence[str], *documents: Document) -> dict[str, Any]:  # noqa: ARG002 - the same for all
        """Return the JSON schema of an answer with these keys."""
        return answer_schema(keys)

    def room(self, candidates: int) -> int:
        """Return the most tokens that an answer on this many candidates needs."""
        return MAX_TOKENS_BASE + MAX_TOKENS_PER_ID * candidates

    def question(self, piece: Piece, source: Document, target: Document) -> Question:
        """Word a question; raises ``KeyError`` if a document has no sentence with an id."""
        # Best first only if the domain says so: that order reveals the retriever's opinion.
        candidates = [target.sentences[target.position[i]] for i in piece.ids]
        if not self.ranked:
            candidates.sort(key=lambda sentence: target.position[sentence.id])
        user = self.prompts.user(
            self.shown(piece, source, target),
            source.sentences[source.position[piece.source]],
            candidates,
            whole=set(piece.ids) == set(piece.window),
        )
        return Question(
            messages=(
                Message(role="system", content=self.prompts.system(source, target)),
                Message(role="user", content=user),
            ),
            json_schema=self.schema(self.keys([candidate.id for candidate in candidates]), source, target),
            stage=self.approach.asked.name,
            max_tokens=self.room(len(piece.ids)),
            seed=self.llm.settings.llm_seed + SEEDS_APART if piece.again else None,
            probabilities=self.approach.scoring is Scoring.PROBABILITY,
        )

    def decide(self, pair: Pair, corpus: Corpus, offered: Mapping[str, Sequence[str]]) -> list[Decision]:
        """Decide the links of one pair: one decision per source sentence, in the order of ``offered``.

        ``offered``: source sentence id -> target sentence ids, best first. Ids that an answer left out are asked for
        once more, separately; instead of a question that is too long, smaller ones are asked. What is then still
        open is unknown, never ``False``. A source sentence without offered targets is decided without a question.
        """
        pair_shown = ShownPair(corpus.source_of(pair), corpus.target_of(pair))
        documents, offered = pair_shown.documents, pair_shown.offered(offered)
        tallies = {sentence: SourceAnswers(self.approach, ids) for sentence, ids in offered.items()}

        def settle(pieces: list[Piece]) -> list[Piece]:
            last: list[Piece] = []
            while pieces:
                questions = [self.question(piece, *documents) for piece in pieces]
                sampled = self.llm.ask_samples(questions, self.approach.samples)
                following: list[Piece] = []
                for piece, answers in zip(pieces, sampled, strict=True):
                    verdict = verdict_of(piece.ids, answers, [self.scores(piece, answer) for answer in answers])
                    tallies[piece.source].know(verdict.scores)
                    after = self._after(piece, verdict, documents)
                    following += after
                    if not after:
                        tallies[piece.source].close(verdict)
                        last.append(piece)
                pieces = following
            return last

        asked = {sentence: tally.offered for sentence, tally in tallies.items() if tally.offered}
        if asked:
            self.run(asked, settle)
        return [pair_shown.decision(tally.decision(pair.id, sentence)) for sentence, tally in tallies.items()]

    def first_questions(self, pair: Pair, corpus: Corpus, offered: Mapping[str, Sequence[str]]) -> list[Question]:
        """Return the initial questions of ``decide``, in order, with every sample: what a dry run counts.

        What follows from answers (missing ids, windows of long documents) cannot be known in advance.
        """
        pair_shown = ShownPair(corpus.source_of(pair), corpus.target_of(pair))
        pieces: list[Piece] = []

        def note(some: list[Piece]) -> list[Piece]:
            pieces.extend(some)
            return some

        asked = {source: ids for source, ids in pair_shown.offered(offered).items() if ids}
        if asked:
            self.run(asked, note)
        questions = [self.question(piece, *pair_shown.documents) for piece in pieces]
        return [sample for question in questions for sample in self.llm.samples(question, self.approach.samples)]

    def run(self, offered: Mapping[str, tuple[str, ...]], settle: Settle) -> None:
        """Ask the initial questions of a pair; ``settle`` asks them and whatever follows from the answers."""
        settle([piece for source, ids in offered.items() for piece in self.pieces(source, ids)])

    def _after(self, piece: Piece, verdict: ScoredAnswer, documents: tuple[Document, Document]) -> list[Piece]:
        """Return the follow-up questions to the answers to a question."""
        if verdict.outcome is Outcome.TOO_LONG:
            return self.smaller(piece, *documents)
        if verdict.outcome is Outcome.MISSING_IDS and not piece.again:
            return [replace(piece, ids=tuple(i for i in piece.ids if i not in verdict.scores), again=True)]
        return []


def answer_schema(keys: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of an answer: exactly these keys, each a boolean."""
    return {
        "type": "object",
        "properties": {key: {"type": "boolean"} for key in keys},
        "required": list(keys),
        "additionalProperties": False,
    }


class ListwiseLinker(LLMLinker):
    """Asks about all candidates of a source sentence at once; shortens the documents around them once."""

    def pieces(self, source: str, ids: tuple[str, ...]) -> list[Piece]:
        """Return one question."""
        return [Piece(source, ids)]

    def shown(self, piece: Piece, source: Document, target: Document) -> tuple[Shown, Shown]:
        """Return both documents in full, or the sentences around those that are asked about."""
        if not piece.shortened:
            return source.sentences, target.sentences
        return around(source, [piece.source], SOURCE_WINDOW), around(target, piece.ids, TARGET_WINDOW)

    def smaller(self, piece: Piece, source: Document, target: Document) -> list[Piece]:  # noqa: ARG002 - the same for all
        """Return the same question on shortened documents, once."""
        return [] if piece.shortened else [replace(piece, shortened=True)]


THOUGHTS, THOUGHTS_PER_ID = 120, 40
"""Tokens for the thoughts of a two-step answer: some 2 sentences, and one per candidate."""


class TwoStepLinker(ListwiseLinker):
    """Asks like a listwise question, but lets the model reason in words before it decides."""

    def schema(self, keys: Sequence[str], *documents: Document) -> dict[str, Any]:
        """Return the schema of a listwise answer that starts with thoughts: models write keys in this order."""
        decided, key = answer_schema(keys), thoughts_key(*documents)
        properties = {key: {"type": "string"}, **decided["properties"]}
        return {**decided, "properties": properties, "required": [key, *decided["required"]]}

    def room(self, candidates: int) -> int:
        """Return the most tokens that an answer with its thoughts needs."""
        return super().room(candidates) + THOUGHTS + THOUGHTS_PER_ID * candidates


KEY = "related"


class PairwiseLinker(ListwiseLinker):
    """Asks about each candidate separately; documents are shown, and shortened, as in a listwise question."""

    def pieces(self, source: str, ids: tuple[str, ...]) -> list[Piece]:
        """Return one question per candidate."""
        return [Piece(source, (target,)) for target in ids]

    def keys(self, ids: Sequence[str]) -> Sequence[str]:  # noqa: ARG002 - the same for every candidate
        """Return the one key of an answer: it is ``{"related": bool}``."""
        return (KEY,)


class LLMOnlyLinker(LLMLinker):
    """LLM only: asks about the whole target document, or about windows of it if it does not fit."""

    def pieces(self, source: str, ids: tuple[str, ...]) -> list[Piece]:
        """Return one question on the whole document."""
        return [Piece(source, ids, window=ids)]

    def run(self, offered: Mapping[str, tuple[str, ...]], settle: Settle) -> None:
        """Find windows that fit with the first source sentence, and use them for all others.

        So the pair's size is found out once, and all questions on a window follow each other
        and start with the same documents.
        """
        first, *others = offered
        last = settle(self.pieces(first, offered[first]))
        windows = dict.fromkeys((piece.window, piece.shortened) for piece in last)
        settle([Piece(source, window, window, shortened) for window, shortened in windows for source in others])

    def shown(self, piece: Piece, source: Document, target: Document) -> tuple[Shown, Shown]:
        """Return the source document, in full or around the source sentence, and the window."""
        context = around(source, [piece.source], SOURCE_WINDOW) if piece.shortened else source.sentences
        return context, around(target, piece.window, 0)

    def smaller(self, piece: Piece, source: Document, target: Document) -> list[Piece]:
        """Cut whichever is longer: the source document once, around its sentence, or the window in two."""
        whole, near = letters(source.sentences), letters(around(source, [piece.source], SOURCE_WINDOW))
        window, single = letters(around(target, piece.window, 0)), len(piece.window) == 1
        if not piece.shortened and near < whole and (single or whole > window):
            return [replace(piece, shortened=True)]
        if single:
            return []
        parts = [(half, tuple(i for i in piece.ids if i in half)) for half in halves(piece.window)]
        return [replace(piece, ids=ids, window=half) for half, ids in parts if ids]


LINKERS: dict[Setup, type[LLMLinker]] = {
    Setup.LISTWISE: ListwiseLinker,
    Setup.TWO_STEP: TwoStepLinker,
    Setup.PAIRWISE: PairwiseLinker,
    Setup.LLM_ONLY: LLMOnlyLinker,
}


def linker_for(domain: Domain, llm: LLM, approach: Approach) -> LLMLinker:
    """Return the linker of an LLM approach; raises ``InputError`` if the approach asks no LLM."""
    return LINKERS[approach.setup](domain, llm, approach)
