"""Take corpora into a run: natural pairs to annotate, and documents to generate for."""

from __future__ import annotations

from importlib.metadata import version

from abcdlink.corpus.io import read_corpus, read_corpus_from, read_origin, with_step, write_corpus_to
from abcdlink.corpus.records import Corpus
from abcdlink.corpus.sampling import Sampling, sample_targets
from abcdlink.domain import Domain, targets_of
from abcdlink.errors import InputError
from abcdlink.layout import GENERATION, NATURAL, TARGETS
from abcdlink.stages.once import is_done
from abcdlink.store import Store

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
"""Distributions whose versions a run's manifest names."""


def take_corpus(store: Store, corpus_folder: str, domain: Domain, first_pairs: int | None = None) -> Corpus:
    """Copy a corpus folder into the run and note what the run is made of.

    Args:
        store: the run.
        corpus_folder: a folder in our own layout, as ``abcdlink import`` writes it;
            ``sample`` stands for the domain's shipped sample.
        domain: what a link means.
        first_pairs: take only so many pairs, in file order; ``None``: all. All documents are taken.

    Raises:
        InputError: when the folder is missing or broken, or holds no pair.
    """
    where = _folder(corpus_folder, domain)
    inputs = {"corpus": corpus_folder, "domain": domain.label, "pairs": first_pairs}
    if is_done(store, "intake", f"{NATURAL}/pairs.jsonl", inputs):
        return read_corpus_from(store, NATURAL)
    corpus = read_corpus(where).first_pairs(first_pairs)
    if not corpus.pairs:
        msg = f"{where} contains no pairs of documents, which is what people annotate"
        hint = "name the pairs when you import, or make some with `abcdlink pair`; to generate for documents alone, "
        raise InputError(msg, f"{hint}use --targets")
    describe_run(store, domain)
    counts = {"documents": len(corpus.documents), "pairs": len(corpus.pairs), "refused": len(corpus.refused)}
    store.note("corpus", {**counts, "language": domain.settings.language, **read_origin(where)})
    write_corpus_to(store, NATURAL, corpus)
    return corpus


def take_targets(store: Store, folder: str, domain: Domain, sampling: Sampling) -> Corpus:
    """Draw the documents for which source documents are generated, and copy them into the run.

    Args:
        store: the run.
        folder: a corpus folder, whose pairs are not used; ``sample`` stands for the domain's shipped sample.
        domain: what a link means.
        sampling: which of the documents that can be targets are taken.

    Raises:
        InputError: when the folder is missing or broken, holds fewer documents than asked for, or the run has already
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
    """Return the documents that a run generates for: those taken by themselves, else those of its natural pairs."""
    return read_corpus_from(store, TARGETS if store.exists(f"{TARGETS}/pairs.jsonl") else NATURAL)


def _folder(corpus: str, domain: Domain) -> str:
    return str(domain.sample_folder) if corpus == "sample" else corpus


def describe_run(store: Store, domain: Domain) -> None:
    """Note in the manifest what the run is made with: domain, hashes of all prompts, versions."""
    about = {"name": domain.name, "folder": str(domain.folder), **domain.settings.model_dump(mode="json")}
    if "domain" in store.manifest:
        about["targets"] = targets_of(store).model_dump(mode="json")
    store.note("domain", about)
    store.note("prompts", domain.prompt_hashes)
    store.note("versions", {name: version(name) for name in VERSIONS})
