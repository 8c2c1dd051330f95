"""Take a corpus of natural pairs into a run."""

from __future__ import annotations

from abcdlink.corpus.io import read_corpus, read_corpus_from, write_corpus_to
from abcdlink.corpus.records import Corpus
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.layout import NATURAL
from abcdlink.stages.once import is_done
from abcdlink.store import Store


def take_corpus(store: Store, corpus_folder: str, domain: Domain) -> Corpus:
    """Copy a corpus folder into the run and note what the run is made of.

    Args:
        store: the run.
        corpus_folder: a folder in our own layout, as ``abcdlink import`` writes it;
            ``sample`` stands for the domain's shipped sample.
        domain: what a link means.

    Raises:
        InputError: when the folder is missing or broken, or holds no pair.
    """
    where = str(domain.sample_folder) if corpus_folder == "sample" else corpus_folder
    if is_done(store, "intake", f"{NATURAL}/pairs.jsonl", {"corpus": corpus_folder, "domain": domain.name}):
        return read_corpus_from(store, NATURAL)
    corpus = read_corpus(where)
    if not corpus.pairs:
        msg = f"{where} holds no pair of documents"
        raise InputError(msg, "import documents with `abcdlink import`")
    write_corpus_to(store, NATURAL, corpus)
    store.note("prompts", domain.prompt_hashes)
    store.note(
        "counts", {"documents": len(corpus.documents), "pairs": len(corpus.pairs), "refused": len(corpus.refused)}
    )
    return corpus
