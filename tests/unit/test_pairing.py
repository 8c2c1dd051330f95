"""Pairing unpaired documents by metadata, date and similarity, and what is left out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus import Corpus, Document
from abcdlink.pairing import PairingRule, PairVerdict, Proposed, paired, propose
from tests.helpers.builders import corpus, document

BRIDGE = "The old bridge over the river closed on Monday after an inspection found cracks in its pillars."
REPORT = "Inspectors had seen cracks in the pillars of the river crossing, so the town shut the bridge."
FLOOD = "Heavy rain flooded shops and cellars in the valley, and firefighters pumped water for hours."
CHESS = "The champion won the final game of the chess tournament with the black pieces."


def make(name: str, text: str, **meta: str) -> Document:
    return document(name, [text]).model_copy(update={"meta": meta})


def of(*documents: Document) -> Corpus:
    return corpus([], *documents)


def found(documents: Corpus, **rule: object) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in propose(documents, PairingRule.model_validate(rule), "en").pairs()]


def test_of_several_versions_of_a_story_only_the_last_is_paired():
    update = make("a-2", f"{REPORT} Two people were hurt.", by="a", day="2026-03-02T09:00")
    documents = of(
        update,
        make("a-1", REPORT, by="a", day="2026-03-02T06:00"),
        make("b-1", BRIDGE, by="b", day="2026-03-02"),
    )
    rule = {"date": "day", "days": 0, "most": 3, "sources": {"by": ["a"]}, "targets": {"by": ["b"]}}
    assert set(found(documents, **rule)) == {("a-2", "b-1"), ("a-1", "b-1")}
    assert found(documents, reprint=0.5, **rule) == [("a-2", "b-1")]
    refused = propose(documents, PairingRule.model_validate({**rule, "reprint": 0.5}), "en").refused
    assert [one.why for one in refused] == ["document 'a-1': 'a-2' is a later version of it"]


def test_a_target_may_have_many_sources():
    issues = [make(f"i{n}", REPORT, kind="issue", version="2") for n in range(12)]
    documents = of(*issues, make("notes", BRIDGE, kind="release", version="2"))
    roles = {"sources": {"kind": ["issue"]}, "targets": {"kind": ["release"]}}
    assert len(found(documents, by=["version"], most=12, **roles)) == 12


def test_reviews_are_paired_with_their_paper():
    documents = of(
        make("r1", CHESS, paper="a", kind="review"),
        make("a", BRIDGE, paper="a", kind="paper"),
        make("r2", REPORT, paper="a", kind="review"),
        make("r3", REPORT, paper="b", kind="review"),
        make("b", FLOOD, paper="b", kind="paper"),
        make("x", FLOOD, kind="paper"),
    )
    roles = {"sources": {"kind": ["review"]}, "targets": {"kind": ["paper"]}}
    assert found(documents, by=["paper"], **roles) == [("r2", "a"), ("r3", "b")]
    assert found(documents, by=["paper"], most=2, **roles) == [("r2", "a"), ("r1", "a"), ("r3", "b")]
    assert [refusal.where for refusal in propose(documents, PairingRule(by=("paper",)), "en").refused] == [
        "document 'x'"
    ]


def test_articles_on_one_event_are_paired_within_days_with_the_earlier_as_source():
    documents = of(
        make("late", BRIDGE, published="2020-05-04"),
        make("early", REPORT, published="2020-05-02T08:30:00"),
        make("much-later", REPORT, published="2020-06-02"),
        make("other", CHESS, published="2020-05-03"),
        make("undated", BRIDGE, published="May"),
    )
    rule = {"date": "published", "days": 3, "floor": 0.05}
    assert found(documents, **rule) == [("early", "late")]
    (refusal,) = propose(documents, PairingRule.model_validate(rule), "en").refused
    assert (refusal.where, refusal.reason) == ("document 'undated'", "its published 'May' is not a date")


def test_too_close_reprinted_and_too_distant_pairs_are_shown_and_left_out():
    copy = f"{BRIDGE} The mayor spoke."
    documents = of(make("a", BRIDGE), make("copy", copy), make("b", REPORT), make("c", CHESS))
    by_runs = propose(documents, PairingRule(floor=0.05, reprint=0.3, most=3), "en")
    verdicts = {(one.source, one.target): one.verdict for one in by_runs.proposed}
    assert verdicts["a", "copy"] is PairVerdict.REPRINT
    assert verdicts["a", "b"] is PairVerdict.PAIRED
    assert verdicts["a", "c"] is PairVerdict.TOO_FAR
    by_cosine = propose(documents, PairingRule(floor=0.05, ceiling=0.8, most=3), "en")
    assert {(one.source, one.target): one.verdict for one in by_cosine.proposed}["a", "copy"] is PairVerdict.TOO_NEAR
    assert {one.verdict for one in by_runs.examples()} == {PairVerdict.PAIRED, PairVerdict.REPRINT, PairVerdict.TOO_FAR}
    made = paired(documents, by_runs)
    assert len(made.documents) == 4
    assert [(pair.kind.value, pair.links) for pair in made.pairs] == [("natural", None)] * len(made.pairs)


texts = st.sampled_from([BRIDGE, REPORT, FLOOD, CHESS, f"{BRIDGE} {FLOOD}", "* * *"])


@given(
    st.lists(st.tuples(texts, st.sampled_from("xy"), st.integers(1, 28)), min_size=1, max_size=12),
    st.floats(0.01, 0.6),
    st.floats(0.6, 1),
    st.integers(1, 3),
    st.integers(0, 5),
)
def test_every_pair_satisfies_the_rule(drawn, floor, ceiling, most, days):
    documents = of(
        *(make(f"d{n}", text, topic=topic, day=f"2020-02-{day:02}") for n, (text, topic, day) in enumerate(drawn))
    )
    rule = PairingRule(by=("topic",), date="day", days=days, floor=floor, ceiling=ceiling, reprint=0.9, most=most)
    pairing = propose(documents, rule, "en")
    pairs: list[Proposed] = [one for one in pairing.proposed if one.verdict is PairVerdict.PAIRED]
    for one in pairs:
        source, target = documents.documents[one.source], documents.documents[one.target]
        assert source.meta["topic"] == target.meta["topic"]
        assert abs(int(source.meta["day"][-2:]) - int(target.meta["day"][-2:])) <= days
        assert (source.meta["day"], source.id != target.id) <= (target.meta["day"], True)
        assert floor - 1e-4 <= one.similarity <= ceiling + 1e-4
        assert one.shared < 0.9
    assert len({frozenset((one.source, one.target)) for one in pairs}) == len(pairs)
    assert all(sum(one.target == name for one in pairs) <= most for name in documents.documents)
