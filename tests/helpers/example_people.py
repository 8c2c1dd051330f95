"""What people do in the example run besides batches: apply, rate, answer again, adjudicate, judge exhaustively."""

from __future__ import annotations

import random

from abcdlink.adjudicate import Adjudication
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import PairKind
from abcdlink.domain import Domain
from abcdlink.evaluation.shortlist import Shortlist
from abcdlink.exhaustive import EXHAUSTIVE, NO_BATCH, Recall, View, gold_of, measure
from abcdlink.feedback import Acknowledgement, SecondAnswer
from abcdlink.judgments import Annotator, Judgment, Label, LabelRule, by_candidate
from abcdlink.layout import (
    ADJUDICATIONS,
    ANNOTATIONS,
    EXHAUSTIVE_JUDGMENTS,
    JUDGMENTS,
    NATURAL,
    QUALIFY_SLUG,
    RECALL,
    SAMPLE,
    SHORTLIST,
)
from abcdlink.qualify import confirm, keep_judgments
from abcdlink.qualify.gold import GOLD, gold_set, keep_gold_set
from abcdlink.rate import Rating, keep_ratings
from abcdlink.source_sample import sample_sources
from abcdlink.stages.feedback import accept_feedback, end_feedback, prepare_feedback
from abcdlink.store import Store
from tests.helpers.builders import judged, judgment

GUIDELINES = "# Guidelines\n\nA link joins sentences that say the same."


def people(role: str, *numbers: int) -> list[Annotator]:
    """Return programs with pseudonyms of a role."""
    return [Annotator(annotator=f"{role}-{n}", account=f"{role}{n}@simulated.invalid", simulated=True) for n in numbers]


def qualify(store: Store, domain: Domain) -> None:
    """Three applicants of varying diligence judge a gold pair, the third only in part; the first two are accepted."""
    chooser = random.Random(3)
    corpus = read_corpus_from(store, "synthetic")
    gold = gold_set(corpus, corpus.pairs[:1], domain, store.key, 13)
    keep_gold_set(store, gold)
    judgments = [
        judged(
            pool,
            candidate,
            f"applicant-{number}",
            (candidate.method == GOLD) != (chooser.random() < slip),
            seconds=20.0 * number,
        )
        for number, slip, share in ((1, 0.05, 1), (2, 0.15, 1), (3, 0.4, 0.5))
        for pool in gold.pools[: int(share * len(gold.pools))]
        for candidate in pool.candidates
    ]
    there = [{"data": {"task_key": pool.key}} for pool in gold.pools]
    store.write_json(f"{QUALIFY_SLUG}/{ANNOTATIONS}", there)
    keep_judgments(store, people("applicant", 1, 2, 3), judgments)
    confirm(store, ["applicant-1", "applicant-2"])


def rate(store: Store) -> None:
    """Two raters rate every document by three criteria."""
    chooser = random.Random(4)
    ratings = [
        Rating(
            kind=kind,
            pair=f"{kind}-{number}",
            annotator=f"rater-{rater}",
            criterion=criterion,
            value=min(5, max(1, level + (kind is PairKind.NATURAL) + (chooser.random() < 1 / 4))),
        )
        for criterion in ("fluency", "coherence", "plausibility")
        for kind in (PairKind.SYNTHETIC, PairKind.NATURAL)
        for number in range(6)
        for level in (chooser.choice((2, 3, 4)),)
        for rater in (1, 2)
    ]
    keep_ratings(store, people("rater", 1, 2), ratings)


def answer_again(store: Store) -> None:
    """A feedback round after batch 1: most disagreements are resolved; the second annotator acknowledges nothing."""
    chooser = random.Random(5)
    clarification = "- A cause and its effect are not linked."
    accept_feedback(store, 1, GUIDELINES, clarification, label_studio_round=True)
    store.note("guidelines", {"1": 1, "2": 2})
    answers = [
        SecondAnswer(
            batch=1,
            pair=case.pair,
            source=case.source,
            target=case.target,
            annotator=f"annotator-{number}",
            label=Label.LINK if number == 1 or chooser.random() < 2 / 3 else Label.NO_LINK,
        )
        for case in prepare_feedback(store, 1).cases
        for number in (1, 2)
    ]
    end_feedback(store, 1, answers, [Acknowledgement(batch=1, annotator="annotator-1", question=True, comment="Why?")])


def adjudicate(store: Store) -> None:
    """An adjudicator decides all disagreements but two; one annotator decides some of them."""
    groups = by_candidate(store.read_records(JUDGMENTS, Judgment))
    disputed = {at: list(group.values()) for at, group in groups.items() if len({j.label for j in group.values()}) > 1}
    decided = [
        Adjudication(
            batch=said[0].batch,
            pair=at[0],
            source=at[1],
            target=at[2],
            adjudicator="annotator-1" if number % 5 == 0 else "adjudicator-1",
            label=said[number % 2].label,
            consensus=number % 5 == 0,
        )
        for number, (at, said) in enumerate(disputed.items())
    ]
    store.write_records(ADJUDICATIONS, decided[:-2])


def judge_exhaustively(store: Store, domain: Domain) -> None:
    """Two annotators judge every target of some sources; lists of the shortlisted approaches are drawn by chance."""
    chooser = random.Random(6)
    sample = sample_sources(read_corpus_from(store, NATURAL), domain.settings.sources, store.key, 13, number=12)
    store.write_text(SAMPLE, sample.model_dump_json())
    links = {one.at: set(chooser.sample(range(8), 2)) if n % 4 else set() for n, one in enumerate(sample.sources)}
    judgments = [
        judgment((pair, source, str(target)), who, target in found, batch=NO_BATCH, method=EXHAUSTIVE)
        for (pair, source), found in links.items()
        for target in range(8)
        for who in (1, 2)
    ]
    store.write_records(EXHAUSTIVE_JUDGMENTS, judgments)
    gold = gold_of(list(links), judgments, LabelRule.BOTH, 2)
    names = [one.name for one in Shortlist.model_validate_json(store.read_text(SHORTLIST)).approaches]
    full = {name: {at: chooser.sample([str(n) for n in range(8)], 3) for at in links} for name in names}
    pool = {name: {at: targets[:2] for at, targets in lists.items()} for name, lists in full.items()}
    shared = (names[0], names[1])
    result = Recall(
        with_gold=len(gold.with_gold),
        without_gold=len(gold.without_gold),
        incomplete=0,
        unlabelled=0,
        links=sum(map(len, gold.links.values())),
        rule="both",
        rows=tuple(measure(gold, full, View.FULL, shared) + measure(gold, pool, View.POOL, shared)),
    )
    store.write_text(RECALL, result.model_dump_json())


def with_people(store: Store, domain: Domain) -> None:
    """All of it, on a run whose batches are annotated."""
    qualify(store, domain)
    rate(store)
    answer_again(store)
    adjudicate(store)
    judge_exhaustively(store, domain)
