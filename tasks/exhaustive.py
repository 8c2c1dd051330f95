"""Prefect tasks of exhaustive judging: sample, push, pull, measure; one whose result is kept does nothing."""

from __future__ import annotations

from prefect import task

from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import find_domain
from abcdlink.feedback import newest_guidelines
from abcdlink.judgments import Judgment, LabelRule
from abcdlink.layout import ANNOTATORS, ANOMALIES, EXHAUSTIVE_JUDGMENTS, EXHAUSTIVE_SLUG, NATURAL, SKIPS
from abcdlink.recall import Recall
from abcdlink.report import write_report
from abcdlink.stages.annotate import annotators_of
from abcdlink.stages.recall import make_sample, measure_recall, overlap_of, read_sample
from abcdlink.store import open_run
from labelstudio_config.exhaustive import exhaustive_project, exhaustive_tasks, judgments_in
from labelstudio_config.pulls import keep_pull
from labelstudio_config.run.projects import push_project, seen
from labelstudio_config.run.pushed import PushedProject, is_pushed, read_pushed
from tasks.retrying import SERVICE_RETRIES


@task(task_run_name="sample sources")
def sample(run: str, domain: str, overlap: int, seed: int, share: float | None, number: int | None) -> dict[str, int]:
    """Sample the source sentences that are judged exhaustively; returns how many of how many."""
    kept = make_sample(open_run(run), find_domain(domain), overlap, seed, share, number)
    return {"sampled": len(kept.sources), "sources": kept.population}


@task(task_run_name="push the sampled sources", **SERVICE_RETRIES)
def push(run: str, domain: str) -> PushedProject:
    """Put the sampled sources into their Label Studio project."""
    store = open_run(run)
    if is_pushed(store, EXHAUSTIVE_SLUG):
        return read_pushed(store, EXHAUSTIVE_SLUG)
    meaning = find_domain(domain)
    tasks = exhaustive_tasks(read_sample(store).sources, read_corpus_from(store, NATURAL), meaning)
    guidelines = newest_guidelines(store, meaning.guidelines)
    return push_project(store, EXHAUSTIVE_SLUG, exhaustive_project(run, meaning, guidelines, overlap_of(store)), tasks)


@task(task_run_name="pull the sampled sources", **SERVICE_RETRIES)
def pull(run: str) -> dict[str, int]:
    """Read the judgments from what was last seen; returns counts. Their file, apart from batches, is written last."""
    store = open_run(run)
    if not store.exists(EXHAUSTIVE_JUDGMENTS):
        corpus, sources = read_corpus_from(store, NATURAL), read_sample(store).sources
        result = judgments_in(seen(store, EXHAUSTIVE_SLUG), sources, corpus, annotators_of(store))
        keep_pull(store, EXHAUSTIVE_SLUG, result)
        store.write_records(ANNOTATORS, result.annotators)
        store.write_records(f"{EXHAUSTIVE_SLUG}/{SKIPS}", result.skips)
        store.write_records(EXHAUSTIVE_JUDGMENTS, result.judgments)
    return {
        "judgments": len(store.read_records(EXHAUSTIVE_JUDGMENTS, Judgment)),
        "anomalies": len(store.read_json(f"{EXHAUSTIVE_SLUG}/{ANOMALIES}")),
    }


@task(task_run_name="true recall")
def measure(run: str, domain: str, rule: LabelRule) -> Recall:
    """Measure the approaches of the run, and write its report anew."""
    store = open_run(run)
    result = measure_recall(store, find_domain(domain), rule)
    write_report(store)
    return result
