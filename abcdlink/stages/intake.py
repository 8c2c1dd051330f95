"""Take corpora into a run: natural pairs to annotate, documents to generate for, or a data drop."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version

from abcdlink.corpus.io import read_corpus, read_corpus_from, read_origin, with_step, write_corpus_to
from abcdlink.corpus.records import Corpus
from abcdlink.corpus.sampling import Sampling, sample_targets
from abcdlink.domain import Domain, targets_of
from abcdlink.drops import DropResult
from abcdlink.errors import InputError
from abcdlink.layout import GENERATION, NATURAL, SHORTLIST, TARGETS, model_file
from abcdlink.stages.candidates import learned_to_rank
from abcdlink.stages.once import at_once, is_done
from abcdlink.stages.shortlist import read_shortlist
from abcdlink.store import Store, existing_run, open_run

VERSIONS = (
    "abcdlink",
    "openai",
    "pandas",
    "prefect",
    "label-studio-sdk",
    "scikit-learn",
    "sentence-transformers",
    "spacy",
)
"""Packages whose versions a run's manifest records."""


@at_once("intake")
def take_corpus(store: Store, corpus_folder: str, domain: Domain, first_pairs: int | None = None) -> Corpus:
    """Copy a corpus folder into the run and record the run's ingredients.

    ``sample`` stands for the domain's shipped sample. Of the pairs only the first ones are taken, in file order; all
    documents are.

    Raises:
        InputError: when the folder is missing or broken, or contains no pair.
    """
    where = _folder(corpus_folder, domain)
    inputs = {"corpus": corpus_folder, "domain": domain.label, "pairs": first_pairs}
    if is_done(store, "intake", f"{NATURAL}/pairs.jsonl", inputs):
        return read_corpus_from(store, NATURAL)
    corpus = read_corpus(where).first_pairs(first_pairs)
    if not corpus.pairs:
        msg = f"{where} contains no pairs of documents, which is what people annotate"
        hint = "name the pairs when you import, or create some with `abcdlink pair`; to generate for documents alone, "
        raise InputError(msg, f"{hint}use --targets")
    describe_run(store, domain)
    counts = {"documents": len(corpus.documents), "pairs": len(corpus.pairs), "refused": len(corpus.refused)}
    store.note("corpus", {**counts, "language": domain.settings.language, **read_origin(where)})
    write_corpus_to(store, NATURAL, corpus)
    return corpus


@at_once(TARGETS)
def take_targets(store: Store, folder: str, domain: Domain, sampling: Sampling) -> Corpus:
    """Sample the documents for which source documents are generated, and copy them into the run.

    The pairs of the corpus are not used; ``sample`` stands for the domain's shipped sample.

    Raises:
        InputError: when the folder is missing or broken, has fewer documents than asked for, or the run has already
            generated for other documents.
    """
    where, made = _folder(folder, domain), f"{TARGETS}/pairs.jsonl"
    inputs = {"targets": folder, "domain": domain.label, **sampling.model_dump(mode="json", include=_HOW)}
    if is_done(store, TARGETS, made, inputs):
        return read_corpus_from(store, TARGETS)
    if store.exists(GENERATION):
        msg = f"run {store.key!r} has already generated, for the documents of its natural pairs"
        raise InputError(msg, "use another run key")
    corpus, sampled = sample_targets(read_corpus(where), sampling)
    describe_run(store, domain)
    about = with_step(
        {"language": domain.settings.language, **read_origin(where), "documents": len(corpus.documents)},
        f"Drawn: {sampled}",
        sampled=sampled.model_dump(mode="json"),
    )
    store.note(TARGETS, about)
    write_corpus_to(store, TARGETS, corpus)
    return corpus


_HOW = set(Sampling.model_fields)


def read_targets(store: Store) -> Corpus:
    """Return the documents that a run generates for: those taken separately, else those of its natural pairs."""
    return read_corpus_from(store, TARGETS if store.exists(f"{TARGETS}/pairs.jsonl") else NATURAL)


def _folder(corpus: str, domain: Domain) -> str:
    return str(domain.sample_folder) if corpus == "sample" else corpus


def describe_run(store: Store, domain: Domain) -> None:
    """Record in the manifest what the run is made with: domain, hashes of all prompts, versions."""
    about = {"name": domain.name, "folder": str(domain.folder), **domain.settings.model_dump(mode="json")}
    if "domain" in store.manifest:
        about["targets"] = targets_of(store).model_dump(mode="json")
    store.note("domain", about)
    store.note("prompts", domain.prompt_hashes)
    store.note("versions", _versions())


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in VERSIONS}


def run_key_of_drop(base: str, result: DropResult) -> str:
    """Return the run key of imported data; the same files, read up to the same position, give the same key."""
    content = "|".join(sorted(f"{entry.name} {entry.digest} {entry.offset}" for entry in result.entries))
    return f"{base[:60]}-drop-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


def base_of_drops(run: str) -> Store:
    """Return the run whose shortlist data drops use; ``InputError`` when none is named, or it has no shortlist yet."""
    if not run:
        msg = "no run is set whose shortlist data drops use"
        raise InputError(msg, "set ABCDLINK_DROPS_RUN to the run key of a finished benchmark")
    store = existing_run(run)
    read_shortlist(store)
    return store


def open_drop(base: Store, result: DropResult, domain: Domain) -> Store:
    """Start a run with the imported pairs and the shortlist of ``base``; repeating it changes nothing.

    ``result``: what ``take`` returned, with at least one pair.

    Raises:
        InputError: when the base run has no shortlist yet.
    """
    choice = read_shortlist(base)
    store = open_run(run_key_of_drop(base.key, result))
    if not store.exists(SHORTLIST):
        write_corpus_to(store, NATURAL, result.corpus)
        files = {taken.name: taken.digest for taken in result.taken}
        store.note("corpus", {"language": base.language})
        store.note("drop", {"shortlist_of": base.key, "files": files})
        describe_run(store, domain)
        for name in learned_to_rank(choice.approaches):
            store.folder.write(model_file(name), base.folder.read(model_file(name)))
        # Written last: it marks everything above as complete.
        store.write_record(SHORTLIST, choice)
    return store
