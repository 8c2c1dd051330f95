"""Ratings: people say how good documents are, synthetic ones among natural ones, without knowing which is which."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from statistics import fmean
from typing import Any

from pydantic import Field

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Pair, PairKind, Record
from abcdlink.criteria import Criterion, rating_settings
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.interannotator.measures import mean_kappa
from abcdlink.interannotator.ordinal import ordinal_alpha
from abcdlink.judgments import Annotator, opaque_id
from abcdlink.layout import NATURAL, SYNTHETIC
from abcdlink.stages.once import at_once, is_done
from abcdlink.statistics import bootstrap_mean
from abcdlink.store import Store

LOWEST, HIGHEST = 1, 5

FOLDER = "ratings"
SAMPLE = f"{FOLDER}/sample.jsonl"
CRITERIA = f"{FOLDER}/criteria.jsonl"
"""The criteria on the page: those of the domain may be edited while people rate."""
RATERS = f"{FOLDER}/raters.jsonl"
"""Who is behind each pseudonym; batches have other pseudonyms."""
RATINGS = f"{FOLDER}/ratings.jsonl"


class RatedDocument(Record):
    """The source document of one pair, to be rated next to its target document; one Label Studio task.

    ``key``: opaque and stable name of the task. ``kind``: which corpus of the run holds the pair; never shown.
    """

    key: str
    kind: PairKind
    pair: str


class Rating(Record):
    """What one rater said of one document by one criterion.

    ``annotator``: pseudonym (``rater-1``). ``seconds``: spent on the whole document, where known.
    ``comment``: on the document, whatever the criterion.
    """

    kind: PairKind
    pair: str
    annotator: str
    criterion: str
    value: int = Field(ge=LOWEST, le=HIGHEST)
    seconds: float | None = None
    submitted: datetime | None = None
    comment: str = ""


def sample_documents(
    synthetic: Corpus, natural: Corpus, run_key: str, sizes: tuple[int, int], seed: int, *, same_targets: bool = False
) -> list[RatedDocument]:
    """Sample pairs of both corpora and mix them; the same arguments give the same documents in the same order.

    ``sizes``: how many synthetic and how many natural documents; fewer where there are not as many. ``same_targets``:
    whether the natural documents are the counterparts of the synthetic ones, written on the same target documents, as
    in the paper. Then a rater who remembers a target can tell that one of two documents was made for it. Otherwise they
    have other targets, as far as there are others. No document is rated twice.

    Raises:
        InputError: when there is no synthetic pair, or no natural counterpart of any.
    """
    if not synthetic.pairs:
        msg = f"run {run_key!r} has no synthetic pair to rate"
        raise InputError(msg, "generate with other settings; `abcdlink report` says why pairs were refused")
    chooser = random.Random(seed)  # noqa: S311 - no secret
    made, found = _shuffled(synthetic, chooser), _shuffled(natural, chooser)
    if same_targets:
        answered = {pair.target for pair in found}
        made = [pair for pair in made if pair.target in answered]
        if not made:
            msg = f"no natural pair in run {run_key!r} shares a target document with a synthetic pair"
            raise InputError(msg, "rate documents on different targets: leave out the option same_targets")
    chosen = made[: sizes[0]]
    shown = [pair.target for pair in chosen]
    if same_targets:
        others = sorted((pair for pair in found if pair.target in shown), key=lambda pair: shown.index(pair.target))
    else:
        others = sorted(found, key=lambda pair: pair.target in shown)
    mixed = [(PairKind.SYNTHETIC, pair.id) for pair in chosen]
    mixed += [(PairKind.NATURAL, pair.id) for pair in others[: sizes[1]]]
    chooser.shuffle(mixed)
    return [RatedDocument(key=opaque_id(run_key, "rating", kind, pair), kind=kind, pair=pair) for kind, pair in mixed]


def _shuffled(corpus: Corpus, chooser: random.Random) -> list[Pair]:
    """Return the pairs in random order, only the first of those that share a source document."""
    by_source: dict[str, Pair] = {}
    for pair in chooser.sample(corpus.pairs, len(corpus.pairs)):
        by_source.setdefault(pair.source, pair)
    return list(by_source.values())


@at_once("ratings")
def prepare(
    store: Store, domain: Domain, synthetic: int, natural: int, seed: int, *, same_targets: bool = False
) -> list[RatedDocument]:
    """Sample documents of the run for rating, or return those already sampled.

    Raises:
        InputError: when the run has no synthetic corpus, the domain has no criteria, or the ratings were begun
            with other settings.
    """
    store.require(f"{SYNTHETIC}/pairs.jsonl", "generate")
    inputs = {"synthetic": synthetic, "natural": natural, "seed": seed}
    inputs |= {"same_targets": True} if same_targets else {}
    if not is_done(store, "ratings", SAMPLE, inputs):
        made, found = corpora_of(store).values()
        criteria, sizes = rating_settings(domain).rating, (synthetic, natural)
        documents = sample_documents(made, found, store.key, sizes, seed, same_targets=same_targets)
        store.write_records(CRITERIA, criteria)
        store.write_records(SAMPLE, documents)
    return sample_of(store)


def corpora_of(store: Store) -> dict[PairKind, Corpus]:
    """Return the corpora that rated documents are of."""
    there = store.exists(f"{NATURAL}/pairs.jsonl")
    return {
        PairKind.SYNTHETIC: read_corpus_from(store, SYNTHETIC),
        PairKind.NATURAL: read_corpus_from(store, NATURAL) if there else Corpus(name=NATURAL, documents={}, pairs=[]),
    }


def sample_of(store: Store) -> list[RatedDocument]:
    """Return the documents to rate; ``InputError`` when none have been sampled."""
    store.require(SAMPLE, "rate")
    return store.read_records(SAMPLE, RatedDocument)


def kept_criteria(store: Store) -> list[Criterion]:
    """Return the criteria by which the sampled documents are rated."""
    return store.read_records(CRITERIA, Criterion)


def keep_ratings(store: Store, raters: Sequence[Annotator], ratings: Sequence[Rating]) -> None:
    """Store what raters said; the ratings are written last."""
    store.write_records(RATERS, raters)
    store.write_records(RATINGS, ratings)


def ratings_of(store: Store) -> list[Rating]:
    """Return the ratings of a run; ``InputError`` when they were not pulled yet."""
    store.require(RATINGS, "rate")
    return store.read_records(RATINGS, Rating)


ONE_RATER = "undefined (no document was rated by two)"
ONE_VALUE = "undefined (one value only)"

Rated = tuple[PairKind, str]
"""Kind and pair of a rated document."""


class Mean(Record):
    """The mean rating of documents of one kind; each rating counts, and ``interval`` (95 %) resamples documents."""

    mean: float
    interval: tuple[float, float]
    ratings: int
    documents: int


class RatingSummary(Record):
    """The ratings by one criterion.

    ``means``: kind of document -> mean rating. ``kappa``: Cohen's kappa with quadratic weights (Cohen 1968), the
    mean over pairs of raters; ``None`` where it is undefined, then ``note`` says why. ``observed``: share of
    documents to which two raters gave the same value. ``alpha``: Krippendorff's alpha for ordinal values (Krippendorff
    2011) by the package ``krippendorff``, over all raters and documents, with its 95 % interval (documents resampled).
    ``histogram``: kind of document -> how often each value was given, the lowest first.
    """

    criterion: str
    means: dict[PairKind, Mean]
    histogram: dict[PairKind, tuple[int, ...]]
    kappa: float | None = None
    alpha: float | None = None
    alpha_interval: tuple[float, float] | None = None
    observed: float | None = None
    note: str = ""


def summarise(ratings: Sequence[Rating]) -> list[RatingSummary]:
    """Summarise ratings, one summary a criterion in the order in which they first come."""
    by_criterion: defaultdict[str, list[Rating]] = defaultdict(list)
    for rating in ratings:
        by_criterion[rating.criterion].append(rating)
    return [_summary(criterion, group) for criterion, group in by_criterion.items()]


def _summary(criterion: str, ratings: Sequence[Rating]) -> RatingSummary:
    means, histogram = {}, {}
    for kind in (PairKind.SYNTHETIC, PairKind.NATURAL):
        values = [rating.value for rating in ratings if rating.kind is kind]
        pairs = [rating.pair for rating in ratings if rating.kind is kind]
        if values:
            found = bootstrap_mean(values, groups=pairs)
            means[kind] = Mean(
                mean=found.mean, interval=(found.low, found.high), ratings=len(values), documents=len(set(pairs))
            )
            histogram[kind] = tuple(values.count(value) for value in range(LOWEST, HIGHEST + 1))
    return RatingSummary(criterion=criterion, means=means, histogram=histogram, **_agreement(ratings))


def _agreement(ratings: Iterable[Rating]) -> dict[str, Any]:
    """Return the fields of ``RatingSummary`` on agreement."""
    by_rater: defaultdict[str, dict[Rated, int]] = defaultdict(dict)
    for rating in ratings:
        by_rater[rating.annotator][rating.kind, rating.pair] = rating.value
    answers = [
        both
        for first, second in combinations(by_rater.values(), 2)
        if (both := [(first[rated], second[rated]) for rated in first if rated in second])
    ]
    if not answers:
        return {"note": ONE_RATER}
    observed = fmean(fmean(a == b for a, b in both) for both in answers)
    kappa = mean_kappa(answers, labels=range(LOWEST, HIGHEST + 1), weights="quadratic")  # Cohen (1968)
    if kappa is None:
        return {"observed": observed, "note": ONE_VALUE}
    alpha, interval = ordinal_alpha(list(by_rater.values()), range(LOWEST, HIGHEST + 1))
    return {"observed": observed, "kappa": kappa, "alpha": alpha, "alpha_interval": interval}


def rows_of(summaries: Iterable[RatingSummary]) -> list[Mapping[str, object]]:
    """Return the summaries as rows of a table: one a criterion and kind of document."""
    return [
        {
            "criterion": one.criterion,
            "documents": kind.value,
            "mean": round(mean.mean, 2),
            "95 % interval": f"{mean.interval[0]:.2f} to {mean.interval[1]:.2f}",
            "rated": mean.documents,
            "ratings": mean.ratings,
            "weighted kappa": one.note if one.kappa is None else round(one.kappa, 2),
            "alpha (ordinal)": None if one.alpha is None else round(one.alpha, 2),
            "alpha, 95 % interval": "{:.2f} to {:.2f}".format(*one.alpha_interval) if one.alpha_interval else None,
            "given 1 to 5 times": " ".join(map(str, one.histogram[kind])),
            "same value": None if one.observed is None else f"{one.observed:.0%}",
        }
        for one in summaries
        for kind, mean in one.means.items()
    ]
