"""Pairs documents by metadata, date or similarity; reprints are left out.

Similarity is the cosine of TF-IDF vectors of the stems of content words, between 0 and 1. One of two documents is a
reprint when the shorter one shares too many sequences of eight words with the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from abcdlink.corpus.records import Corpus, Document, Pair, Record, Refusal, pair_name
from abcdlink.corpus.sampling import require_fields
from abcdlink.errors import InputError
from abcdlink.languages import stemmer, words

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

RUN = 8
"""Words in a sequence that two documents share or not."""
NEAREST = 10
"""Sources that are looked at for each target, the most similar first; more where more are wanted."""
MOST = 1000
ROWS_AT_ONCE = 500
EXAMPLES = 5


class PairVerdict(StrEnum):
    """What becomes of two documents that could be a pair."""

    PAIRED = "paired"
    SPARE = "enough other sources"
    TOO_FAR = "too far apart"
    TOO_NEAR = "too near"
    REPRINT = "reprint"


class PairingRule(Record):
    """Which two documents make a pair; everything that is given has to hold."""

    by: tuple[str, ...] = Field((), description="metadata fields in which both have the same value")
    sources: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="field -> values of documents that can be sources; empty: all"
    )
    targets: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="field -> values of documents that can be targets; empty: all"
    )
    date: str = Field("", description="field with a date in ISO form, such as 2020-05-31")
    days: int | None = Field(None, ge=0, description="at most this many days between the two dates")
    floor: float = Field(0.0, ge=0, le=1, description="lowest similarity")
    ceiling: float = Field(1.0, ge=0, le=1, description="highest similarity")
    reprint: float = Field(
        1.0, gt=0, le=1, description="share of eight-word sequences in common that makes one a reprint"
    )
    most: int = Field(1, ge=1, le=MOST, description="at most this many sources for a target, the most similar")

    @model_validator(mode="after")
    def _something_is_asked_for(self) -> PairingRule:
        if not self.by and self.days is None and not self.floor:
            msg = "nothing says which documents make a pair"
            hint = "give a field (--by), a window of days (--date with --days) or a lowest similarity (--floor)"
            raise InputError(msg, hint)
        if (self.days is None) != (not self.date):
            msg = "a window of days and the field with the date are needed together"
            raise InputError(msg, "give both --date and --days")
        if self.floor > self.ceiling:
            msg = f"the lowest similarity {self.floor:g} is above the highest, {self.ceiling:g}"
            raise InputError(msg, "swap them")
        return self

    def __str__(self) -> str:
        parts = [f"same {name}" for name in self.by]
        parts += [f"{self.date} at most {self.days} days apart"] if self.date else []
        parts += [f"similarity {self.floor:g} to {self.ceiling:g}"] if (self.floor, self.ceiling) != (0, 1) else []
        parts += [f"less than {self.reprint:.0%} of runs of {RUN} words in common"] if self.reprint < 1 else []
        return f"{', '.join(parts)}; at most {self.most} for each target"


class Proposed(Record):
    """Two documents that could be a pair, and what becomes of them."""

    source: str
    target: str
    similarity: float
    shared: float = Field(description="share of the shorter document's eight-word sequences that the other has")
    verdict: PairVerdict


@dataclass
class Pairing:
    """What a rule makes of a corpus; ``refused``: documents that it says nothing about."""

    rule: PairingRule
    proposed: list[Proposed] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each verdict."""
        counted = Counter(one.verdict for one in self.proposed)
        return {verdict.value: counted[verdict] for verdict in PairVerdict if counted[verdict]}

    def pairs(self) -> list[Pair]:
        """Return the pairs."""
        chosen = (one for one in self.proposed if one.verdict is PairVerdict.PAIRED)
        return [Pair(id=pair_name(one.source, one.target), source=one.source, target=one.target) for one in chosen]

    def examples(self) -> list[Proposed]:
        """Return some of each verdict: of what is paired the most and the least similar, else the nearest misses."""
        shown = []
        for verdict in PairVerdict:
            some = sorted((one for one in self.proposed if one.verdict is verdict), key=lambda one: -one.similarity)
            if verdict is PairVerdict.PAIRED and len(some) > EXAMPLES:
                some = [*some[: EXAMPLES // 2], *some[-(EXAMPLES - EXAMPLES // 2) :]]
            elif verdict in {PairVerdict.TOO_NEAR, PairVerdict.REPRINT}:
                some = some[::-1]
            shown += some[:EXAMPLES]
        return shown


def propose(corpus: Corpus, rule: PairingRule, language: str) -> Pairing:
    """Find the pairs that a rule makes; the corpus stays as it is.

    Where both can be source and target, the earlier one (by date, then by place in the file) is the source.

    Raises:
        InputError: when the corpus has pairs, or no document has one of the fields.
    """
    if corpus.pairs:
        msg = f"the corpus {corpus.name!r} already has {len(corpus.pairs)} pairs"
        raise InputError(msg, "import it with --targets to get only its documents")
    documents = list(corpus.documents.values())
    asked = (*rule.by, *rule.sources, *rule.targets, *filter(None, [rule.date]))
    require_fields(asked, {name for document in documents for name in document.meta})
    pairing = Pairing(rule)
    _Pairer(documents, pairing, language).propose()
    return pairing


class _Pairer:
    """The documents by their numbers, with what the rule asks of them; adds to ``pairing`` what it finds.

    ``dates``: document -> its day, as a number. ``rank``: document -> its place by date and time, then in the file.
    """

    def __init__(self, documents: Sequence[Document], pairing: Pairing, language: str) -> None:
        self.documents, self.pairing, self.rule = documents, pairing, pairing.rule
        times = dict(self._times()) if self.rule.date else {}
        self.dates = {index: time.toordinal() for index, time in times.items()}
        order = sorted(range(len(documents)), key=lambda index: (str(times.get(index, "")), index))
        self.rank = {index: place for place, index in enumerate(order)}
        self.vectors = _vectors(documents, language)
        self._runs: dict[int, frozenset[int]] = {}

    def propose(self) -> None:
        """Compare the documents of each group."""
        for group in self._groups():
            sources = [index for index in group if self._fits(index, self.rule.sources)]
            targets = [index for index in group if self._fits(index, self.rule.targets)]
            if self.rule.reprint < 1 and not set(sources) & set(targets):
                sources, targets = self._newest(sources), self._newest(targets)
            for target, near in self._nearest(sources, targets):
                self.pairing.proposed += self._judged(target, near)

    def _refuse(self, index: int, reason: str, hint: str = "") -> None:
        where = f"document {self.documents[index].id!r}"
        self.pairing.refused.append(Refusal(where=where, reason=reason, hint=hint))

    def _fits(self, index: int, conditions: Mapping[str, tuple[str, ...]]) -> bool:
        return all(self.documents[index].meta.get(name) in values for name, values in conditions.items())

    def _times(self) -> Iterator[tuple[int, datetime]]:
        """Yield each document with its date and time as written; a time zone is not looked at."""
        for index, document in enumerate(self.documents):
            said = document.meta.get(self.rule.date, "")
            try:
                yield index, datetime.fromisoformat(said).replace(tzinfo=None)
            except ValueError:
                reason = f"its {self.rule.date} {said!r} is not a date" if said else f"it has no {self.rule.date}"
                self._refuse(index, reason, f"write dates as {date(2020, 5, 31).isoformat()}")

    def _groups(self) -> list[list[int]]:
        """Return the documents that have the same values in the fields asked for."""
        groups: dict[tuple[str, ...], list[int]] = {}
        for index, document in enumerate(self.documents):
            missing = [name for name in self.rule.by if name not in document.meta]
            if missing:
                self._refuse(index, f"it has no {missing[0]}")
            elif not self.rule.date or index in self.dates:
                groups.setdefault(tuple(document.meta[name] for name in self.rule.by), []).append(index)
        return list(groups.values())

    def _nearest(self, sources: Sequence[int], targets: Sequence[int]) -> Iterator[tuple[int, list[tuple[int, float]]]]:
        """Yield each target with the most similar of the sources that it may have, the nearest first."""
        if not sources:
            return
        columns = np.array(sources)
        days = np.array([self.dates.get(index, 0) for index in sources])
        places = np.array([self.rank[index] for index in sources])
        is_source, is_target = set(sources), set(targets)
        both_ways = np.array([index in is_target for index in sources])
        for start in range(0, len(targets), ROWS_AT_ONCE):
            rows = targets[start : start + ROWS_AT_ONCE]
            similar: NDArray[np.float64] = (self.vectors[rows] @ self.vectors[columns].T).toarray()
            for row, target in enumerate(rows):
                allowed = columns != target
                if self.rule.days is not None:
                    allowed &= np.abs(days - self.dates[target]) <= self.rule.days
                if target in is_source:  # of two documents that can be either, the earlier is the source
                    allowed &= ~both_ways | (places < self.rank[target])
                there = np.flatnonzero(allowed)
                best = there[np.argsort(-similar[row, there], kind="stable")[: max(NEAREST, self.rule.most)]]
                if len(best):
                    yield target, [(sources[at], float(similar[row, at])) for at in best]

    def _judged(self, target: int, near: Sequence[tuple[int, float]]) -> Iterator[Proposed]:
        chosen, rule = 0, self.rule
        for source, similarity in near:
            shared = self._shared(source, target) if similarity >= rule.floor else 0.0
            if similarity < rule.floor:
                verdict = PairVerdict.TOO_FAR
            elif shared >= rule.reprint and rule.reprint < 1:
                verdict = PairVerdict.REPRINT
            elif similarity > rule.ceiling:
                verdict = PairVerdict.TOO_NEAR
            elif chosen >= rule.most:
                verdict = PairVerdict.SPARE
            else:
                verdict = PairVerdict.PAIRED
                chosen += 1
            yield Proposed(
                source=self.documents[source].id,
                target=self.documents[target].id,
                similarity=round(similarity, 4),
                shared=round(shared, 4),
                verdict=verdict,
            )

    def _newest(self, side: Sequence[int]) -> list[int]:
        """Return the sources, or the targets, without those that have a later version (agencies send updates)."""
        having: dict[int, list[int]] = {}
        kept, share, days = [], self.rule.reprint, self.rule.days
        for index in sorted(side, key=lambda one: -self.rank[one]):
            own = self._runs_of(index)
            common = Counter(other for run in own for other in having.get(run, ()))
            of_it = (other for other, n in common.items() if n >= share * min(len(own), len(self._runs_of(other))))
            near = (other for other in of_it if days is None or self.dates[other] - self.dates[index] <= days)
            if (later := next(near, None)) is not None:
                self._refuse(index, f"{self.documents[later].id!r} is a later version of it")
                continue
            kept.append(index)
            for run in own:
                having.setdefault(run, []).append(index)
        return sorted(kept)

    def _runs_of(self, index: int) -> frozenset[int]:
        if index not in self._runs:
            said = [word for text in self.documents[index].texts for word in words(text)]
            starts = range(max(1, len(said) - RUN + 1))
            self._runs[index] = frozenset(hash(tuple(said[start : start + RUN])) for start in starts)
        return self._runs[index]

    def _shared(self, one: int, other: int) -> float:
        fewer, more = sorted((self._runs_of(one), self._runs_of(other)), key=len)
        return len(fewer & more) / len(fewer)


def _vectors(documents: Sequence[Document], language: str) -> csr_matrix:
    """Return the TF-IDF vector of each document, of length 1 (or 0 where it has no content words)."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    stems = stemmer(language)
    vectorizer = TfidfVectorizer(
        analyzer=lambda document: [stem for text in document.texts for stem in stems(text)], sublinear_tf=True
    )
    try:
        return vectorizer.fit_transform(documents)
    except ValueError:  # no document has a content word
        from scipy.sparse import csr_matrix as empty

        return empty((len(documents), 1))


def paired(corpus: Corpus, pairing: Pairing) -> Corpus:
    """Return the corpus with the pairs; documents that are in none stay."""
    return corpus.model_copy(update={"pairs": pairing.pairs(), "refused": [*corpus.refused, *pairing.refused]})
