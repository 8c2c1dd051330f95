"""Labelling a corpus in parts: the linker's probabilities, nothing done twice, refusals counted, memory constant."""

from __future__ import annotations

import shutil
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus.io import write_corpus, write_corpus_to
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.labels import parts
from abcdlink.labels.corpus_index import CorpusIndex
from abcdlink.labels.parts import Histogram, LabelSampling, cut
from abcdlink.labels.records import Labels
from abcdlink.layout import labels_file, model_file
from abcdlink.stages.audit import write_card
from abcdlink.stages.label import LabelRun, plan_labels, run_labels, the_linker
from abcdlink.stages.learn import rank_learned
from abcdlink.stages.rank import rank, read_rankings
from abcdlink.store import Store, open_run
from tests.helpers.builders import document
from tests.helpers.command_line import call, called
from tests.helpers.homes import other_home
from tests.helpers.labels import LINKER, made, run_with_linker

ALL = LabelSampling(floor=0.001, share=1.0)
CELLS = 90
"""Each part has four pairs, each with 20 sentence pairs."""


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a run with a linker."""
    with other_home(tmp_path_factory.mktemp("fitted")) as home:
        run_with_linker()
    return home


@pytest.fixture
def store(fitted: Path, isolated_home: Path) -> Store:
    shutil.copytree(fitted, isolated_home)
    return open_run("run")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    write_corpus(made("new", 10, seed=2), tmp_path / "new")
    return str(tmp_path / "new")


def label(
    store: Store, folder: str, name: str = "new", sampling: LabelSampling = ALL, most_parts: int | None = None
) -> Labels:
    planned = plan_labels(store, folder, name, sampling=sampling, cells=CELLS)
    return run_labels(planned, 0.8, most_parts)


def rows(store: Store, name: str = "new") -> pd.DataFrame:
    names = [file for file in store.folder.names(f"labels/{name}/") if file.endswith(".parquet")]
    tables = [store.read_table(file) for file in names]
    return pd.concat([table.astype({"pair": str, "source": str, "target": str}) for table in tables])


def by_place(table: pd.DataFrame, column: str) -> dict[tuple[str, str, str], float]:
    places = zip(table["pair"], table["source"], table["target"], strict=True)
    return dict(zip(places, table[column].tolist(), strict=True))


def test_parts_hold_the_linkers_probabilities_on_the_whole_corpus(store: Store, folder: str) -> None:
    result = label(store, folder)
    assert (result.parts, result.pairs, result.sources, result.candidates) == ((3, 3), 10, 40, 200)
    write_corpus_to(store, "natural", made("new", 10, seed=2))
    rank(store, "natural", "jaccard")
    rank_learned(store, "natural", LINKER)
    whole = by_place(read_rankings(store, "natural", LINKER).table, "score")
    assert by_place(rows(store), "probability") == pytest.approx(whole)
    assert result.expected_links == pytest.approx(sum(whole.values()))
    assert result.threshold is not None
    links = [p for p in whole.values() if p >= result.threshold]
    assert result.links == len(links)
    assert result.expected_precision == pytest.approx(sum(links) / len(links))
    assert sum(links) / len(links) >= 0.8
    assert result.drift is not None
    assert result.drift.distance < 0.3


def test_kept_rows_below_the_floor_represent_all_of_them(store: Store, tmp_path: Path) -> None:
    write_corpus(made("many", 150, seed=3), tmp_path / "many")
    sampling = LabelSampling(floor=0.3, share=0.2)
    result = run_labels(plan_labels(store, str(tmp_path / "many"), "many", sampling=sampling, cells=600), 0.9)
    kept = rows(store, "many")
    assert set(kept["chance"][kept["probability"] >= 0.3]) == {1.0}
    assert set(kept["chance"][kept["probability"] < 0.3]) == {0.2}
    assert (1 / kept["chance"]).sum() == pytest.approx(result.candidates, rel=0.1)
    assert (kept["probability"] / kept["chance"]).sum() == pytest.approx(result.expected_links, rel=0.05)
    assert result.rows == len(kept) < result.candidates / 2


def test_finished_parts_are_kept_whenever_the_work_stops(store: Store, folder: str) -> None:
    first = label(store, folder, most_parts=1)
    assert (first.parts, first.pairs, first.pairs_to_go) == ((1, 3), 4, 6)
    assert "**Unfinished**: these are 1 of 3 parts" in write_card(store, first)
    assert first.seconds_to_go == pytest.approx(first.seconds * 6 / 4)
    before = store.folder.read(labels_file("new", "part-00000.parquet"))
    # A kill between the two files of a part: the part is redone with the same table.
    table = store.folder.read(labels_file("new", "part-00000.parquet"))
    label(store, folder, most_parts=1)
    store.folder.remove(labels_file("new", "part-00001.json"))
    assert label(store, folder).parts == (3, 3)
    assert store.folder.read(labels_file("new", "part-00000.parquet")) == before == table
    times = {name: Path(store.where(name)).stat().st_mtime_ns for name in store.folder.names("labels/new/part-")}
    assert "Unfinished" not in write_card(store, label(store, folder))
    assert times == {name: Path(store.where(name)).stat().st_mtime_ns for name in times}
    assert sorted(by_place(rows(store), "probability")) == sorted({*by_place(rows(store), "probability")})
    assert len(rows(store)) == 200


def test_labels_are_tied_to_their_corpus_linker_and_settings(store: Store, folder: str, tmp_path: Path) -> None:
    label(store, folder)
    with pytest.raises(
        InputError,
        match=r"(?s)started its stage 'label new' with other settings: sampling\.floor=.*another --name",
    ):
        label(store, folder, sampling=LabelSampling())
    write_corpus(made("new", 9, seed=2), folder)
    with pytest.raises(InputError, match="other settings: digest"):
        label(store, folder)
    write_corpus(Corpus(name="none", documents={}, pairs=[]), tmp_path / "none")
    with pytest.raises(InputError, match="has no pairs"):
        label(store, str(tmp_path / "none"), "none")
    with pytest.raises(InputError, match=r"documents\.jsonl is missing"):
        label(store, str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="has no labels 'old'; it has new"):
        LabelRun(store, "old")
    with pytest.raises(InputError, match="has no learned linker"):
        label(open_run("other"), folder)
    with pytest.raises(InputError, match=r"has no learned linker 'bm25'; it has .*WordOverlap"):
        plan_labels(store, folder, "new", "bm25")


def test_unusable_pairs_are_refused_with_a_reason(store: Store, tmp_path: Path) -> None:
    new, known = made("new", 6, seed=2), made("fitted", 12, seed=1)
    documents = dict(new.documents) | {
        name: one for name, one in known.documents.items() if name.startswith("fitted-3")
    }
    pairs = [
        *new.pairs[:3],
        Pair(id="known", source="fitted-3-a", target="fitted-3-b"),
        Pair(id="lost", source="new-0-a", target="absent"),
        *new.pairs[3:],
    ]
    write_corpus(Corpus(name="c", documents=documents, pairs=pairs), tmp_path / "c")
    with (tmp_path / "c" / "pairs.jsonl").open("a") as file:
        file.write(new.pairs[0].model_copy(update={"target": "new-1-b"}).model_dump_json() + "\n")
    with (tmp_path / "c" / "documents.jsonl").open("a") as file:
        file.write(document("new-5-a", ["Another text."]).model_dump_json() + "\n")
    result = label(store, str(tmp_path / "c"), "c")
    assert result.pairs == 5
    assert result.refused == 5
    reasons = {one.where: one.reason for one in result.examples}
    assert reasons["pair 'known'"].startswith("the linker was fitted on this pair")
    assert (
        reasons["pairs.jsonl, line 5"] == "pair 'lost' names the document 'absent', which does not exist or was refused"
    )
    assert "two different texts" in reasons["pairs.jsonl, line 8"]
    assert reasons["pairs.jsonl, line 9"] == "a second pair has the id 'new-0'"
    assert set(rows(store, "c")["pair"]) == {f"new-{n}" for n in range(5)}


def test_a_broken_line_is_named_and_nothing_is_left_behind(store: Store, folder: str) -> None:
    with (Path(folder) / "documents.jsonl").open("a") as file:
        file.write('{"id": 3}\n')
    with pytest.raises(InputError, match=r"documents\.jsonl, line 21: "):
        label(store, folder)
    assert list(Path(store.where()).parents[1].rglob("*.tmp")) == []
    assert store.folder.names("labels/") == []


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=12), st.integers(1, 120))
def test_small_parts_hold_every_pair_once_in_order(shapes: list[tuple[int, int]], cells: int) -> None:
    with TemporaryDirectory() as folder:
        _check_parts(folder, shapes, cells)


def _check_parts(folder: str, shapes: list[tuple[int, int]], cells: int) -> None:
    documents = [
        document(f"{n}-{side}", [f"{n} {side} {m}" for m in range(size)])
        for n, shape in enumerate(shapes)
        for side, size in enumerate(shape)
    ]
    pairs = [Pair(id=str(n), source=f"{n}-0", target=f"{n}-1") for n in range(len(shapes))]
    write_corpus(Corpus(name="c", documents={one.id: one for one in documents}, pairs=pairs), folder)
    index = CorpusIndex(folder)
    found = cut(index, cells)
    assert [number for part in found for number in part] == list(range(len(shapes)))
    sizes = [a * b for a, b in shapes]
    for part in found:
        assert len(part) == 1 or sum(sizes[n] for n in part) <= cells
        assert [pair.id for pair in index.read(part).pairs] == [str(n) for n in part]


def test_the_threshold_is_the_lowest_that_reaches_the_precision() -> None:
    table = pd.DataFrame({"score": [0.99, 0.9, 0.8, 0.3, 0.1], "rank": [1, 2, 3, 4, 5]})
    histogram = Histogram.of(table)
    assert histogram.threshold_for(0.89) == pytest.approx(0.301)
    links, expected = histogram.above(0.301)
    assert links == 3
    assert expected == pytest.approx(2.69)
    assert histogram.threshold_for(0.999) is None
    assert (histogram + histogram).expected_links == pytest.approx(2 * 3.09)


def test_memory_does_not_grow_with_the_corpus(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "BACKGROUND", 20)

    def peak(count: int) -> int:
        write_corpus(made("m", count, seed=4), tmp_path / str(count))
        tracemalloc.start()
        planned = plan_labels(store, str(tmp_path / str(count)), str(count), cells=400)
        run_labels(planned, 0.9, most_parts=2)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(20)  # loaded only once
    # 120 more pairs are 1.5 MB as records; pydantic keeps up to 16,384 short strings, which may be half of it.
    assert peak(150) - peak(30) < 750_000


def test_the_linker_of_the_latest_batch_is_used(store: Store) -> None:
    assert the_linker(store) == LINKER
    for batch in (2, 10):
        store.folder.write(model_file(f"{LINKER}@after-{batch}"), b"{}")
    assert the_linker(store) == f"{LINKER}@after-10"
    store.folder.write(model_file("learned-logistic"), b"{}")
    with pytest.raises(InputError, match="several learned linkers"):
        the_linker(store)


def test_the_command_labels_and_summarises_a_corpus(store: Store, folder: str) -> None:
    told = called("label", store.key, folder, "--precision", "0.8")
    assert (told["name"], told["parts"], told["pairs"]) == ("new", [1, 1], 10)
    assert "expected links" in call("label", store.key, folder)
