"""Patterns by their measures, varied cases, drafts of what stands out, guideline versions, and a round's outcome."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from abcdlink import feedback
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import InputError
from abcdlink.feedback import Acknowledgement, Case, FeedbackOutcome, SecondAnswer, choose_cases, outcome_of, settled
from abcdlink.feedback.guidelines import (
    RULES,
    clarify,
    draft_clarifications,
    finished,
    guidelines_for,
    most_frequent,
    newest_guidelines,
    standing_out,
    version_of,
)
from abcdlink.feedback.memos import cases_text, memos
from abcdlink.feedback.patterns import Pattern, Viewer, comparisons_of, context_reliance, figures_of, views_of
from abcdlink.folders import LocalFolder
from abcdlink.judgments import Judgment, Label, Pool
from abcdlink.layout import NATURAL
from abcdlink.stages.feedback import (
    accept_feedback,
    asked_cases,
    end_feedback,
    end_unasked,
    judged_in,
    outcome_in,
    prepare_feedback,
    with_examples,
)
from abcdlink.store import Store
from tests.helpers import builders
from tests.helpers.builders import document, judgment
from tests.helpers.example_run import annotate, make_pools, take_in

SECRET = "secretmethod"
SOURCE = "The harbour bridge was closed after engineers found cracks."
BRIDGE = [
    "Engineers found cracks and the harbour bridge was closed at once, officials told reporters today.",
    "It stays shut.",
    "The harbour bridge has been closed, engineers say.",
    "Nobody counted how many people had used the little ferry over the river in spring, cracks or not.",
    "Rain is expected for tomorrow and the day after, with strong winds coming in from the north coast.",
]


def corpus_of(targets: list[str], pairs: int = 1) -> Corpus:
    documents = [one for n in range(pairs) for one in (document(f"a{n}", [SOURCE], "s"), document(f"b{n}", targets))]
    return builders.corpus((Pair(id=f"p{n}", source=f"a{n}", target=f"b{n}") for n in range(pairs)), *documents)


def said(who: int, target: int, letter: str, pair: int = 0, comment: str = "") -> Judgment:
    return judgment((f"p{pair}", "s", str(target)), who, letter == "L", method=SECRET, comment=comment)


def all_said(*columns: str, pairs: int = 1) -> list[Judgment]:
    """One string per annotator, one letter per candidate; the same for each pair."""
    return [
        said(who, target, letter, pair)
        for pair in range(pairs)
        for who, column in enumerate(columns, start=1)
        for target, letter in enumerate(column)
        if letter != " "
    ]


@pytest.fixture
def run(tmp_path: Path) -> Store:
    store = Store(LocalFolder(tmp_path / "r"), "r")
    corpus = take_in(store)
    annotate(store, make_pools(store, corpus))
    return store


def test_patterns_follow_their_measures() -> None:
    viewer = Viewer(corpus_of(BRIDGE))
    found = {n: viewer.view(("p0", "s", str(n))) for n in range(len(BRIDGE))}
    # Content words of the source: harbour, bridge, closed, engineers, found, cracks.
    assert [(view.inside, view.outside) for view in found.values()] == [(6, 0), (0, 6), (4, 1), (1, 4), (0, 1)]
    assert Pattern.OUTSIDE not in found[0].patterns
    assert set(found[1].patterns) >= {Pattern.OUTSIDE, Pattern.SHORT}
    assert (found[2].overlap, found[3].overlap) == (1.0, pytest.approx(1 / 6))
    assert Pattern.FAR_APART in found[4].patterns
    assert Pattern.FAR_APART not in found[2].patterns


def test_context_reliance_is_the_rise_in_rejection_when_evidence_is_outside() -> None:
    judgments = all_said("LNLNN", "LLLLN")
    views = views_of(judgments, corpus_of(BRIDGE))
    outside = [n for n in range(5) if Pattern.OUTSIDE in views["p0", "s", str(n)].patterns]
    assert outside == [1, 3, 4]
    own = context_reliance([one for one in judgments if one.annotator == "annotator-1"], views)
    assert (own.outside.rejected, own.outside.candidates) == (3, 3)
    assert (own.elsewhere.rejected, own.elsewhere.candidates) == (0, 2)
    assert own.rise == 1.0
    other = context_reliance([one for one in judgments if one.annotator == "annotator-2"], views)
    assert other.rise == pytest.approx(1 / 3)
    assert context_reliance([], views).rise is None


def test_strictness_is_reported_against_each_other_annotator() -> None:
    judgments = all_said("NNLNN", "LLLLN", "NNL  ")
    figures = figures_of(
        "annotator-1", judgments, comparisons_of(judgments)["annotator-1"], views_of(judgments, corpus_of(BRIDGE))
    )
    rows = [
        (row.other, row.compared, row.own_links, row.other_links, row.stricter, row.more_lenient)
        for row in figures.strictness
    ]
    assert rows == [("annotator-2", 5, 1, 4, 3, 0), ("annotator-3", 3, 1, 1, 0, 0), ("all others", 8, 2, 5, 3, 0)]


def test_cases_are_bounded_seeded_and_spread_over_pairs_and_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = corpus_of(BRIDGE, pairs=6)
    judgments = all_said("LNLNN", "NLNLL", pairs=6)
    chosen = choose_cases("run", judgments, corpus)
    assert len(chosen) == 12
    assert chosen == choose_cases("run", judgments[::-1], corpus)
    assert {pattern for case in chosen for pattern in case.patterns} == {
        pattern for view in views_of(judgments, corpus).values() for pattern in view.patterns
    }
    assert all(1 <= sum(case.pair == f"p{n}" for case in chosen) <= 4 for n in range(6))
    assert [case.pair for case in chosen] == sorted(case.pair for case in chosen)
    assert len({case.key for case in chosen}) == 12
    assert not {case.key for case in chosen} & {case.key for case in choose_cases("other", judgments, corpus)}
    monkeypatch.setattr(feedback, "SEED", 2)
    assert chosen != choose_cases("run", judgments, corpus)


def test_a_case_shows_votes_without_annotators_or_methods() -> None:
    judgments = [said(1, 1, "N", comment="who is it?"), said(2, 1, "L"), said(1, 0, "L"), said(2, 0, "L")]
    (case,) = choose_cases("run", judgments, corpus_of(BRIDGE))
    assert (case.target, [one.label for one in case.opinions]) == ("1", [Label.LINK, Label.NO_LINK])
    assert [one.comment for one in case.opinions] == ["", "who is it?"]
    swapped = [one.model_copy(update={"annotator": f"annotator-{3 - int(one.annotator[-1])}"}) for one in judgments]
    assert choose_cases("run", swapped, corpus_of(BRIDGE)) == [case]
    for word in (SECRET, "annotator"):
        assert word not in case.model_dump_json()


def test_cases_reach_the_coordinator_unchanged() -> None:
    hostile = "<b>bold</b> [a](http://x) *s* | `c`"
    judgments = [said(1, 0, "N", comment=hostile), said(2, 0, "L")]
    corpus = corpus_of([hostile, *BRIDGE])
    html = MarkdownIt("commonmark", {"html": True}).render(cases_text(choose_cases("r", judgments, corpus), corpus))
    assert html.count("&lt;b&gt;bold&lt;/b&gt; [a](http://x) *s* | `c`") == 2
    assert "There are none" in cases_text([], corpus)


def test_only_patterns_that_stand_out_are_drafted() -> None:
    corpus = corpus_of(BRIDGE, pairs=4)
    outside = all_said("LNLNL", "LLLLL", pairs=4)
    draft = draft_clarifications(1, outside, views_of(outside, corpus))
    assert "Evidence around the sentence" in draft
    assert "8 of 12 judgments" in draft
    assert "Short candidates" in draft
    assert "In doubt" in draft  # the shares of Link are 40 points apart
    last = all_said("LLLLN", "LLLLL", pairs=4)
    assert "Short candidates" not in draft_clarifications(1, last, views_of(last, corpus))
    agreed = all_said("LNLNL", "LNLNL", pairs=4)
    nothing = draft_clarifications(1, agreed, views_of(agreed, corpus))
    assert "nothing stands out in batch 1" in nothing
    assert finished(nothing) == ""
    one_slip = all_said("LNLNL", "LLLNL")
    assert finished(draft_clarifications(1, one_slip, views_of(one_slip, corpus))).count("**") <= 2


def test_without_a_pattern_the_most_frequent_disagreements_are_drafted() -> None:
    # They disagree equally often on every kind of candidate: kappa is low, and no kind stands out.
    corpus, differ = corpus_of(BRIDGE[:2] * 2, pairs=6), all_said("LNNL", "NLLN", pairs=6)
    compared = [one for part in comparisons_of(differ).values() for one in part]
    views = views_of(differ, corpus)
    assert standing_out(compared, views) == {}
    draft = draft_clarifications(1, differ, views)
    frequent = most_frequent(compared, views)
    assert 0 < len(frequent) <= 2
    for pattern, found in frequent.items():
        assert RULES[pattern] in draft
        assert f"{found.differing // 2} of {found.compared // 2} judgments" in draft
    assert "no more often than elsewhere" in draft
    assert finished(draft)


def test_a_case_can_become_an_example_in_the_guidelines_and_is_not_judged_again(run: Store) -> None:
    case = prepare_feedback(run, 1).cases[1]
    text = with_examples(run, 1, "Mine.", {2: Label.NO_LINK})
    corpus = read_corpus_from(run, NATURAL)
    pair = next(pair for pair in corpus.pairs if pair.id == case.pair)
    assert text.startswith("Mine.\n\n**Example: No Link**\n\n> A: “")
    html = MarkdownIt("commonmark").render(text)
    shown = re.sub(r"<[^>]+>", "", unescape(html))
    for sentence in (corpus.source_of(pair).text_of(case.source), corpus.target_of(pair).text_of(case.target)):
        assert " ".join(sentence.split()) in shown
    accept_feedback(run, 1, "Domain.", text, label_studio_round=True)
    assert "Example: No Link" in newest_guidelines(run, "")
    assert asked_cases(run, 1) == [one for one in prepare_feedback(run, 1).cases if one != case]
    assert with_examples(run, 1, "Same.", {}) == "Same."
    with pytest.raises(InputError, match="no borderline case 99"):
        with_examples(run, 1, "", {99: Label.LINK})


def test_a_case_is_settled_when_everyone_who_judged_it_agrees() -> None:
    judgments = all_said("LLL", "NNN")
    first, second, third = choose_cases("run", judgments, corpus_of(BRIDGE))
    answers = [
        *(again(first, 1, Label.LINK), again(first, 2, Label.LINK)),
        *(again(second, 1, Label.LINK), again(second, 2, Label.NO_LINK), again(third, 1, Label.LINK)),
    ]
    assert {at: one.label for at, one in settled(judgments, answers).items()} == {
        (first.pair, first.source, first.target): Label.LINK
    }


def test_notes_to_the_coordinator_never_reach_annotators() -> None:
    text = "> DRAFT: edit me\n\n**A rule.** Do this.\n\n> DRAFT, because of 3\n\n\n- a\n- b\n  > DRAFT too\n"
    assert finished(text) == "**A rule.** Do this.\n\n- a\n- b"


def test_guidelines_get_versions_and_batches_keep_theirs(run: Store) -> None:
    assert newest_guidelines(run, "Domain.") == "Domain."
    assert guidelines_for(run, 1, "Domain.") == "Domain."
    for _ in range(2):
        assert clarify(run, 1, "Be kind.") == 2
    assert guidelines_for(run, 1, "Domain, changed.") == "Domain."
    expected = "Domain.\n\n## Clarifications after batch 1\n\nBe kind.\n"
    assert guidelines_for(run, 2, "Domain, changed.") == newest_guidelines(run, "") == expected
    assert clarify(run, 2, "") == 2
    assert clarify(run, 2, "Be brief.") == 3
    assert guidelines_for(run, 3, "") == f"{expected}\n## Clarifications after batch 2\n\nBe brief.\n"
    assert run.manifest["guidelines"] == {"1": 1, "2": 2, "3": 3}
    assert version_of(run, 4) is None


def test_a_prepared_round_keeps_edits_and_reveals_no_method(run: Store) -> None:
    first = prepare_feedback(run, 1)
    assert list(first.memos) == ["annotator-1", "annotator-2"]
    assert 0 < len(first.cases) <= 12
    run.write_text("batches/1/feedback/draft.md", "> DRAFT edited\n\nMine.\n")
    assert prepare_feedback(run, 1).draft.endswith("Mine.\n")
    told = first.model_dump_json().lower()
    for word in ("retriever", "llm", "random", "distractor", "hybrid"):
        assert word not in told
    with pytest.raises(InputError, match="batches/7/judgments"):
        prepare_feedback(run, 7)


def test_the_first_acceptance_stands(run: Store) -> None:
    accepted = accept_feedback(run, 1, "Domain.", "> DRAFT x\n\nMine.", label_studio_round=True)
    assert (accepted.clarifications, accepted.edited, accepted.guidelines) == ("Mine.", True, 2)
    assert accept_feedback(run, 1, "Domain.", "Other.", label_studio_round=False) == accepted
    assert newest_guidelines(run, "").endswith("Mine.\n")
    draft = prepare_feedback(run, 2).draft
    assert draft.startswith("> DRAFT")
    assert not accept_feedback(run, 2, "", draft, label_studio_round=False).edited
    assert "DRAFT" not in newest_guidelines(run, "")


def test_nobody_answers_again_where_nobody_differs_and_nothing_is_clarified(run: Store) -> None:
    for batch, said, is_held in ((1, "> DRAFT nothing stands out", False), (2, "Be brief.", True)):
        judgments = [one for one in judged_in(run, batch) if one.annotator == "annotator-1"]
        run.write_records(f"batches/{batch}/judgments.jsonl", judgments)
        assert prepare_feedback(run, batch).cases == ()
        assert accept_feedback(run, batch, "Domain.", said, label_studio_round=True).label_studio_round == is_held


def again(case: Case, who: int, label: Label) -> SecondAnswer:
    where = {"pair": case.pair, "source": case.source, "target": case.target}
    return SecondAnswer(batch=1, annotator=f"annotator-{who}", label=label, **where)


def test_the_outcome_counts_resolved_changed_and_missing_answers() -> None:
    judgments = all_said("LLL", "NNN")
    cases = choose_cases("run", judgments, corpus_of(BRIDGE))
    link, no = Label.LINK, Label.NO_LINK
    answers = [
        *(again(cases[0], 1, link), again(cases[0], 2, link)),
        *(again(cases[1], 1, link), again(cases[1], 2, no)),
        *(again(cases[2], 1, no), again(cases[2], 9, no)),
    ]
    outcome = outcome_of(cases, judgments, answers, [Acknowledgement(batch=1, annotator="annotator-1", question=True)])
    assert (outcome.cases, outcome.answered, outcome.resolved) == (3, 2, 1)
    assert outcome.changed == {"annotator-1": 1, "annotator-2": 1}
    assert (outcome.acknowledged, outcome.missing) == (("annotator-1",), ("annotator-2",))
    assert outcome.questions == ("annotator-1",)


def test_second_answers_never_change_the_judgments(run: Store) -> None:
    before = run.read_text("batches/1/judgments.jsonl")
    case = prepare_feedback(run, 1).cases[0]
    end_feedback(run, 1, [again(case, who, Label.LINK) for who in (1, 2)], [])
    outcome = outcome_in(run, 1)
    assert outcome is not None
    assert outcome.resolved == 1
    end_feedback(run, 1, [], [])
    end_unasked(run, 1)
    assert outcome_in(run, 1) == outcome
    assert len(run.read_records("batches/1/feedback/answers.jsonl", SecondAnswer)) == 2
    assert run.read_text("batches/1/judgments.jsonl") == before


def test_nobody_is_missing_who_was_not_asked(run: Store) -> None:
    end_unasked(run, 1)
    assert outcome_in(run, 1) == FeedbackOutcome()
    assert outcome_in(run, 2) is None


def test_memos_of_one_batch_do_not_need_the_pools_of_others(run: Store) -> None:
    pools = [pool for pool in run.read_records("candidates.jsonl", Pool) if pool.batch == 1]
    first = prepare_feedback(run, 1).memos["annotator-1"]
    assert f"of {len(pools)} tasks" in first
    assert memos([], corpus_of(BRIDGE), []) == {}
