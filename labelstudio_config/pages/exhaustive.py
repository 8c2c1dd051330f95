"""Exhaustive judging: for a source sentence, every sentence of the target document is ticked or not.

Everyone who can log in to Label Studio can read all task data: no name of a document, no id of a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Document
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.exhaustive import EXHAUSTIVE, NO_BATCH
from abcdlink.feedback.guidelines import newest_guidelines
from abcdlink.judgments import Annotator, Judgment, Label, Skip
from abcdlink.layout import ANNOTATORS, EXHAUSTIVE_JUDGMENTS, EXHAUSTIVE_SLUG, NATURAL, SKIPS
from abcdlink.source_sample import SampledSource
from abcdlink.stages.annotate import annotators_of
from abcdlink.stages.exhaustive import links_found, overlap_of, read_sample
from abcdlink.store import Store
from abcdlink.waiting import close_project, keep_people_progress, people_progress
from labelstudio_config.answers import read_answers
from labelstudio_config.pages import (
    NO_KEY,
    Asked,
    JudgmentsPull,
    Page,
    Project,
    document_html,
    keep_pull,
    project_of,
    shown,
    text_html,
    title_of,
)
from labelstudio_config.pages.annotate import candidate_id
from labelstudio_config.snapshot import FLAG, Snapshot, TaskAnswer

HIDDEN = ("progress", "list_title", "doc_a_name", "doc_a_html", "targets_html")


def documents_of(source: SampledSource, corpus: Corpus) -> tuple[Document, Document]:
    """Return the source and target documents of a sampled source.

    Raises:
        InputError: when the corpus does not have it.
    """
    pair = next((pair for pair in corpus.pairs if pair.id == source.pair), None)
    if pair is None or source.source not in corpus.source_of(pair).position:
        msg = f"the sample names the source {source.source!r} of the pair {source.pair!r}, which is not in the corpus"
        raise InputError(msg, "sample again from this corpus, in another run")
    return corpus.source_of(pair), corpus.target_of(pair)


def exhaustive_tasks(
    sources: Sequence[SampledSource], corpus: Corpus, domain: Domain, *, ends_early: bool = False
) -> dict[str, dict[str, Any]]:
    """Return task key -> data, in the order of the sample.

    ``ends_early``: it stops when enough links are found, so that nobody knows how many sentences there will be.

    Raises:
        InputError: when a sampled source is not in the corpus.
    """
    of = "" if ends_early else f" of {len(sources)}"
    return {
        source.key: {"progress": f"Sentence {number}{of}", **task_data(source, *documents_of(source, corpus), domain)}
        for number, source in enumerate(sources, start=1)
    }


def task_data(at: SampledSource, source: Document, target: Document, domain: Domain) -> dict[str, Any]:
    """Return the data of one task: the source sentence, its document, and all target sentences, numbered from 1."""
    names = domain.settings
    return {
        "list_title": f"Document B: {names.target_name}. Tick each sentence with the answer yes: {names.question}",
        "doc_a_name": f"Document A: {names.source_name}",
        "source_text": shown(source.text_of(at.source)),
        "doc_a_html": document_html(source, {at.source: ""}),
        "targets_html": [
            {
                "value": candidate_id(at.key, sentence.id),
                "html": f"<b>{number}</b> {text_html(sentence.text)}",
                "hotkey": NO_KEY,
            }
            for number, sentence in enumerate(target.sentences, start=1)
        ],
    }


HOW_TO = """# Judge every sentence

- Read all of document B. Tick each sentence that is linked to the source sentence; unticked means *No Link*.
- No sentence is highlighted as a candidate here: what the guidelines say about candidates applies to every sentence
  in B.
- With the keyboard: **Tab** moves to the next sentence, and the **space bar** ticks it. In a new task, press Tab until
  the first sentence has a bar on its left, or click a sentence. After the last one, Tab moves to the two answers below.
- At the end, confirm that you read everything: press **a** if you ticked every link, **n** if there are none. These
  keys work once you have ticked something; otherwise use Tab and the space bar. **Ctrl + Enter** submits.

---

"""


def exhaustive_project(run_key: str, domain: Domain, guidelines: str, overlap: int) -> Project:
    """Return the project; ``guidelines``: Markdown; ``overlap``: annotators who judge each sampled source."""
    about = f"{domain.settings.title}. Every sentence: {domain.settings.question}"
    return project_of("exhaustive", title_of(run_key, "exhaustive"), about, HOW_TO + guidelines, overlap, HIDDEN)


LINKS, DONE, COMMENT = "links", "done", "comment"
"""Names in the label config."""
ALL_TICKED = "I read everything and ticked every link"
NO_LINK = "I read everything; there are no links"


def judgments_in(
    snapshot: Snapshot, sources: Sequence[SampledSource], corpus: Corpus, annotators: Sequence[Annotator]
) -> JudgmentsPull:
    """Read judgments from what is in Label Studio."""
    by_key = {source.key: source for source in sources}
    answers = read_answers(snapshot, by_key, annotators)
    judgments: list[Judgment] = []
    anomalies = [*answers.anomalies]
    for who, answer in answers.newest:
        source = by_key[answer.key]
        ids = {
            candidate_id(source.key, sentence.id): sentence.id for sentence in documents_of(source, corpus)[1].sentences
        }
        anomalies += _problems(answer, who, ids)
        if DONE in answer.given.choices:
            judgments += _judgments(answer, who, source, ids)
    return JudgmentsPull(
        judgments=judgments,
        skips=[Skip(batch=NO_BATCH, key=key, annotator=who) for who, key in answers.skips],
        annotators=answers.annotators,
        anomalies=anomalies,
    )


def _judgments(answer: TaskAnswer, who: str, source: SampledSource, ids: dict[str, str]) -> list[Judgment]:
    """Return a judgment on every target sentence; ``ids``: opaque id -> target sentence."""
    ticked = set(answer.given.choices.get(LINKS, ()))
    flags = tuple(answer.given.choices.get(FLAG, ()))
    comment = answer.given.texts.get(COMMENT, "")
    return [
        Judgment(
            batch=NO_BATCH,
            pair=source.pair,
            source=source.source,
            target=target,
            method=EXHAUSTIVE,
            annotator=who,
            label=Label.LINK if name in ticked else Label.NO_LINK,
            seconds=answer.seconds,
            submitted=answer.at,
            flags=flags,
            comment=comment,
        )
        for name, target in ids.items()
    ]


def _problems(answer: TaskAnswer, who: str, ids: dict[str, str]) -> list[str]:
    """Say what is inconsistent in an answer; its ticks still count."""
    chosen = answer.given.choices
    ticked, said = chosen.get(LINKS, []), chosen.get(DONE)
    foreign = [name for name in ticked if name not in ids]
    task = f"the task {answer.key}"
    found = [
        (said is None, f"{who} did not confirm for {task} that every sentence was read: it does not count as judged"),
        (
            said == [NO_LINK] and bool(ticked),
            f"{who} confirmed for {task} that there are no links, but ticked {len(ticked)}",
        ),
        (said == [ALL_TICKED] and not ticked, f"{who} confirmed for {task} that every link is ticked, but ticked none"),
        (bool(foreign), f"{who} ticked {len(foreign)} sentences that {task} does not have"),
    ]
    return [problem for is_so, problem in found if is_so]


def close_if_enough(store: Store, slug: str, snapshot: Snapshot) -> None:
    """Close the project of sampled sources once people have found as many links as wanted; note how many so far.

    A source counts once everyone who is asked has judged it.
    """
    if slug != EXHAUSTIVE_SLUG or not (wanted := read_sample(store).links):
        return
    sources, corpus = read_sample(store).sources, read_corpus_from(store, NATURAL)
    found = links_found(store, judgments_in(snapshot, sources, corpus, annotators_of(store)).judgments)
    if progress := people_progress(store, slug):
        keep_people_progress(
            store, slug, progress.model_copy(update={"note": f"{found} of {wanted} wanted links found"})
        )
    if found >= wanted:
        close_project(store, slug, len(sources))


class ExhaustivePage(Page):
    """The sampled sources of a run. Their judgments are stored apart from those of batches, and written last."""

    slug: ClassVar[str] = EXHAUSTIVE_SLUG
    last: ClassVar[str] = EXHAUSTIVE_JUDGMENTS

    def ask(self, store: Store, domain: Domain) -> Asked:
        sample, corpus = read_sample(store), read_corpus_from(store, NATURAL)
        tasks = exhaustive_tasks(sample.sources, corpus, domain, ends_early=bool(sample.links))
        guidelines = newest_guidelines(store, domain.guidelines)
        return Asked(exhaustive_project(store.key, domain, guidelines, overlap_of(store)), tasks)

    def keep(self, store: Store, snapshot: Snapshot) -> None:
        corpus, sources = read_corpus_from(store, NATURAL), read_sample(store).sources
        result = judgments_in(snapshot, sources, corpus, annotators_of(store))
        keep_pull(store, EXHAUSTIVE_SLUG, result, snapshot)
        store.write_records(ANNOTATORS, result.annotators)
        store.write_records(f"{EXHAUSTIVE_SLUG}/{SKIPS}", result.skips)
        store.write_records(EXHAUSTIVE_JUDGMENTS, result.judgments)
