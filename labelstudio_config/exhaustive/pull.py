"""Annotations become judgments on every target sentence: a ticked one is a Link, all others No Link."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.corpus.records import Corpus
from abcdlink.judgments import Annotator, Judgment, Label, Skip
from abcdlink.recall import EXHAUSTIVE, NO_BATCH, SampledSource
from labelstudio_config.answers import read_answers
from labelstudio_config.client import Client
from labelstudio_config.exhaustive.project import exhaustive_title
from labelstudio_config.exhaustive.tasks import documents_of
from labelstudio_config.linking.tasks import candidate_id
from labelstudio_config.pulls import JudgmentsPull
from labelstudio_config.snapshot import Answer, Snapshot, read_project

LINKS, DONE, FLAG, COMMENT = "links", "done", "flag", "comment"
"""Names in the label config."""
ALL_TICKED = "I read all: every link is ticked"
NO_LINK = "I read all: there is no link"


def pull_exhaustive(
    client: Client,
    run_key: str,
    sources: Sequence[SampledSource],
    corpus: Corpus,
    annotators: Sequence[Annotator] = (),
) -> JudgmentsPull:
    """Read the judgments: one for each source that was judged, annotator and target sentence.

    Reads only: run again, it gives the same for the same annotations.

    Args:
        client: the server.
        run_key: name of the run.
        sources: the sampled ones.
        corpus: their documents.
        annotators: those who are known, who keep their pseudonyms.

    Raises:
        ServiceError: when there is no such project, or Label Studio does not answer.
        InputError: when the corpus lacks a sampled source.
    """
    snapshot = read_project(client, exhaustive_title(run_key), [source.key for source in sources])
    return judgments_in(snapshot, sources, corpus, annotators)


def judgments_in(
    snapshot: Snapshot, sources: Sequence[SampledSource], corpus: Corpus, annotators: Sequence[Annotator]
) -> JudgmentsPull:
    """Read judgments from what lies in Label Studio; for the arguments see ``pull_exhaustive``."""
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
        raw=snapshot.raw,
    )


def _judgments(answer: Answer, who: str, source: SampledSource, ids: dict[str, str]) -> list[Judgment]:
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


def _problems(answer: Answer, who: str, ids: dict[str, str]) -> list[str]:
    """Say what does not fit together in an answer; ticks count all the same."""
    chosen = answer.given.choices
    ticked, said = chosen.get(LINKS, []), chosen.get(DONE)
    foreign = [name for name in ticked if name not in ids]
    task = f"the task {answer.key}"
    found = [
        (said is None, f"{who} did not say of {task} that every sentence was read: it is not judged"),
        (said == [NO_LINK] and bool(ticked), f"{who} said of {task} that there is no link, and ticked {len(ticked)}"),
        (said == [ALL_TICKED] and not ticked, f"{who} said of {task} that every link is ticked, and ticked none"),
        (bool(foreign), f"{who} ticked {len(foreign)} sentences that {task} does not have"),
    ]
    return [problem for is_so, problem in found if is_so]
