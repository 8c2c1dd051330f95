"""Batches by budget: a linker that has learned from the earlier batches chooses the candidates of each.

The pairs of a run are divided among the batches, so that a person reads a source sentence once. What a batch shows of
its pairs is what the rest of the budget would buy over all remaining pairs, plus a random share for the audit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from abcdlink.candidates.budget import BudgetRules, Order, Yield
from abcdlink.candidates.pools import Next, pools_of
from abcdlink.corpus.counts import repeated_pairs
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Pair, Record
from abcdlink.domain import Domain, targets_of
from abcdlink.errors import InputError
from abcdlink.interannotator.times import seconds_a_candidate
from abcdlink.judgments import RANDOM, Judgment, LabelRule, Place, Pool, by_candidate, verdict
from abcdlink.labels.parts import Histogram
from abcdlink.labels.records import Drift
from abcdlink.layout import JUDGMENTS, NATURAL, POOLS, SYNTHETIC, batch_file, model_file
from abcdlink.linking.decisions import over_kept_targets
from abcdlink.linking.learned import JudgedCandidate, LearnedLinker, RankedCorpus, refit
from abcdlink.linking.learners import FittedLinker, base_retrievers
from abcdlink.linking.saving import to_bytes
from abcdlink.stages.label import AFTER, drift_of
from abcdlink.stages.learn import read_linker
from abcdlink.stages.rank import read_rankings
from abcdlink.store import Store

if TYPE_CHECKING:
    import pandas as pd

METHOD = "probable"
CHOICE, CHOSEN = "choice.json", "chosen.parquet"

AnyLinker = LearnedLinker | FittedLinker


class BudgetPlan(BudgetRules):
    """A budget that several batches share, and which pairs come first."""

    next: Next = Field(
        Next.RANDOM, description="Which pairs are judged first: random, links (most expected links), uncertain."
    )
    seed: int = Field(13, ge=0, description="Random seed of the audit and the order of pairs.")

    def after(self, judgments: int, links: int) -> BudgetPlan | None:
        """Return what is left of the budget after some judgments and links; ``None`` if nothing is."""
        spent = {
            "judgments": (self.judgments, judgments),
            "hours": (self.hours, judgments * self.seconds / 3600),
            "links": (self.links, links),
        }
        left = {name: whole - gone for name, (whole, gone) in spent.items() if whole is not None}
        if not left:
            msg = "no budget is given"
            raise InputError(msg, "give a number of judgments, hours or links")
        return self.model_copy(update=left) if min(left.values()) > 0 else None


class Choice(Record):
    """How the candidates of a batch were chosen.

    ``learned_from``: judged candidates that the linker has learned from, in addition to the synthetic pairs.
    ``unchanged``: why it has not learned from the previous batch; empty if it has. ``judgments``: candidates of the
    batch, including the ``audited``. ``expected``: links among them, by the probabilities. ``dispersion``: of the
    audit, see ``Selection``. ``drift``: how the probabilities differ from those on the synthetic pairs, before anyone
    judged. ``seconds``: per candidate and annotator in earlier batches, where known. ``forecast``: of the rest of the
    budget over all remaining pairs.
    """

    batch: int
    linker: str
    learned_from: int
    unchanged: str
    pairs: tuple[str, ...]
    judgments: int
    audited: int
    expected: float
    dispersion: float
    drift: Drift | None
    seconds: float | None = None
    forecast: Yield

    @property
    def zero_shot(self) -> bool:
        """Whether the linker has not learned from any judgments yet, so that its probabilities may be off."""
        return not self.learned_from


class _Run(NamedTuple):
    """What is read from a run, once."""

    store: Store
    corpus: Corpus
    rankings: dict[str, pd.DataFrame]
    linker: str


def choose_batch(
    store: Store, domain: Domain, linker: str, rules: BudgetPlan, batch: int, batches: int
) -> Choice | None:
    """Choose the candidates of a batch after a linker has learned from earlier ones; ``None`` if the budget is used up.

    The rankings of the linker's retrievers on the natural pairs, and the judgments of earlier batches, must exist.
    Batches count from 1.

    Raises:
        InputError: when something is missing.
    """
    if found := store.find_record(batch_file(batch, CHOICE), Choice):
        return found
    run = _Run(store, read_corpus_from(store, NATURAL), _tables(store, NATURAL, linker), linker)
    earlier = [read_choice(store, number) for number in range(1, batch)]
    done = {pair for choice in earlier for pair in choice.pairs}
    again = repeated_pairs(run.corpus)
    left = [pair for pair in run.corpus.pairs if pair.id not in done and pair.id not in again]
    said = [one for choice in earlier for one in said_of(store, choice.batch)]
    seconds = measured_seconds(store, range(1, batch))
    rules = rules.model_copy(update={"seconds": seconds}) if seconds else rules
    rest = rules.after(sum(choice.judgments for choice in earlier), sum(one.link for one in said))
    if rest is None or not left:
        return None
    now, unchanged = _learn(run, said, batch)
    name = linker if unchanged or batch == 1 else _file_name(linker, batch)
    table = over_kept_targets(now.rank(run.rankings, run.corpus, left), run.corpus, targets_of(store))
    order = Order(table, _may_be_shown(table, run.corpus, left, domain), rest)
    selection = order.select(rules.seed + batch)
    wanted = -(-len(left) // (batches - batch + 1))
    pairs = _next_pairs(table, selection.chosen, left, wanted, rules)
    here = table["pair"].isin(pairs).to_numpy() & selection.judged
    if not here.any():
        return None
    chosen = table[here].assign(chance=selection.chance[here], audit=selection.audited[here])
    chosen["first"] = chosen["score"]
    if name != linker:
        named = set(pairs)
        next_ones = [pair for pair in left if pair.id in named]
        chosen["first"] = _scores_at(read_linker(store, linker).rank(run.rankings, run.corpus, next_ones), chosen)
    choice = Choice(
        batch=batch,
        linker=name,
        learned_from=len(said) if not unchanged else 0,
        unchanged=unchanged,
        pairs=tuple(pairs),
        judgments=int(here.sum()),
        audited=int((here & selection.audited).sum()),
        expected=float(chosen["score"].sum()),
        dispersion=selection.dispersion,
        drift=drift_of(store, linker, Histogram.of(table)) if batch == 1 else None,
        seconds=seconds,
        forecast=order.forecast(),
    )
    _write_pools(run, chosen, choice)
    store.write_table(batch_file(batch, CHOSEN), chosen)
    # Written last: it marks the batch as chosen.
    store.write_record(batch_file(batch, CHOICE), choice)
    return choice


def read_choice(store: Store, batch: int) -> Choice:
    """Return how a batch was chosen; raises ``InputError`` if it was not."""
    store.require(batch_file(batch, CHOICE), "candidates")
    return store.read_record(batch_file(batch, CHOICE), Choice)


def choices_of(store: Store) -> list[Choice]:
    """Return how the batches were chosen so far; empty in other modes."""
    found, batch = [], 1
    while choice := store.find_record(batch_file(batch, CHOICE), Choice):
        found.append(choice)
        batch += 1
    return found


def measured_seconds(store: Store, batches: Iterable[int]) -> float | None:
    """Return the seconds per candidate and annotator in some judged batches; ``None`` if no times are known."""
    found = [batch_file(batch, JUDGMENTS) for batch in batches]
    measured = seconds_a_candidate([one for name in found for one in store.find_records(name, Judgment)])
    return measured[0] if measured else None


def read_chosen(store: Store, batch: int) -> pd.DataFrame:
    """Return the candidates that were chosen for a batch."""
    return store.read_table(batch_file(batch, CHOSEN), ("pair", "source", "target"), ("chance", "audit"))


def said_of(store: Store, batch: int) -> list[JudgedCandidate]:
    """Return people's labels on the candidates of a batch: a link is what everyone who judged it calls one."""
    labels = labels_of(store, batch)
    chosen = read_chosen(store, batch)
    places = zip(*(chosen[name].astype(str) for name in ("pair", "source", "target")), chosen["chance"], strict=True)
    return [
        JudgedCandidate(place, labels[place], chance)
        for *at, chance in places
        if (place := (at[0], at[1], at[2])) in labels
    ]


def labels_of(store: Store, batch: int) -> dict[Place, bool]:
    """Return the labels of a batch's candidates: a link is what everyone who judged it calls one."""
    judgments = store.read_records(batch_file(batch, JUDGMENTS), Judgment)
    needed = store.manifest.get("annotation", {}).get("overlap", 1)
    found = {
        place: verdict([one.label for one in group.values()], LabelRule.BOTH, needed).link
        for place, group in by_candidate(judgments).items()
    }
    return {place: link for place, link in found.items() if link is not None}


def _tables(store: Store, corpus: str, linker: str) -> dict[str, pd.DataFrame]:
    return {name: read_rankings(store, corpus, name, whole=True).table for name in base_retrievers(linker)}


def _file_name(linker: str, batch: int) -> str:
    return f"{linker}{AFTER}{batch - 1}"


def _learn(run: _Run, said: Sequence[JudgedCandidate], batch: int) -> tuple[AnyLinker, str]:
    """Return the linker that chooses a batch and, if it is unchanged, why."""
    store, name = run.store, _file_name(run.linker, batch)
    reason = ""
    if batch > 1 and not store.exists(model_file(name)):
        before = RankedCorpus(read_corpus_from(store, SYNTHETIC), _tables(store, SYNTHETIC, run.linker))
        try:
            learned = refit(run.linker, before, RankedCorpus(run.corpus, run.rankings), said)
        except InputError as error:
            reason = error.problem
        else:
            store.folder.write(model_file(name), to_bytes(learned))
    return read_linker(store, run.linker if batch == 1 or reason else name), reason


def _may_be_shown(table: pd.DataFrame, corpus: Corpus, pairs: Sequence[Pair], domain: Domain) -> NDArray[np.bool_]:
    out = {
        (pair.id, sentence.id)
        for pair in pairs
        for sentence in corpus.source_of(pair).sentences
        if domain.settings.sources.reason_to_leave_out(sentence.text)
    }
    if not out:
        return np.ones(len(table), bool)
    return np.array([at not in out for at in zip(table["pair"], table["source"], strict=True)])


def _next_pairs(
    table: pd.DataFrame, chosen: NDArray[np.bool_], left: Sequence[Pair], wanted: int, rules: BudgetPlan
) -> list[str]:
    """Return the pairs of the next batch, in the order of the corpus."""
    names = [pair.id for pair in left]
    p = table["score"].to_numpy()
    if rules.next is Next.RANDOM:
        worth = np.random.default_rng(rules.seed).permutation(len(names)).astype(float)
    else:
        value = p if rules.next is Next.LINKS else p * (1 - p)
        sums = table.assign(value=np.where(chosen, value, 0.0)).groupby("pair", observed=True)["value"].sum()
        worth = np.array([float(sums.get(name, 0.0)) for name in names])
    best = set(np.argsort(-worth, kind="stable")[:wanted].tolist())
    return [name for place, name in enumerate(names) if place in best]


def _scores_at(table: pd.DataFrame, chosen: pd.DataFrame) -> list[float]:
    keys = ["pair", "source", "target"]
    scores = table.astype(dict.fromkeys(keys, str)).set_index(keys)["score"]
    return scores.loc[list(chosen[keys].astype(str).itertuples(index=False, name=None))].tolist()


def _write_pools(run: _Run, chosen: pd.DataFrame, choice: Choice) -> None:
    """Add the pools of a batch to those of earlier batches."""
    methods: dict[tuple[str, str], dict[str, str]] = {}
    for pair, source, target, audit in zip(
        *(chosen[name].astype(str) for name in ("pair", "source", "target")), chosen["audit"], strict=True
    ):
        methods.setdefault((pair, source), {})[target] = RANDOM if audit else METHOD
    pools = [pool for pool in run.store.find_records(POOLS, Pool) if pool.batch < choice.batch]
    run.store.write_records(POOLS, [*pools, *pools_of(run.corpus, run.store.key, choice.batch, methods)])
