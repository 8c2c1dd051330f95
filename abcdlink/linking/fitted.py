"""What was fitted, on what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from abcdlink.corpus.records import Corpus, Record
from abcdlink.errors import InputError
from abcdlink.linking.fingerprints import pair_fingerprints
from abcdlink.linking.records import CutoffRule

if TYPE_CHECKING:
    import pandas as pd


class FittedOn(Record):
    """The pairs that something was fitted on.

    Attributes:
        corpus: its name.
        sources: sources with links among them.
        pairs: fingerprints of their texts, sorted; whoever has them knows the pairs under any id.
    """

    corpus: str
    sources: int
    pairs: tuple[str, ...]

    @classmethod
    def of(cls, corpus: Corpus) -> FittedOn:
        """Return the record of the annotated pairs of a corpus.

        Raises:
            InputError: when there is no source with links to fit on.
        """
        if not corpus.source_count:
            msg = f"the corpus {corpus.name!r} has no source with links, so that nothing can be fitted on it"
            raise InputError(msg, "give it pairs with gold links, or fit on another corpus")
        fingerprints = pair_fingerprints(corpus)
        annotated = {fingerprints[pair.id] for pair in corpus.pairs if pair.links is not None}
        return cls(corpus=corpus.name, sources=corpus.source_count, pairs=tuple(sorted(annotated)))

    @property
    def words(self) -> str:
        """Say what was fitted on, for a result."""
        return f"fitted on {self.corpus} ({len(self.pairs)} pairs, {self.sources} sources with links)"

    def refuse(self, corpus: Corpus, pairs: Iterable[str], what: str) -> None:
        """Raise ``InputError`` when one of the pairs is one of those fitted on, or is not in the corpus.

        ``what``: was fitted, for the message.
        """
        known, fingerprints = set(self.pairs), pair_fingerprints(corpus)
        for pair in pairs:
            if pair not in fingerprints:
                msg = f"the pair {pair!r} is not in the corpus {corpus.name!r}"
                raise InputError(msg, "give the corpus that was ranked")
            if fingerprints[pair] in known:
                msg = f"{what} was fitted on the texts of the pair {pair!r} of {corpus.name!r}: that is no test"
                raise InputError(msg, "decide on other pairs, or fit by cross-validation over the pairs of this corpus")


class FittedCutoff(Record):
    """A rule with its fitted parameters, as kept beside the results that it gives."""

    rule: CutoffRule
    parameters: dict[str, float]
    fitted_on: FittedOn


def pairs_of(rankings: pd.DataFrame) -> list[str]:
    """Return the ids of the pairs in a rankings table."""
    return [str(pair) for pair in rankings["pair"].unique()]
