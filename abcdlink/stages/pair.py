"""Stage pair: a corpus whose documents are paired by a rule, with all that was compared beside it."""

from __future__ import annotations

import textwrap

from abcdlink.corpus.io import read_corpus, read_origin, with_step
from abcdlink.corpus.records import Corpus
from abcdlink.domain import Domain
from abcdlink.folders import open_folder
from abcdlink.pairing import Pairing, PairingRule, paired, propose
from abcdlink.preview import write_derived
from abcdlink.store import Store

PAIRING = "pairing.jsonl"


def run_pairing(folder: str, out: str, rule: PairingRule, domain: Domain) -> tuple[Corpus, Pairing]:
    """Pair the documents of a corpus; returns the corpus as it was, and what became of all that was compared.

    Args:
        folder: a corpus as ``abcdlink import`` writes it; it stays as it is.
        out: folder of the paired copy; empty: nothing is written.
        rule: which two documents make a pair.
        domain: its language, where the corpus does not say its own.

    Raises:
        InputError: when there is no such corpus, or the rule does not fit its documents.
    """
    whole, origin = read_corpus(folder), read_origin(folder)
    pairing = propose(whole, rule, str(origin.get("language", "")) or domain.settings.language)
    if out:
        step = f"Paired: {len(pairing.pairs())} pairs of {len(whole.documents)} documents ({rule})"
        with_pairs = with_step(origin, step, pairing=rule.model_dump(mode="json"))
        write_derived(paired(whole, pairing), out, with_pairs, domain)
        Store(open_folder(out), out).write_records(PAIRING, pairing.proposed)
    return whole, pairing


def shown_examples(corpus: Corpus, pairing: Pairing) -> list[dict[str, object]]:
    """Return rows of a table with examples of what is paired and of what just misses it."""

    def begins(document: str) -> str:
        return textwrap.shorten(f"{document}: {corpus.documents[document].texts[0]}", 60)

    return [
        {
            "what": one.verdict.value,
            "source": begins(one.source),
            "target": begins(one.target),
            "similarity": f"{one.similarity:.2f}",
            "shared": f"{one.shared:.0%}",
        }
        for one in pairing.examples()
    ]
