"""Stage recall: sources are sampled for exhaustive judging, then approaches are measured against the judgments."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.corpus.io import read_corpus_from
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.exhaustive import ExhaustiveGold, Recall, RecallRow, View, gold_of, lists_of, measure, random_lists
from abcdlink.interannotator.times import cleaned_times
from abcdlink.judgments import RANDOM, Judgment, LabelRule
from abcdlink.layout import BENCHMARK, EXHAUSTIVE_JUDGMENTS, NATURAL, RECALL, SAMPLE, SHORTLIST
from abcdlink.source_sample import Sample, sample_sources
from abcdlink.stages.batch_preview import filters_of
from abcdlink.stages.benchmark import read_benchmark
from abcdlink.stages.once import at_once, is_done
from abcdlink.stages.shortlist import decided_links, read_shortlist
from abcdlink.store import Store

STAGE = "exhaustive"


@at_once(STAGE)
def make_sample(
    store: Store,
    domain: Domain,
    overlap: int,
    seed: int,
    share: float | None = None,
    number: int | None = None,
    links: int | None = None,
) -> Sample:
    """Sample source sentences of the natural pairs, or return the stored sample.

    It only reads the corpus: the run need not have rankings, decisions or pools. ``overlap``: annotators per source;
    ``share``, ``number`` and ``links``: as for ``sample_sources``. The domain's filters, unless changed for a batch,
    say which sources annotators are not shown.

    Raises:
        InputError: when the run was sampled with other settings, or as ``sample_sources``.
    """
    asked = {"share": share, "number": number, "seed": seed, "overlap": overlap}
    # Runs of earlier versions have no number of links.
    if not is_done(store, STAGE, SAMPLE, {**asked, "links": links} if links else asked):
        batches = int(store.manifest.get("annotation", {}).get("batches", 0))
        rules = filters_of(store, domain, batches)
        sample = sample_sources(read_corpus_from(store, NATURAL), rules, store.key, seed, share, number, links)
        store.write_record(SAMPLE, sample)
    return read_sample(store)


def read_sample(store: Store) -> Sample:
    """Return the stored sample; raises ``InputError`` if there is none yet."""
    store.require(SAMPLE, "exhaustive")
    return store.read_record(SAMPLE, Sample)


def overlap_of(store: Store) -> int:
    """Return how many annotators judge each sampled source."""
    return int(store.manifest["inputs"][STAGE]["overlap"])


def links_found(store: Store, judgments: Sequence[Judgment]) -> int:
    """Return the number of links so far, by the rule ``both``, in sources that everyone who was asked has judged."""
    gold = gold_of([one.at for one in read_sample(store).sources], judgments, LabelRule.BOTH, overlap_of(store))
    return sum(map(len, gold.links.values()))


def measure_recall(store: Store, domain: Domain, rule: LabelRule = LabelRule.BOTH, also: Sequence[str] = ()) -> Recall:
    """Measure the shortlisted approaches on the exhaustively judged sources, and store the result.

    ``also``: further approaches of the benchmark, by name, whose rankings or decisions on the natural pairs the run
    has: their full lists are measured too.

    Raises:
        InputError: when there are no judgments yet, or the run does not know what one of ``also``
            decides.
    """
    store.require(EXHAUSTIVE_JUDGMENTS, "exhaustive")
    judgments = store.read_records(EXHAUSTIVE_JUDGMENTS, Judgment)
    sample = read_sample(store)
    sources = [source.at for source in sample.sources]
    gold = gold_of(sources, judgments, rule, overlap_of(store))
    rows, notes = _rows(store, domain, gold)
    rows += _other_rows(store, gold, also)
    rows += _random_row(store, domain, gold) if rows else []
    if sample.links:
        notes.append(
            f"people were to stop at {sample.links} links: people judged {len(gold.links)} of {len(sources)} source "
            "sentences, in random order"
        )
    seconds = [one for known in cleaned_times(judgments).values() for one in known.seconds.values()]
    result = Recall(
        with_gold=len(gold.with_gold),
        without_gold=len(gold.without_gold),
        incomplete=len(gold.incomplete),
        unlabelled=sum(map(len, gold.unlabelled.values())),
        links=sum(map(len, gold.links.values())),
        rule=rule.value,
        rows=tuple(rows),
        notes=tuple(notes),
        hours=sum(seconds) / 3600 if seconds else None,
    )
    store.write_record(RECALL, result)
    return result


def _rows(store: Store, domain: Domain, gold: ExhaustiveGold) -> tuple[list[RecallRow], list[str]]:
    """Return the rows of the run's approaches; a run without a shortlist has only gold links."""
    if not store.exists(SHORTLIST):
        return [], ["the run has no shortlist, so there is no approach to measure"]
    shortlist = read_shortlist(store)
    sizes = (domain.settings.pool.first, domain.settings.pool.second)
    names = [approach.name for approach in shortlist.approaches]
    try:
        full = {one.name: lists_of(decided_links(store, shortlist, one, 0)) for one in shortlist.approaches}
        pool = {
            one.name: lists_of(decided_links(store, shortlist, one, size), size)
            for one, size in zip(shortlist.approaches, sizes, strict=False)
        }
    except InputError as error:
        return [], [f"nothing is measured: {error.problem}"]
    shared_by = (names[0], names[1]) if len(names) > 1 else None
    return [*measure(gold, full, View.FULL, shared_by), *measure(gold, pool, View.POOL, shared_by)], []


def _random_row(store: Store, domain: Domain, gold: ExhaustiveGold) -> list[RecallRow]:
    """Return the row for as many random targets as a pool has, if it has any."""
    size, corpus = domain.settings.pool.random, read_corpus_from(store, NATURAL)
    if not size:
        return []
    targets = {pair.id: [sentence.id for sentence in corpus.target_of(pair).sentences] for pair in corpus.pairs}
    drawn = random_lists({at: targets[at[0]] for at in gold.links}, size, read_sample(store).seed)
    return measure(gold, {f"{RANDOM}@{size}": drawn}, View.POOL)


def _other_rows(store: Store, gold: ExhaustiveGold, names: Sequence[str]) -> list[RecallRow]:
    """Return the rows of approaches beyond the shortlist."""
    if not names:
        return []
    store.require(BENCHMARK, "benchmark")
    known = {result.approach.name: result.approach for result in read_benchmark(store).approaches}
    for name in names:
        if name not in known:
            msg = f"the benchmark of run {store.key!r} has no approach {name!r}"
            raise InputError(msg, f"`abcdlink scores {store.key}` lists them")
    shortlist = read_shortlist(store)
    lists = {name: lists_of(decided_links(store, shortlist, known[name], 0)) for name in names}
    return measure(gold, lists, View.FULL)
