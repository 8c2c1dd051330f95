"""Rating: people say how good documents are, by a domain's criteria.

Nothing in a task reveals whether its document is synthetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from abcdlink.corpus.records import Corpus, PairKind
from abcdlink.criteria import Criterion
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.judgments import Annotator
from abcdlink.layout import RATE_SLUG
from abcdlink.rate import (
    HIGHEST,
    LOWEST,
    RATERS,
    RATINGS,
    RatedDocument,
    Rating,
    corpora_of,
    keep_ratings,
    kept_criteria,
    sample_of,
)
from abcdlink.store import Store
from labelstudio_config.answers import read_answers, with_pseudonyms
from labelstudio_config.pages import (
    Asked,
    Page,
    Project,
    Pull,
    document_html,
    guidelines_html,
    keep_pull,
    label_config,
    title_of,
)
from labelstudio_config.snapshot import Snapshot, TaskAnswer

HIDDEN = ("doc_a_name", "doc_b_name", "doc_a_html", "doc_b_html")


def rating_tasks(
    documents: Sequence[RatedDocument], corpora: Mapping[PairKind, Corpus], domain: Domain
) -> dict[str, dict[str, Any]]:
    """Return task key -> data: two documents without highlights, whatever is known of their links.

    Raises:
        InputError: when a document's pair is not in its corpus.
    """
    pairs = {(kind, pair.id): pair for kind, corpus in corpora.items() for pair in corpus.pairs}
    lost = next((one for one in documents if (one.kind, one.pair) not in pairs), None)
    if lost is not None:
        msg = f"the pair {lost.pair!r}, which is to be rated, is not among the {lost.kind} pairs"
        raise InputError(msg, "restore it, or rate under another run key")
    tasks = {}
    for one in documents:
        corpus, pair = corpora[one.kind], pairs[one.kind, one.pair]
        tasks[one.key] = {
            "doc_a_name": f"Document A: {domain.settings.source_name}",
            "doc_b_name": f"Document B: {domain.settings.target_name}",
            "doc_a_html": document_html(corpus.source_of(pair), {}),
            "doc_b_html": document_html(corpus.target_of(pair), {}),
        }
    return tasks


KEYS = ("12345", "qwert", "asdfg", "zxcvb")
"""For each criterion, the keys of its values, lowest first: rows of the keyboard."""


def rating_page(criteria: Sequence[Criterion]) -> str:
    """Return the label config for some criteria; their texts are escaped."""
    from jinja2 import Environment, StrictUndefined

    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(label_config("rate"))
    return template.render(rows=list(zip(criteria, KEYS, strict=False)))


def rating_project(run_key: str, domain: Domain, criteria: Sequence[Criterion], overlap: int) -> Project:
    """Return the project; ``overlap``: raters a document."""
    return Project(
        title=title_of(run_key, "ratings"),
        description=f"{domain.settings.title}. Rate each document.",
        label_config=rating_page(criteria),
        instruction=guidelines_html(instruction(criteria)),
        overlap=overlap,
        hidden=HIDDEN,
    )


def instruction(criteria: Sequence[Criterion]) -> str:
    """Return what raters read first, as Markdown."""
    asked = "\n".join(f"- **{one.name}**: {one.question} 1: {one.low}. {HIGHEST}: {one.high}." for one in criteria)
    return (
        f"# Rate each document\n\nRead document A, and document B next to it. Then rate document A from 1 to {HIGHEST}:"
        f"\n\n{asked}\n\nUse the whole scale. Rate each criterion on its own: a fluent document may be about something "
        "else. The key for each value is shown next to it; **Ctrl + Enter** submits. Press Enter to finish a comment."
    )


RATER = "rater"
"""Prefix of raters' pseudonyms: they are numbered separately from the run's annotators."""
RATING = "rating_"
"""Names of the rows in the label config: ``rating_0``, ``rating_1``, ..."""
COMMENT = "comment"
VALUES = frozenset(str(value) for value in range(LOWEST, HIGHEST + 1))


class RatingPull(Pull):
    """The ratings of documents."""

    ratings: list[Rating]


def ratings_in(
    snapshot: Snapshot, documents: Sequence[RatedDocument], criteria: Sequence[Criterion], raters: Sequence[Annotator]
) -> RatingPull:
    """Read ratings from what is in Label Studio."""
    by_key = {one.key: one for one in documents}
    answers = read_answers(snapshot, by_key, with_pseudonyms(raters, snapshot, RATER))
    anomalies = [*answers.anomalies]
    ratings: list[Rating] = []
    for who, answer in answers.newest:
        found, problems = _ratings(answer, by_key[answer.key], criteria, who)
        ratings += found
        anomalies += problems
    return RatingPull(ratings=ratings, annotators=answers.annotators, anomalies=anomalies)


def _ratings(
    answer: TaskAnswer, document: RatedDocument, criteria: Sequence[Criterion], who: str
) -> tuple[list[Rating], list[str]]:
    ratings, anomalies = [], []
    given = dict(answer.given.choices)
    comment = answer.given.texts.get(COMMENT, "")
    for number, criterion in enumerate(criteria):
        chosen = given.pop(f"{RATING}{number}", [])
        if len(chosen) != 1 or chosen[0] not in VALUES:
            anomalies.append(f"{who} gave {criterion.name} = {chosen} for the task {answer.key}, which is not a rating")
            continue
        ratings.append(
            Rating(
                kind=document.kind,
                pair=document.pair,
                annotator=who,
                criterion=criterion.name,
                value=int(chosen[0]),
                seconds=answer.seconds,
                submitted=answer.at,
                comment=comment,
            )
        )
    anomalies += [
        f"{who} gave {name} = {chosen} for the task {answer.key}, which is not an option on this page"
        for name, chosen in given.items()
    ]
    return ratings, anomalies


class RatingPage(Page):
    """The sampled documents of a run. ``overlap``: raters per document."""

    overlap: int
    slug: ClassVar[str] = RATE_SLUG
    last: ClassVar[str] = RATINGS

    def ask(self, store: Store, domain: Domain) -> Asked:
        tasks = rating_tasks(sample_of(store), corpora_of(store), domain)
        return Asked(rating_project(store.key, domain, kept_criteria(store), self.overlap), tasks)

    def keep(self, store: Store, snapshot: Snapshot) -> None:
        result = ratings_in(snapshot, sample_of(store), kept_criteria(store), store.find_records(RATERS, Annotator))
        keep_pull(store, RATE_SLUG, result, snapshot)
        keep_ratings(store, result.annotators, result.ratings)
