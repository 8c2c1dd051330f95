"""What is done before people are asked and after they have answered: samples, figures, guidelines, results."""

from __future__ import annotations

from typing import Any

from prefect import task

from abcdlink.domain import find_domain
from abcdlink.exhaustive import Recall
from abcdlink.feedback import Accepted
from abcdlink.interannotator import Agreement
from abcdlink.judgments import LabelRule
from abcdlink.layout import AGREEMENT, batch_file
from abcdlink.qualify.gold import prepare as prepare_qualification
from abcdlink.qualify.gold import prepare_expert
from abcdlink.rate import prepare as prepare_ratings
from abcdlink.report import write_report
from abcdlink.stages.annotate import join_batches, keep_agreement
from abcdlink.stages.coding import prepare_coding
from abcdlink.stages.exhaustive import make_sample, measure_recall
from abcdlink.stages.feedback import Feedback, accept_feedback, prepare_feedback
from abcdlink.stages.gains import measure_gains
from abcdlink.store import open_run


@task(task_run_name="agreement of batch {batch}")
def measure(run: str, batch: int, overlap: int) -> Agreement:
    """Compute kappa and acceptance rates of one batch."""
    store, name = open_run(run), batch_file(batch, AGREEMENT)
    if not store.exists(name):
        return keep_agreement(store, batch, overlap)
    return store.read_record(name, Agreement)


@task(task_run_name="data set and report")
def conclude(run: str, batches: int, overlap: int) -> dict[str, Any]:
    """Put the batches together: judgments, agreement over all, data set, report; returns where they are."""
    store = open_run(run)
    measure_gains(store)
    return {**join_batches(store, batches, overlap), "report": write_report(store)}


@task(task_run_name="report")
def report(run: str) -> str:
    """Regenerate the report of a run; returns where it is."""
    return write_report(open_run(run))


@task(task_run_name="feedback on batch {batch}")
def begin_feedback(run: str, batch: int) -> Feedback:
    """Write one memo for each annotator, the borderline cases and drafted clarifications."""
    return prepare_feedback(open_run(run), batch)


@task(task_run_name="accept feedback on batch {batch}")
def accept(run: str, domain: str, batch: int, clarifications: str, label_studio_round: bool, by: str) -> Accepted:
    """Keep what was accepted; the guidelines get a new version."""
    text = find_domain(domain).guidelines
    return accept_feedback(open_run(run), batch, text, clarifications, label_studio_round, by)


@task(task_run_name="sample sources")
def sample_sources(
    run: str, domain: str, overlap: int, seed: int, share: float | None, number: int | None, links: int | None
) -> dict[str, int]:
    """Sample the source sentences that are judged exhaustively; returns how many of how many."""
    kept = make_sample(open_run(run), find_domain(domain), overlap, seed, share, number, links)
    return {"sampled": len(kept.sources), "sources": kept.population}


@task(task_run_name="draw wrong predictions")
def draw_errors(run: str, most: int, overlap: int, seed: int, patterns: tuple[str, ...]) -> dict[str, int]:
    """Draw the wrong predictions that people code; returns how many of how many."""
    kept = prepare_coding(open_run(run), most, overlap, seed, patterns)
    return {"drawn": len(kept.errors), "wrong predictions": kept.found}


@task(task_run_name="true recall")
def true_recall(run: str, domain: str, rule: LabelRule) -> Recall:
    """Measure the approaches of the run, and regenerate its report."""
    store = open_run(run)
    result = measure_recall(store, find_domain(domain), rule)
    write_report(store)
    return result


@task(task_run_name="sample documents to rate")
def sample_documents(run: str, domain: str, synthetic: int, natural: int, seed: int, same_targets: bool = False) -> int:
    """Sample documents; returns how many."""
    return len(prepare_ratings(open_run(run), find_domain(domain), synthetic, natural, seed, same_targets=same_targets))


@task(task_run_name="pairs for the expert")
def choose_gold_pairs(run: str, domain: str, corpus: str, pairs: tuple[str, ...]) -> int:
    """Take pairs into the run for an expert to link; returns the number of source sentences."""
    return len(prepare_expert(open_run(run), find_domain(domain), corpus, pairs).sources)


@task(task_run_name="gold pairs")
def take_gold_pairs(
    run: str, domain: str, corpus: str, pairs: tuple[str, ...], links: int, seed: int, *, expert: bool
) -> dict[str, int]:
    """Take the gold pairs into the run; returns counts."""
    store = open_run(run)
    gold = prepare_qualification(store, find_domain(domain), corpus, pairs, links, seed, expert=expert)
    return {"tasks": len(gold.pools), "links": gold.links}
