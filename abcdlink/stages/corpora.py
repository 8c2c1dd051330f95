"""Stages clean and pair: they derive a corpus (or text files) from another one, and record every decision beside it."""

from __future__ import annotations

import textwrap

from abcdlink.cleaning import Cleaned, CleaningCounts, CleaningPlan, Removed, restore, to_restore
from abcdlink.cleaning.clean import clean
from abcdlink.cleaning.text_folder import TextFolder, is_text_folder, put_back
from abcdlink.corpus.formats.text_files import COUNTS, PAGE
from abcdlink.corpus.io import ANOTHER_FOLDER, read_corpus, read_origin, refuse_to_replace, with_step
from abcdlink.corpus.records import Corpus
from abcdlink.domain import Domain
from abcdlink.errors import InputError, counted
from abcdlink.folders import open_folder
from abcdlink.llm.client import LLM
from abcdlink.llm.profiles import profile
from abcdlink.pairing import Pairing, PairingRule, paired, propose
from abcdlink.preview import write_derived
from abcdlink.progress import Progress, silent
from abcdlink.store import Store
from abcdlink.templates import html_environment

PAIRING = "pairing.jsonl"
REMOVED = "removed.jsonl"
ACCOUNT = "cleaning"
"""Budget that pays for the questions, since cleaning belongs to no run."""
MOST_SHOWN = 200
"""Most changed documents, and most unused answers, on the page."""


def run_cleaning(
    corpus_folder: str, out: str, domain: Domain, plan: CleaningPlan, progress: Progress = silent
) -> CleaningCounts:
    """Write a cleaned copy of a corpus; if killed and run again, it asks the LLM nothing twice.

    The corpus, local or on S3, stays as it is; a local folder of text files is cleaned line by line. ``out`` also gets
    ``removed.jsonl``, ``removed.html`` and the counts.

    Raises:
        InputError: when there is no such corpus, or ``out`` is the corpus itself or contains another one.
        BudgetError, ServiceError: as ``clean``.
    """
    if open_folder(out).where() == open_folder(corpus_folder).where():
        msg = f"{out} is the corpus to be cleaned"
        raise InputError(msg, "give another folder, so that nothing is lost")
    are_lines = is_text_folder(corpus_folder)
    if not are_lines:
        refuse_to_replace(out, with_step(read_origin(corpus_folder), "Cleaned"), ANOTHER_FOLDER)
    texts = TextFolder(corpus_folder, progress) if are_lines else None
    corpus = texts.corpus if texts else read_corpus(corpus_folder)
    lines = texts.leftovers(domain.settings.cleaning.line_patterns) if texts else None
    cleaned = clean(corpus, domain, plan, lambda: LLM(profile("cleaner"), account=ACCOUNT), progress, lines)
    if texts:
        texts.write(out, cleaned.removed)
        _write_removed(cleaned, out)
        return cleaned.counts
    origin = with_step(read_origin(corpus_folder), f"Cleaned: {cleaned.counts}", cleaning=plan.model_dump(mode="json"))
    _write(cleaned, out, domain, origin)
    return cleaned.counts


def run_restore(folder: str, domain: Domain, documents: tuple[str, ...] = ()) -> int:
    """Put removed sentences back into a cleaned corpus; returns how many.

    Raises:
        InputError: when nothing was removed from the corpus or from one of the documents.
    """
    store = _store(folder)
    if not store.exists(REMOVED):
        msg = f"{store.where()} is not a cleaned corpus: it has no {REMOVED}"
        raise InputError(msg, "give the folder that `abcdlink clean` wrote")
    removed = store.read_records(REMOVED, Removed)
    back, still = to_restore(removed, documents)
    are_lines = is_text_folder(folder)
    if are_lines:
        put_back(open_folder(folder), back)
        corpus = TextFolder(folder).corpus
    else:
        corpus = restore(read_corpus(folder), back)
    counts = store.read_record(COUNTS, CleaningCounts)
    by = {name: sum(one.by == name for one in still) for name in counts.removed}
    changed = len({one.document for one in still})
    counts = counts.model_copy(update={"changed": changed, "removed": {name: n for name, n in by.items() if n}})
    restored = Cleaned(corpus, still, counts, [])
    if are_lines:
        _write_removed(restored, folder)
    else:
        origin = with_step(read_origin(folder), f"Restored: {len(back)} of the removed sentences")
        _write(restored, folder, domain, origin)
    return len(back)


def _write(cleaned: Cleaned, out: str, domain: Domain, origin: dict[str, object]) -> None:
    corpus = cleaned.corpus
    corpus = corpus.model_copy(update={"refused": [*corpus.refused, *cleaned.refused]})
    _write_removed(cleaned, out)
    write_derived(corpus, out, origin, domain)


def _write_removed(cleaned: Cleaned, out: str) -> None:
    store = _store(out)
    store.write_text(PAGE, page(cleaned, out))
    store.write_record(COUNTS, cleaned.counts)
    store.write_records(REMOVED, cleaned.removed)


def page(cleaned: Cleaned, folder: str) -> str:
    """Return a page of what was removed, as one HTML file without scripts; every text is escaped."""
    by_document: dict[str, list[Removed]] = {}
    for one in cleaned.removed:
        by_document.setdefault(one.document, []).append(one)
    shown = list(by_document.items())[:MOST_SHOWN]
    documents = [(name, _lines(cleaned.corpus, name, removed)) for name, removed in shown]
    return (
        html_environment("abcdlink.cleaning", ".")
        .get_template("removed.html.j2")
        .render(
            name=folder.rstrip("/").rpartition("/")[2],
            folder=folder,
            counts=cleaned.counts,
            refused=cleaned.refused,
            documents=documents,
            most=MOST_SHOWN,
        )
    )


def _lines(corpus: Corpus, name: str, removed: list[Removed]) -> list[tuple[str, str]]:
    """Return a document's original sentences, each with the rule that removed it."""
    lines = [(text, "") for text in corpus.documents[name].texts]
    for one in removed:
        lines.insert(one.position, (one.sentence.text, one.by))
    return lines


def _store(folder: str) -> Store:
    return Store(open_folder(folder), folder.rstrip("/").rpartition("/")[2])


def run_pairing(folder: str, out: str, rule: PairingRule, domain: Domain) -> tuple[Corpus, Pairing]:
    """Pair the documents of a corpus; returns the original corpus, and the result of every comparison.

    ``out``: folder of the paired copy; empty: nothing is written. The domain's language applies if the corpus does not
    state its own.

    Raises:
        InputError: when there is no such corpus, the rule does not fit its documents, ``out`` has another corpus, or
            there is no pair to write.
    """
    whole, origin = read_corpus(folder), read_origin(folder)
    if out:
        refuse_to_replace(out, with_step(origin, "Paired"), ANOTHER_FOLDER)
    pairing = propose(whole, rule, str(origin.get("language", "")) or domain.settings.language)
    if out and not pairing.pairs():
        msg = f"no two of the {len(whole.documents)} documents in {folder} make a pair by this rule: {rule}"
        raise InputError(
            msg, "see the near misses with --check, then allow more, such as more --days or a lower --floor"
        )
    if out:
        step = f"Paired: {counted(len(pairing.pairs()), 'pair')} of {len(whole.documents)} documents ({rule})"
        with_pairs = with_step(origin, step, pairing=rule.model_dump(mode="json"))
        write_derived(paired(whole, pairing), out, with_pairs, domain)
        Store(open_folder(out), out).write_records(PAIRING, pairing.proposed)
    return whole, pairing


def shown_examples(corpus: Corpus, pairing: Pairing) -> list[dict[str, object]]:
    """Return table rows with examples of pairs and of near misses."""

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
