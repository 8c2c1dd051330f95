"""Flow clean: a cleaned copy of a corpus, before anything is generated or annotated."""

from __future__ import annotations

from prefect import flow

from abcdlink.cleaning.records import CleaningCounts, CleaningPlan
from abcdlink.domain import find_domain
from abcdlink.stages.clean import run_cleaning
from flows.execution import AS_TASKS
from flows.ui.artifacts import key, table


@flow(name="clean", flow_run_name="clean {corpus}")
def clean(corpus: str, out: str, domain: str = "news", cleaning: CleaningPlan = CleaningPlan()) -> CleaningCounts:
    """Take captions, share lines and other leftovers of web pages out of documents; no sentence is changed.

    Args:
        corpus: folder of a corpus as `abcdlink import` writes it; it stays as it is.
        out: folder of the cleaned copy, with removed.html to look at; `abcdlink restore` puts sentences back.
        domain: name or path of a domain, whose rules are used.
        cleaning: whether and how an LLM (the profile with the role cleaner) is asked after the rules.
    """
    progress = AS_TASKS.progress
    counts = AS_TASKS.step(f"clean {corpus}", run_cleaning, corpus, out, find_domain(domain), cleaning, progress)
    rows = [{"what": "sentences", "count": counts.sentences}, {"what": "documents changed", "count": counts.changed}]
    rows += [{"what": f"removed: {by}", "count": number} for by, number in counts.removed.items()]
    rows += [{"what": f"answer not taken: {why}", "count": number} for why, number in counts.refused.items()]
    rows += [{"what": "kept for their links", "count": counts.linked}]
    table(key("clean", out), rows, f"{counts}. Look at {out}/removed.html.")
    return counts
