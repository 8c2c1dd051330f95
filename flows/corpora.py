"""Flows clean, pair and boundaries: they derive one corpus from another before anything is generated or annotated."""

from __future__ import annotations

from prefect import flow

from abcdlink.boundaries import CORRECTED, changed_documents
from abcdlink.cleaning import CleaningCounts, CleaningPlan
from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import find_domain
from abcdlink.pairing import PairingRule
from abcdlink.stages.corpora import run_cleaning, run_pairing, shown_examples
from abcdlink.stages.intake import take_corpus
from abcdlink.store import open_run
from flows.parameters import FirstPairs, RunKey
from flows.waiting import NOTED, ask_people
from labelstudio_config.pages.boundaries import BoundaryPage
from tasks.execution import AS_TASKS
from tasks.running import key, table


@flow(name="clean", flow_run_name="clean {corpus}")
def clean(corpus: str, out: str, domain: str = "news", cleaning: CleaningPlan = CleaningPlan()) -> CleaningCounts:
    """Remove captions, share lines and other web page leftovers from documents; no sentence is changed.

    Args:
        corpus: folder of a corpus as `abcdlink import` writes it, or of .txt files; it stays as it is.
        out: folder of the cleaned copy, with removed.html to look at; `abcdlink restore` puts sentences back.
        domain: name or path of a domain, whose rules are used.
        cleaning: whether and how an LLM (the profile with the role cleaner) is asked after the rules.
    """
    progress = AS_TASKS.progress
    counts = AS_TASKS.step(f"clean {corpus}", run_cleaning, corpus, out, find_domain(domain), cleaning, progress)
    rows = [{"what": counts.unit, "count": counts.sentences}, {"what": "documents changed", "count": counts.changed}]
    rows += [{"what": f"removed: {by}", "count": number} for by, number in counts.removed.items()]
    rows += [{"what": f"answer not used: {why}", "count": number} for why, number in counts.refused.items()]
    rows += [{"what": "kept for their links", "count": counts.linked}]
    table(key("clean", out), rows, f"{counts}. Look at {out}/removed.html.")
    return counts


@flow(name="pair", flow_run_name="pair {corpus}")
def pair(corpus: str, rule: PairingRule, out: str = "", domain: str = "news") -> dict[str, int]:
    """Pair documents that have no pairs; without `out`, only show examples of the pairs.

    Args:
        corpus: folder of a corpus as `abcdlink import` writes it; it stays as it is.
        rule: which documents form a pair.
        out: folder of the paired copy; empty: nothing is written.
        domain: name or path of a domain, whose language applies if the corpus does not state its own.
    """
    whole, pairing = AS_TASKS.step(f"pair {corpus}", run_pairing, corpus, out, rule, find_domain(domain))
    written = f"Wrote {out}" if out else "Nothing is written without `out`"
    table(key("pair", corpus), shown_examples(whole, pairing), f"{written}: {len(pairing.pairs())} pairs.")
    return pairing.counts


@flow(name="boundaries", flow_run_name="boundaries {run}", **NOTED)
def boundaries(run: RunKey, corpus: str, domain: str = "news", documents: FirstPairs = None) -> None:
    """Have people join, split or remove sentences of a corpus; ends with a new version of the corpus.

    Args:
        run: run key, for this work alone: a run that has candidates keeps its documents as they are.
        corpus: folder of a corpus as `abcdlink import` writes it.
        domain: name or path of the domain that the documents are for.
        documents: only the first N documents; empty: all.
    """
    store = open_run(run)
    AS_TASKS.step(f"take corpus {corpus}", take_corpus, store, corpus, find_domain(domain), None)
    ask_people(store, domain, BoundaryPage(documents=documents))
    made = read_corpus_from(store, CORRECTED)
    rows: list[dict[str, object]] = [{"what": "other sentences", "documents": len(changed_documents(store))}]
    rows += [{"what": f"left as it was: {refusal.reason}", "documents": refusal.where} for refusal in made.refused]
    table(key(run, "boundaries"), rows, f"Corrected corpus: {store.where(CORRECTED)}")
