"""Annotations become ratings: the newest of each rater, and a word on all that was left out."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.judgments import Annotator
from abcdlink.ratings.criteria import Criterion
from abcdlink.ratings.records import HIGHEST, LOWEST, RatedDocument, Rating
from labelstudio_config.answers import read_answers, with_pseudonyms
from labelstudio_config.client import Client
from labelstudio_config.pulls import Pull
from labelstudio_config.rating.project import rating_title
from labelstudio_config.snapshot import Answer, Snapshot, read_project

RATER = "rater"
"""What the pseudonyms of raters begin with: their numbers are not those of the run's annotators."""
RATING = "rating_"
"""Names of the rows in the label config: ``rating_0``, ``rating_1``, ..."""
COMMENT = "comment"
VALUES = frozenset(str(value) for value in range(LOWEST, HIGHEST + 1))


class RatingPull(Pull):
    """What raters said."""

    ratings: list[Rating]


def pull_ratings(
    client: Client,
    run_key: str,
    documents: Sequence[RatedDocument],
    criteria: Sequence[Criterion],
    raters: Sequence[Annotator] = (),
) -> RatingPull:
    """Read the ratings of a run. Reads only.

    Args:
        client: the server.
        run_key: name of the run.
        documents: what was pushed.
        criteria: in the order in which the page was made with them.
        raters: those who are known, who keep their pseudonyms.

    Raises:
        ServiceError: when there is no such project, or Label Studio does not answer.
    """
    snapshot = read_project(client, rating_title(run_key), [one.key for one in documents])
    return ratings_in(snapshot, documents, criteria, raters)


def ratings_in(
    snapshot: Snapshot, documents: Sequence[RatedDocument], criteria: Sequence[Criterion], raters: Sequence[Annotator]
) -> RatingPull:
    """Read ratings from what lies in Label Studio; for the arguments see ``pull_ratings``."""
    by_key = {one.key: one for one in documents}
    answers = read_answers(snapshot, by_key, with_pseudonyms(raters, snapshot, RATER))
    anomalies = [*answers.anomalies]
    ratings: list[Rating] = []
    for who, answer in answers.newest:
        found, problems = _ratings(answer, by_key[answer.key], criteria, who)
        ratings += found
        anomalies += problems
    return RatingPull(ratings=ratings, annotators=answers.annotators, anomalies=anomalies, raw=snapshot.raw)


def _ratings(
    answer: Answer, document: RatedDocument, criteria: Sequence[Criterion], who: str
) -> tuple[list[Rating], list[str]]:
    ratings, anomalies = [], []
    given = dict(answer.given.choices)
    comment = answer.given.texts.get(COMMENT, "")
    for number, criterion in enumerate(criteria):
        chosen = given.pop(f"{RATING}{number}", [])
        if len(chosen) != 1 or chosen[0] not in VALUES:
            anomalies.append(f"{who} gave {criterion.name} = {chosen} for the task {answer.key}, which is no rating")
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
        f"{who} gave {name} = {chosen} for the task {answer.key}, which says nothing" for name, chosen in given.items()
    ]
    return ratings, anomalies
