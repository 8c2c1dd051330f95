"""The command line as a user sees it: what it prints, and one clear message for each mistake."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from abcdlink.cli.app import make_app
from abcdlink.settings import PROJECT_ROOT, get_settings
from tests.helpers.homes import configure

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(command: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command in its own folder; returns exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    return command


def commands(group: typer.core.TyperGroup, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


ALL = dict(commands(typer.main.get_command(make_app())))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_has_help_with_an_example(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(make_app(), [*path, "--help"])
    assert shown.exit_code == 0
    assert f"Example: abcdlink {' '.join(path)}" in " ".join(shown.output.split())


TWO_DOCUMENTS = (
    '{"id": "a", "sentences": [{"id": "0", "text": "The bridge opened on Monday."},'
    ' {"id": "1", "text": "It cost nine million euros."}]}\n'
    '{"id": "b", "sentences": [{"id": "0", "text": "Nine million euros were spent."},'
    ' {"id": "1", "text": "On Monday the bridge opened."}, {"id": "2", "text": "Nobody came."}]}\n'
)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "documents.jsonl").write_text(TWO_DOCUMENTS, encoding="utf-8")
    pair = '{"id": "p", "source": "a", "target": "b", "links": {"0": ["1"], "1": ["0"]}}\n'
    (folder / "pairs.jsonl").write_text(pair, encoding="utf-8")
    return folder


def test_benchmark_accepts_either_definition_of_precision(run: Run, corpus: Path) -> None:
    """The target has 3 sentences: of 5 shown by the paper's definition there are 3, by the common one 5."""
    precision = {}
    for definition in ("paper", "common"):
        code, out, _ = run(
            *("benchmark", corpus, "--retrievers", "bm25", "--cutoffs", "5", "--definition", definition, "--json")
        )
        result = json.loads(out)
        assert (code, result["definition"], result["pairs"], result["sources"]) == (0, definition, 1, 2)
        precision[definition] = result["approaches"]["bm25@5"]["precision"]
    assert precision == pytest.approx({"paper": 1 / 3, "common": 1 / 5})
    assert run("benchmark", corpus, "--definition", "other")[0] == 2
    assert "P@k as paper" in " ".join(run("benchmark", corpus, "--retrievers", "bm25")[1].split())


def test_import_reports_what_it_wrote(run: Run, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "p.source.txt").write_text("The bridge opened. It was dear.", encoding="utf-8")
    (texts / "p.target.txt").write_text("Nine millions were spent.", encoding="utf-8")
    code, out, _ = run("import", "text", texts, "--out", tmp_path / "made", "--json")
    counts = json.loads(out)
    assert code == 0
    assert (counts["documents"], counts["pairs"], counts["refused"]) == (2, 1, 0)
    assert counts["segmentation"] in {"rules", "en_core_web_sm", "en_core_web_md"}
    assert "Nine millions were spent." in (tmp_path / "made" / "preview.html").read_text(encoding="utf-8")

    # The same source may change and be imported again; a different one is not overwritten silently.
    (texts / "p.target.txt").write_text("Ten millions were spent.", encoding="utf-8")
    code, _, err = run("import", "text", texts, "--out", tmp_path / "made")
    assert code == 0
    assert "Replaced an earlier import of texts" in err
    others = texts.rename(tmp_path / "others")
    before = (tmp_path / "made" / "documents.jsonl").read_bytes()
    assert run("import", "text", others, "--out", tmp_path / "made")[0] == 2
    assert (tmp_path / "made" / "documents.jsonl").read_bytes() == before
    assert run("import", "text", others, "--out", tmp_path / "made", "--force")[0] == 0


def test_import_of_documents_without_pairs_says_what_to_use_them_for(run: Run, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("Nine millions were spent.", encoding="utf-8")
    _, _, err = run("import", "text", tmp_path / "texts", "--out", "made")
    assert "No pairs. `abcdlink generate RUN --targets made`" in err
    assert "`abcdlink pair made`" in err
    assert "Tasks" not in err


def test_import_reports_changes_totals_and_the_preview(run: Run, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for name in ("p.source.txt", "p (1).source.txt"):
        (texts / name).write_text("It was a long\nbridge &amp; dear.\n\nBy Jo Doe\n\n- 7 -", encoding="utf-8")
    for name in ("p.target.TXT", "p (1).target.txt"):
        (texts / name).write_text("Nine millions were spent.", encoding="utf-8")
    (texts / "lone.target.txt").write_bytes("Nine".encode("utf-16-le"))
    (texts / "notes.odt").write_bytes(b"PK")
    checked = run("import", "text", texts, "--check")
    written = run("import", "text", texts, "--out", "made")
    for code, _, err in (checked, written):
        assert code == 0
        for part in (
            "documents: 4, sentences: 6, pairs: 2, links: 0",
            "Tasks: at most 2, about",
            "2: fewer than 4 words",
            "HTML entities, which were decoded: 2 (p (1).source, p.source)",
            "wrapped lines, which were joined within paragraphs: 2 (p (1).source, p.source)",
            "were not read: 1 (notes.odt)",
            "which people are not asked about again: 1 (p repeats p (1))",
            "Refused: 2",
            "lone.target.txt contains NUL bytes",
        ):
            assert part in err
    assert "Would import" in checked[2]
    assert "Removed lines: --all-lines keeps them." in checked[2]
    assert f"Removed lines: listed in {tmp_path / 'made' / 'removed_lines.jsonl'}; --all-lines" in written[2]
    assert f"Preview: {tmp_path / 'made' / 'preview.html'}" in written[2]
    origin = json.loads((tmp_path / "made" / "origin.json").read_text(encoding="utf-8"))
    assert [note["count"] for note in origin["notes"]] == [2, 2, 2, 1, 1]
    assert run("import", "text", texts, "--out", "kept", "--lines", "keep", "--no-entities")[0] == 0
    assert 'It was a long"' in (tmp_path / "kept" / "documents.jsonl").read_text(encoding="utf-8")


def test_refused_documents_beyond_the_first_are_counted_and_it_is_said_where_all_are(run: Run, tmp_path: Path) -> None:
    good = {"pair": "p", "source": {"id": "a", "text": "One."}, "target": {"id": "b", "text": "Two."}}
    bad = [good | {"pair": f"p{n}", "links": {"0": ["7"]}} for n in range(7)]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (good, *bad)), encoding="utf-8")
    _, _, checked = run("import", "jsonl", tmp_path / "all.jsonl", "--check")
    assert "Refused: 7\n" in checked
    assert "and 2 more; --out FOLDER lists all in refused.jsonl" in checked
    _, _, written = run("import", "jsonl", tmp_path / "all.jsonl", "--out", "made")
    assert f"Refused: 7, listed in {tmp_path / 'made' / 'refused.jsonl'}" in written


def test_unpaired_documents_are_imported_sampled_counted_and_used_for_generation(run: Run, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for n in range(4):
        (texts / f"d{n}.txt").write_text("The bridge opened on Monday. " * (n + 1), encoding="utf-8")
    (texts / "p.source.txt").write_text("A review.", encoding="utf-8")
    (texts / "p.target.txt").write_text("A paper about bridges. It is short.", encoding="utf-8")
    code, out, err = run("import", "text", texts, "--targets", "--out", "alone", "--json")
    counts = json.loads(out)
    assert (code, counts["documents"], counts["pairs"], counts["refused"]) == (0, 5, 0, 0), err
    assert any("Files left out, as they are sources: 1 (p.source.txt)" in note for note in counts["notes"])
    assert "The bridge opened on Monday." in (tmp_path / "alone" / "preview.html").read_text(encoding="utf-8")
    code, _, err = run("sample", "alone", "--out", "two", "--shortest", 3, "--sample", 2, "--seed", 1)
    assert (code, "2 of 5 documents, the 3 with the shortest target, drawn at random with seed 1" in err) == (0, True)
    origin = json.loads((tmp_path / "two" / "origin.json").read_text(encoding="utf-8"))
    assert (origin["format"], origin["sampled"]["drawn"]) == ("text", 2)
    counts = json.loads(run("stats", "alone", "two", "--json")[1])
    assert (counts["alone"]["documents"], counts["two"]["documents"]) == (5, 2)
    assert "sentences of a target document" in run("stats", "alone", "two")[1]
    code, _, err = run("generate", "r", "--targets", "alone", "--sample", 6)
    assert (code, "6 documents requested, but only 5 available" in err) == (2, True)


def test_documents_are_paired_after_showing_examples(run: Run, tmp_path: Path) -> None:
    texts = {
        "a": "The old bridge over the river closed on Monday.",
        "b": "On Monday the town closed its old bridge.",
        "c": "The champion won the game of chess.",
    }
    lines = [json.dumps({"id": name, "text": text, "meta": {"topic": "x"}}) for name, text in texts.items()]
    (tmp_path / "d.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run("import", "jsonl", "d.jsonl", "--out", "raw")[0] == 0
    code, out, err = run("pair", "raw", "--check", "--date", "topic", "--days", "3")
    assert (code, out) == (0, "")
    assert "document 'a': its topic 'x' is not a date; write dates as 2020-05-31" in err
    code, out, err = run("pair", "raw", "--check", "--by", "topic", "--floor", "0.1")
    assert (code, "1 paired" in err, "Would write: 1 pair." in err, "b: On Monday" in out) == (0, True, True, True)
    assert "Documents without a partner: 1 (c)" in err
    code, out, _ = run("pair", "raw", "--out", "pairs", "--by", "topic", "--floor", "0.1", "--json")
    assert (code, json.loads(out)["pairs"]) == (0, 1)
    made = json.loads(run("stats", "pairs", "--json")[1])["pairs"]
    assert (made["pairs"], made["documents"], made["pairs_with_known_links"]) == (1, 3, 0)
    assert (tmp_path / "pairs" / "pairing.jsonl").is_file()
    history = json.loads((tmp_path / "pairs" / "origin.json").read_text(encoding="utf-8"))["history"]
    assert history == ["Paired: 1 pair of 3 documents (same topic, similarity 0.1 to 1; at most 1 for each target)"]
    assert "neither --out nor --check" in run("pair", "raw", "--by", "topic")[2]
    code, _, err = run("pair", "raw", "--out", "none", "--by", "topic", "--floor", "0.99")
    assert (code, "make a pair by this rule: same topic" in err, (tmp_path / "none").exists()) == (2, True, False)


def test_a_corpus_is_cleaned_and_restored(run: Run, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text("The bridge opened.\n\nShare this story\n\nNobody came.", encoding="utf-8")
    assert run("import", "text", texts, "--targets", "--out", "raw")[0] == 0
    code, _, err = run("clean", "raw", "--out", "clean", "--ask", "none")
    assert (code, "1 of 3 sentences removed from 1 of 1 documents" in err) == (0, True), err
    assert str(tmp_path / "clean" / "removed.html") in err
    assert run("restore", "clean") == (0, "", "Put back: 1.\n")


def test_init_makes_a_usable_domain(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, home=tmp_path / "home")
    assert run("init", "patents", "--like", "reviews")[0] == 0
    made = tmp_path / "home" / "domains" / "patents"
    assert [(made / name).is_file() for name in ("domain.toml", "guidelines.md")] == [True, True]
    code, _, err = run("init", "patents")
    assert (code, "already exists" in err) == (2, True), err
    code, _, err = run("init", "Patents")
    assert (code, "it differs from 'patents', which is there, in capital letters only" in err) == (2, True), err
    assert [folder.name for folder in made.parent.iterdir()] == ["patents"]


def test_a_missing_server_is_one_clear_message(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    code, _, err = run("run", "reconcile")
    assert code == 3
    assert "no Prefect server answers" in err
    assert "abcdlink up" in err


def test_paths_given_to_commands_are_found_where_flows_run(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the guide: init, import, bootstrap; then the stages that the flow begins with, from the checkout."""
    from abcdlink.domain import find_domain
    from abcdlink.stages.intake import take_corpus
    from abcdlink.store import open_run

    started: list[dict[str, object]] = []
    for name, value in {"ABCDLINK_HOME": "home", "ABCDLINK_RUNS": "runs", "ABCDLINK_DROPS_SOURCE": "drops"}.items():
        monkeypatch.setenv(name, value if name != "ABCDLINK_HOME" else str(tmp_path / value))
    get_settings.cache_clear()
    monkeypatch.setattr("flows.commands.starting.start_flow", lambda _, parameters, *__: started.append(parameters))
    (tmp_path / "mine").mkdir()
    for end, text in {"source": "The old bridge is open.", "target": "The bridge has reopened."}.items():
        (tmp_path / "mine" / f"p1.{end}.txt").write_text(text)
    assert run("init", "my-domain")[0] == 0
    assert run("import", "text", "mine", "--out", "corpus")[0] == 0
    assert run("run", "bootstrap", "spring", "--domain", "my-domain", "--corpus", "corpus")[0] == 0
    runs = get_settings().runs_root
    monkeypatch.chdir(PROJECT_ROOT)
    (parameters,) = started
    domain = find_domain(str(parameters["domain"]))
    assert (domain.name, find_domain("my-domain").folder) == ("my-domain", domain.folder)
    assert len(take_corpus(open_run("spring", runs), str(parameters["corpus"]), domain).pairs) == 1
    assert Path(runs) == tmp_path / "runs"
    assert get_settings().drops_source == str(tmp_path / "drops")


def test_drops_are_taken_by_the_settings_of_the_command(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker that takes them read its settings when it was started."""
    from abcdlink.domain import find_domain
    from abcdlink.stages.shortlist import quick_shortlist
    from abcdlink.store import open_run

    started: list[dict[str, object]] = []
    monkeypatch.setattr("flows.commands.start_flow", lambda _, parameters, *__: started.append(parameters))
    configure(monkeypatch, runs=tmp_path / "runs")
    quick_shortlist(open_run("spring"), find_domain("news"))
    open_run("bare").note("inputs", {})
    nowhere = tmp_path / "nowhere"
    for source, base, code in (
        ("", "spring", 2),
        (nowhere, "spring", 2),
        (tmp_path, "", 2),
        (tmp_path, "bare", 2),
        (tmp_path, "spring", 0),
    ):
        configure(monkeypatch, drops_source=source, drops_run=base)
        assert run("run", "drops")[0] == code
    assert started == [{"run": "spring", "source": str(tmp_path)}]
