"""The audit of labels: known inclusion probabilities, intervals that cover the truth, a run for people, a data card."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from abcdlink import audits
from abcdlink.audits import AuditedCandidate, draw, estimate
from abcdlink.corpus.io import write_corpus
from abcdlink.corpus.records import Corpus
from abcdlink.domain import find_domain
from abcdlink.errors import InputError
from abcdlink.judgments import Annotator, Judgment, Label, Pool
from abcdlink.labels.parts import LabelSampling
from abcdlink.layout import ANNOTATORS, JUDGMENTS, POOLS, REPORT, labels_file
from abcdlink.stages.audit import CANDIDATES, make_audit, read_audit, write_card
from abcdlink.stages.batch_preview import preview_batch
from abcdlink.stages.intake import describe_run
from abcdlink.stages.label import LabelRun, plan_labels, run_labels
from abcdlink.store import Store, open_run
from abcdlink.whatnow import what_now
from tests.helpers.command_line import call, called
from tests.helpers.homes import other_home
from tests.helpers.labels import made, run_with_linker

THRESHOLD = 0.8


def many() -> Corpus:
    return made("many", 120, seed=3)


def population(
    seed: int, shift: float, size: int = 8_000
) -> tuple[pd.DataFrame, NDArray[np.float64], NDArray[np.bool_]]:
    """Return the kept table, all probabilities, and all answers; ``shift`` is the error of the log-odds."""
    random = np.random.default_rng(seed)
    p = random.beta(0.08, 1.2, size).clip(1e-9, 1 - 1e-9)
    links = random.random(size) < 1 / (1 + (1 / p - 1) * np.exp(-shift))
    kept = (p >= 0.05) | (random.random(size) < 0.05)
    places = np.flatnonzero(kept)
    names = [str(place) for place in places]
    table = pd.DataFrame({"pair": names, "source": "s", "target": "t", "probability": p[places]})
    table["chance"] = np.where(table["probability"] >= 0.05, 1.0, 0.05)
    return table, p, links


@pytest.mark.parametrize(("shift", "judged"), [(-1.0, 200), (1.0, 200), (-2.0, 40)])
def test_intervals_cover_the_truth_even_if_probabilities_are_wrong(
    shift: float, judged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where no link is found below the threshold, as with few candidates and far too high probabilities."""
    monkeypatch.setattr(audits, "DRAWS", 1000)  # enough for the ends of an interval
    covered, sizes = [], []
    for seed in range(50):
        table, p, links = population(seed, shift)
        above = p >= THRESHOLD
        drawn = draw(partial(iter, [table]), THRESHOLD, int(above.sum()), judged, seed)
        said = {one.at: bool(links[int(one.pair)]) for one in drawn}
        found = estimate(drawn, said, THRESHOLD, int(above.sum()), float(p[~above].sum()))
        truth = (links[above].mean(), links[above].sum() / links.sum(), links.sum())
        estimates = (found.precision, found.recall, found.all_links)
        covered.append([one.low <= value <= one.high for one, value in zip(estimates, truth, strict=True)])
        sizes.append(len(drawn))
    assert np.mean(sizes) == pytest.approx(judged, rel=0.05)
    assert (np.mean(covered, axis=0) >= 0.9).all()
    assert np.mean(covered, axis=0)[1] <= 0.995


def test_reported_inclusion_probabilities_match_the_draw() -> None:
    table, p, _ = population(1, 0.0, 4000)

    above = int((p >= THRESHOLD).sum())
    drawn = [one for seed in range(60) for one in draw(partial(iter, [table]), THRESHOLD, above, 200, seed)]
    # Weighted by inclusion probability, draws represent the kept rows, which likewise represent all rows.
    low = sum(1 / one.chance for one in drawn if one.probability < THRESHOLD) / 60
    kept = table[table["probability"] < THRESHOLD]
    assert low == pytest.approx((1 / kept["chance"]).sum(), rel=0.1)
    high = sum(1 / one.chance for one in drawn if one.probability >= THRESHOLD) / 60
    assert high == pytest.approx(above, rel=0.05)


def test_as_many_are_drawn_as_wanted_where_most_candidates_are_hopeless() -> None:
    p = np.concatenate([np.full(10, 0.95), np.full(20, 0.5), np.full(170, 0.01)])
    names = [str(n) for n in range(len(p))]
    table = pd.DataFrame({"pair": names, "source": "0", "target": "0", "probability": p, "chance": 1.0})
    sizes = [len(draw(partial(iter, [table]), 0.9, 10, 80, seed)) for seed in range(60)]
    assert np.mean(sizes) == pytest.approx(80, rel=0.03)
    assert len(draw(partial(iter, [table]), 0.9, 10, 1000, 0)) == 200


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a run with labels ``many``; word overlap overrates targets that link to nothing."""
    folder = tmp_path_factory.mktemp("labels")
    with other_home(folder / "home") as home:
        store = run_with_linker()
        describe_run(store, find_domain("news"))
        write_corpus(many(), folder / "many")
        sampling = LabelSampling(floor=0.2, share=0.5)
        run_labels(plan_labels(store, str(folder / "many"), "many", sampling=sampling, cells=600), 0.8)
    return home


@pytest.fixture
def labelled(labels: Path, isolated_home: Path) -> Store:
    """A copy of that run."""
    shutil.copytree(labels, isolated_home)
    return open_run("run")


def judge(run: str, *, but: int = 0, simulated: bool = False, strict: bool = False) -> dict[tuple[str, str, str], bool]:
    """Let two annotators judge the audit by the gold links; the last ``but`` tasks get no second judgment.

    ``strict``: a third never says Link.
    """
    judged = open_run(run)
    gold = {pair.id: pair.links or {} for pair in many().pairs}
    pools, said, judgments = judged.read_records(POOLS, Pool), {}, []
    for place, pool in enumerate(pools):
        for candidate in pool.candidates:
            at = {"pair": pool.pair, "source": pool.source, "target": candidate.target}
            link = candidate.target in gold[pool.pair].get(pool.source, ())
            label = Label.LINK if link else Label.NO_LINK
            who = ("annotator-1", "annotator-2") if place < len(pools) - but else ("annotator-1",)
            judgments += [Judgment(batch=1, **at, method=candidate.method, annotator=a, label=label) for a in who]
            if strict:
                never = Judgment(batch=1, **at, method="audit", annotator="annotator-3", label=Label.NO_LINK)
                judgments.append(never)
            if len(who) > 1:
                said[pool.pair, pool.source, candidate.target] = link
    judged.write_records(JUDGMENTS, judgments)
    people = [Annotator(annotator=f"annotator-{n}", account=f"{n}@x.org", simulated=simulated) for n in (1, 2, 3)]
    judged.write_records(ANNOTATORS, people)
    judged.note("annotation", {"overlap": 3 if strict else 2})
    return said


def test_an_audit_is_judged_by_people_and_reported_on_the_card(labelled: Store) -> None:
    summary = LabelRun(labelled, "many").summary(0.8)
    assert "`abcdlink labels audit run many` draws one" in write_card(labelled, summary)
    plan = make_audit(labelled, "many", precision=0.8, wanted=150)
    judged = open_run("run-many-audit")
    pools = judged.read_records(POOLS, Pool)
    assert {candidate.method for pool in pools for candidate in pool.candidates} == {"audit"}
    assert {pool.batch for pool in pools} == {1}
    assert preview_batch(judged, find_domain("news"), 1, 2).left_out == {}
    before = judged.folder.read(POOLS)
    assert make_audit(labelled, "many", precision=0.8, wanted=150) == plan
    assert judged.folder.read(POOLS) == before
    assert read_audit(labelled, "many") is None
    assert "`run-many-audit`, and has no result yet" in write_card(labelled, summary)

    said = judge(plan.run, but=3)
    found = read_audit(labelled, "many")
    assert found is not None
    audit = found[1]
    assert sum(audit.judged) == len(said)
    assert audit.missing >= 3
    probability = probabilities(labelled)
    links = [link for at, link in said.items() if probability[at] >= plan.threshold]
    assert audit.precision.value == pytest.approx(np.mean(links))
    gold = sum(len(targets) for pair in many().pairs for targets in (pair.links or {}).values())
    assert audit.all_links.low <= gold <= audit.all_links.high
    card = write_card(labelled, summary)
    assert f"precision {audit.precision}" in card
    assert f"recall {audit.recall}" in card
    assert "programs" not in card
    judge(plan.run, simulated=True)
    assert "**These figures say nothing about the quality of the labels**, because programs judged." in write_card(
        labelled, summary
    )


def probabilities(store: Store) -> pd.Series:
    """Return the probability of each kept candidate (pair, source, target)."""
    table = pd.concat(
        [one.astype({"pair": str, "source": str, "target": str}) for one in LabelRun(store, "many").tables()]
    )
    return table.set_index(["pair", "source", "target"])["probability"]


def test_impossible_audits_are_refused_and_made_ones_stay(
    labelled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"reaches a precision of 0\.999"):
        make_audit(labelled, "many", precision=0.999)
    make_audit(labelled, "many", precision=0.8, wanted=60)
    with pytest.raises(InputError, match=r"(?s)started its stage 'audit' with other settings: wanted.*with --as"):
        make_audit(labelled, "many", precision=0.8, wanted=61)
    for _ in range(2):
        for key in ("", "second"):
            plan = make_audit(labelled, "many", precision=0.8, wanted=60, key=key)
            assert f"is in the run `{plan.run}`" in write_card(labelled, LabelRun(labelled, "many").summary(0.8))
    drawn = labelled.read_records(labels_file("many", CANDIDATES), AuditedCandidate)
    monkeypatch.setattr("abcdlink.stages.audit.draw", lambda *_: [])  # that of another version
    for key in ("", "second"):
        make_audit(labelled, "many", precision=0.8, wanted=60, key=key)
        assert labelled.read_records(labels_file("many", CANDIDATES), AuditedCandidate) == drawn
        assert sum(len(pool.candidates) for pool in open_run(plan.run).read_records(POOLS, Pool)) == len(drawn)
    with pytest.raises(InputError, match="the run 'run' already exists"):
        make_audit(labelled, "many", precision=0.8, key="run")
    write_corpus(made("two", 31, seed=4), tmp_path / "two")
    run_labels(plan_labels(labelled, str(tmp_path / "two"), "two", cells=600), 0.8, most_parts=1)
    with pytest.raises(InputError, match="1 part of the labels 'two' is unfinished"):
        make_audit(labelled, "two", precision=0.8)
    with pytest.raises(InputError, match="do not cover"):
        estimate([], {}, 0.8, 10, 3.0)


@pytest.mark.usefixtures("labelled")
def test_the_commands_make_and_report_an_audit() -> None:
    show = ("labels", "show", "run", "many")
    told = called("labels", "audit", "run", "many", "--candidates", "100", "--as", "check", "--precision", "0.6")
    assert told["run"] == "check"
    assert (told["superseded"], "Only the newest" in call(*show)) == ([], False)
    again = " ".join(call("labels", "audit", "run", "many", "--candidates", "9000", "--as", "all").split())
    assert "fewer than the 9000 asked for" in again
    assert "Only this audit of many counts from now on; earlier ones: check." in again
    assert "Only the newest audit counts. Earlier ones are in: check." in call(*show)
    told = called("labels", "audit", "run", "many", "--candidates", "100", "--as", "check", "--precision", "0.6")
    assert told["superseded"] == ["all"]
    assert called(*show, "--precision", "0.6")["audit"] is None
    open_run("check").write_records(JUDGMENTS, [])  # it was closed before anybody answered
    assert "`check`, and has no result yet" in call(*show)
    judge("check")
    assert "differ" not in call(*show, "--precision", "0.6")
    judge("check", strict=True)
    card = call(*show, "--precision", "0.6")
    assert "precision 0.0%" in card
    assert "- rule `majority` (a candidate is a link when more than half" in card
    assert "`abcdlink adjudicate start check`" in " ".join(card.split())
    open_run("check").write_text(REPORT, "")
    assert "abcdlink labels show run many" in [line.command for line in what_now(open_run("check")).items[0].lines]
    shown = called(*show, "--precision", "0.6")
    assert shown["audit"]["links"] == shown["labels"]["links"] == told["links"]
    assert "## Audit" in call(*show)
