from __future__ import annotations

from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from abcdlink.errors import InputError
from abcdlink.interannotator import pairs_needed
from abcdlink.interannotator.measures import agreement
from abcdlink.judgments import Judgment
from tests.helpers.agreement_examples import many, task
from tests.helpers.command_line import call, called

GOOD, BAD = ("LLNN", "LLNN"), ("LLNN", "LNLN")


def chancy(pairs: int, seed: int = 1) -> list[Judgment]:
    """Pairs of five tasks; each pair has its own probability that a candidate is a link."""
    generator = np.random.default_rng(seed)
    judgments = []
    for pair in range(pairs):
        chance = generator.uniform(0.2, 0.8)
        for source in range(5):
            first = "".join("NL"[int(generator.random() < chance)] for _ in range(3))
            second = "".join(c if generator.random() < 0.85 else "LN"[c == "L"] for c in first)
            judgments += task((first, second), str(source), pair=f"p{pair}")
    return judgments


def test_interval_width_falls_with_the_square_root_of_the_pairs():
    found = pairs_needed(chancy(30), 0.05)
    assert found.interval_width is not None
    assert found.more is not None
    total = found.pairs + found.more
    assert found.interval_width * sqrt(30 / total) <= 0.05
    assert found.interval_width * sqrt(30 / (total - 1)) > 0.05
    half = pairs_needed(chancy(30), 0.1)
    assert total == pytest.approx(4 * (30 + (half.more or 0)), abs=4)


@pytest.mark.parametrize("measure", ["kappa", "llm"])
def test_the_estimate_holds_once_that_many_more_are_judged(measure: str):
    found = pairs_needed(chancy(60), 0.05, measure)
    assert found.more
    after = pairs_needed(chancy(60 + found.more, seed=2), 0.05, measure)
    assert after.interval_width == pytest.approx(0.05, rel=0.15)


def test_acceptance_is_that_of_the_summary_with_an_interval_over_pairs():
    judgments = chancy(19)
    found = pairs_needed(judgments, 0.1, "llm")
    result = agreement(judgments).acceptance["llm"]
    assert (found.value, found.judged, found.pairs) == (pytest.approx(result.rate), result.candidates, 19)
    assert found.interval is not None
    # Candidates of one pair are alike, so that the interval over pairs is wider than one over candidates.
    assert found.interval[1] - found.interval[0] > result.interval[1] - result.interval[0]


def test_enough_judgments_are_reported_and_never_a_negative_number():
    found = pairs_needed(chancy(40), 1.5)
    assert found.more == 0
    assert "is enough" in found.words


@pytest.mark.parametrize(
    ("judgments", "measure", "reason"),
    [
        ([], "kappa", "at least 5 judged pairs"),
        (many(4, [GOOD, BAD]), "kappa", "at least 5 judged pairs"),
        (many(9, [("LL", "LL")]), "kappa", "one label only"),
        (many(9, [("LL", "LL")]), "llm", "their spread is unknown"),
        (many(9, [GOOD]), "kappa", "their spread is unknown"),
        (many(9, [("LN",)]), "kappa", "two annotators"),
        (many(9, [GOOD, BAD]), "no-such-method", "at least 5 judged pairs"),
    ],
)
def test_a_missing_estimate_has_a_reason(judgments: list[Judgment], measure: str, reason: str):
    found = pairs_needed(judgments, 0.1, measure)
    assert found.more is None
    assert reason in found.note
    assert reason in found.words


@pytest.mark.parametrize("width", [0, -0.1, 2.5, float("nan")])
def test_an_impossible_width_is_refused(width: float):
    with pytest.raises(InputError, match="width"):
        pairs_needed(chancy(6), width)


def test_the_command_prints_everything_as_text_and_json(tmp_path: Path):
    judgments = chancy(6) + [j.model_copy(update={"batch": 2, "pair": f"x{j.pair}"}) for j in chancy(6, seed=3)]
    path = tmp_path / "judgments.jsonl"
    path.write_text("".join(j.model_copy(update={"seconds": 30.0}).model_dump_json() + "\n" for j in judgments))
    told = call("agreement", path, "--width", "0.05", "--all")
    for words in ("batch 2 minus batch 1: kappa", "15 minutes in the paper", "links per hour", "more pairs are needed"):
        assert words in told
    for title in ("By pair", "Learning curve", "Parts of each batch"):
        assert title in told
    more = called("agreement", path, "--needed", "3")
    found = called("agreement", path, "--width", "0.05")
    assert (more["judged"], more["incomplete"]) == (0, found["judged"])
    expected = pairs_needed(judgments, 0.05)
    assert found["details"]["needed"][0]["more"] == expected.more
    assert found["judged"] == 180


def test_the_command_handles_three_annotators(tmp_path: Path):
    path = tmp_path / "judgments.jsonl"
    path.write_text("".join(j.model_dump_json() + "\n" for j in many(5, [("LLNN", "LNNN", "LLLN")])))
    told = call("agreement", path)
    assert "Fleiss' kappa: " in told
    assert "Krippendorff's alpha: " in told
    assert "annotator-2 and annotator-3" in told
