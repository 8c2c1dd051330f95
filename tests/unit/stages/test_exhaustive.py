"""The stage of exhaustive judging: sampled from the corpus alone, measured, shown."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import pytest
from typer.testing import CliRunner

from abcdlink.cli.app import make_app
from abcdlink.domain import Domain, find_domain
from abcdlink.errors import InputError
from abcdlink.evaluation.shortlist import Shortlist
from abcdlink.exhaustive import EXHAUSTIVE, NO_BATCH, Over, View
from abcdlink.folders import LocalFolder
from abcdlink.judgments import Judgment
from abcdlink.layout import EXHAUSTIVE_JUDGMENTS, NATURAL, SHORTLIST, batch_file
from abcdlink.linking.records import Approach, ApproachKind
from abcdlink.report import write_report
from abcdlink.settings import get_settings
from abcdlink.stages.batch_preview import FILTERS
from abcdlink.stages.benchmark import run_benchmark
from abcdlink.stages.exhaustive import links_found, make_sample, measure_recall
from abcdlink.stages.plan import BenchmarkPlan
from abcdlink.stages.rank import rank
from abcdlink.stages.shortlist import decided_links
from abcdlink.store import Store
from flows.parameters import ExhaustiveParameters
from tests.helpers.builders import judgment
from tests.helpers.example_run import take_in, write_synthetic

FIRST = Approach(kind=ApproachKind.RETRIEVER, retriever="jaccard", cutoff=1)
SECOND = Approach(kind=ApproachKind.RETRIEVER, retriever="bm25", cutoff=4)
CHOSEN = Shortlist(first=FIRST, second=SECOND, reasons=())


class Watched(LocalFolder):
    """A folder that remembers what was read from it."""

    read_names: set[str]

    def read(self, name: str) -> bytes:
        self.read_names.add(name)
        return super().read(name)


@pytest.fixture(scope="module")
def news() -> Domain:
    return find_domain("news")


@pytest.fixture
def store(news: Domain) -> Store:
    """A run with rankings of two shortlisted retrievers."""
    root = get_settings().home / "runs" / "harbour"
    made = Store(LocalFolder(root), "harbour")
    take_in(made)
    made.note("domain", {"name": "news", "folder": str(news.folder), "prompts": news.prompt_hashes})
    made.write_text(SHORTLIST, CHOSEN.model_dump_json())
    for approach in CHOSEN.approaches:
        rank(made, NATURAL, approach.retriever)
    return made


def judge_as_first_decides(store: Store) -> dict[tuple[str, str], set[str]]:
    """Two annotators say Link exactly where the first approach does, except for every third source."""
    sample = make_sample(store, find_domain("news"), 2, 13, number=12)
    decided = {(one.pair, one.source): set(one.targets) for one in decided_links(store, CHOSEN, FIRST, 0)}
    gold = {one.at: decided[one.at] if n % 3 else set() for n, one in enumerate(sample.sources)}
    judgments = [
        judgment(
            (pair, source, str(target)), who, str(target) in links, batch=NO_BATCH, method=EXHAUSTIVE, seconds=60.0
        )
        for (pair, source), links in gold.items()
        for target in range(8)
        for who in (1, 2)
    ]
    store.write_records(EXHAUSTIVE_JUDGMENTS, judgments)
    return gold


def test_the_sample_reads_no_output_of_any_approach(store: Store, news: Domain):
    folder = Watched(Path(store.folder.where()))
    folder.read_names = set()
    with_rankings = make_sample(Store(folder, store.key), news, 2, 13, share=0.25)
    read = {name for name in folder.read_names if not name.startswith(f"{NATURAL}/")}
    assert read <= {"manifest.json", "exhaustive/sample.json"}

    bare = Store(LocalFolder(get_settings().home / "bare" / store.key), store.key)
    take_in(bare)
    assert make_sample(bare, news, 2, 13, share=0.25) == with_rankings


def test_a_sample_leaves_out_what_batches_leave_out(store: Store, news: Domain):
    take_in(store)
    store.note("annotation", {"batches": 2})
    filters = news.settings.sources.model_copy(update={"exclude": ("(?#anything).",)})
    store.write_record(batch_file(1, FILTERS), filters)
    with pytest.raises(InputError, match="no source"):
        make_sample(store, news, overlap=2, seed=13, number=1)


def test_recall_is_measured_on_full_lists_and_under_pool_limits(store: Store, news: Domain):
    gold = judge_as_first_decides(store)
    result = measure_recall(store, news)
    rows = {(row.approach, row.view, row.over): row for row in result.rows}
    linked = [at for at, links in gold.items() if links]
    assert (result.with_gold, result.without_gold, result.incomplete) == (len(linked), 12 - len(linked), 0)
    # One minute per source for each of two people; the pool has one random candidate in this domain.
    assert result.hours == pytest.approx(12 * 2 / 60)
    random = rows[f"random@{news.settings.pool.random}", View.POOL, Over.GOLD]
    assert random.sources == len(linked)
    assert random.recall is not None
    assert 0 <= random.recall.mean < 1
    first = rows[FIRST.name, View.FULL, Over.GOLD]
    assert [value.mean for value in first.measures if value] == [1, 1, 1]
    assert (first.without_gold, first.false_links) == (result.without_gold, 1)

    # In the pool a retriever fills its quota: two in this domain, whatever its cutoff.
    for approach, view, most in ((SECOND, View.FULL, 4), (SECOND, View.POOL, 2), (FIRST, View.POOL, 2)):
        table = store.read_table(f"rankings/{NATURAL}/{approach.retriever}/part-00000.parquet")
        found = {
            at: set(
                table[(table["pair"] == at[0]) & (table["source"] == at[1]) & (table["rank"] <= most)]["target"].astype(
                    str
                )
            )
            for at in linked
        }
        recall = rows[approach.name, view, Over.GOLD].recall
        assert recall is not None
        assert recall.mean == pytest.approx(fmean(len(found[at] & gold[at]) / len(gold[at]) for at in linked))
    assert {row.over for row in result.rows if row.approach == "both" and row.view is View.POOL} == set(Over)


def test_other_approaches_of_the_benchmark_can_be_measured_by_name(store: Store, news: Domain):
    judge_as_first_decides(store)
    write_synthetic(store)
    run_benchmark(store, news, BenchmarkPlan(retrievers=("bm25",), learned=(), rules=(), cutoffs=(1, 7), llm=None))
    result = measure_recall(store, news, also=["bm25@1", "bm25@7"])
    one, seven = (row for row in result.rows if row.approach in ("bm25@1", "bm25@7"))
    # More targets find no fewer links, and most of the additions are wrong.
    assert one.recall is not None
    assert seven.recall is not None
    assert one.recall.mean <= seven.recall.mean
    assert one.precision is not None
    assert seven.precision is not None
    assert one.precision.mean > seven.precision.mean
    assert {row.view for row in (one, seven)} == {View.FULL}
    with pytest.raises(InputError, match="no approach 'grep@1'"):
        measure_recall(store, news, also=["grep@1"])


def test_a_run_without_judgments_or_rankings_is_refused(store: Store, news: Domain):
    with pytest.raises(InputError, match="exhaustive"):
        measure_recall(store, news)
    judge_as_first_decides(store)
    never_ranked = Shortlist(first=FIRST.model_copy(update={"retriever": "x"}), reasons=())
    store.write_text(SHORTLIST, never_ranked.model_dump_json())
    result = measure_recall(store, news)
    assert (result.rows, len(result.notes)) == ((), 1)


def test_the_command_and_the_report_show_true_recall(store: Store):
    judge_as_first_decides(store)
    shown = CliRunner().invoke(make_app(), ["exhaustive", "show", "harbour", "--json"])
    assert shown.exit_code == 0, shown.output
    figures = json.loads(shown.stdout)
    assert {row["approach"] for row in figures["rows"]} == {FIRST.name, SECOND.name, "both", "random@1"}
    table = CliRunner().invoke(make_app(), ["exhaustive", "show", "harbour"]).stdout
    assert "all sources with gold links" in " ".join(table.split())
    write_report(store)
    report = store.read_text("report.html")
    assert "<h2>True recall</h2>" in report
    assert report.count("<small>sources with a shared target</small>") == 2
    # Exhaustive judgments do not count among those of the run.
    assert not store.exists("judgments.jsonl")


def test_a_number_replaces_the_share():
    for given, expected in (
        ({}, (2, 13, 0.1, None, None)),
        ({"number": 7, "overlap": 3}, (3, 13, None, 7, None)),
        ({"links": 7}, (2, 13, None, 1000, 7)),
        ({"links": 7, "number": 9}, (2, 13, None, 9, 7)),
        ({"links": 7, "share": 0.2, "seed": 5}, (2, 5, 0.2, None, 7)),
    ):
        assert ExhaustiveParameters.model_validate(given).sampling(find_domain("news")) == expected


def test_links_are_counted_over_fully_judged_sources_and_progress_is_noted(store: Store):
    news = find_domain("news")
    sample = make_sample(store, news, 2, 13, number=6, links=3)
    assert make_sample(store, news, 2, 13, number=6, links=3) == sample
    with pytest.raises(InputError, match="links=3"):
        make_sample(store, news, 2, 13, number=6)

    def judged(number: int, *people: int) -> list[Judgment]:
        at = sample.sources[number]
        return [
            judgment(
                (at.pair, at.source, str(target)), who, target <= who, batch=NO_BATCH, method=EXHAUSTIVE, seconds=60.0
            )
            for target in range(8)
            for who in people
        ]

    # The first person ticks two targets, the second three: two unanimous links per source.
    assert links_found(store, judged(0, 1)) == 0
    assert links_found(store, judged(0, 1, 2)) == 2
    both = [*judged(0, 1, 2), *judged(1, 1, 2), *judged(2, 2)]
    assert links_found(store, both) == 4
    store.write_records(EXHAUSTIVE_JUDGMENTS, both)
    result = measure_recall(store, news)
    assert (result.with_gold, result.incomplete, result.links) == (2, 4, 4)
    assert any("stop at 3 links: people judged 2 of 6" in note for note in result.notes)
