"""Shape and validation on the released human-labelled reviews."""

from __future__ import annotations

from pathlib import Path

import pytest
from textstat import textstat

from abcdlink.corpus.formats import import_corpus
from abcdlink.corpus.io import read_corpus_from, write_corpus
from abcdlink.corpus.records import Corpus
from abcdlink.corpus.segmentation import get_segmenter
from abcdlink.domain import find_domain
from abcdlink.generation import Strategy
from abcdlink.judgment_file import read_judgment_file
from abcdlink.reproduction.human import with_accepted
from abcdlink.settings import get_settings
from abcdlink.stages.generate import Generating, plan_generation, run_generation
from abcdlink.stages.intake import take_corpus
from abcdlink.store import open_run
from abcdlink.validation import validate
from tests.conftest import SharedData
from tests.helpers.fake_llm import FakeLLM
from tests.helpers.thinking_llm import think


@pytest.fixture(scope="module")
def reviews(shared_data: SharedData) -> Corpus:
    """REVIEWS-HE with the links that both annotators accepted."""
    judgments = read_judgment_file(shared_data / "reviews_he" / "annotations.csv").judgments
    return with_accepted(import_corpus("abcd-link", shared_data / "reviews_he", get_segmenter()), judgments)


def test_a_shape_learned_from_the_reviews_is_met_within_15_percent(
    reviews: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, domain = tmp_path / "reviews", find_domain("reviews")
    write_corpus(reviews, folder)
    with FakeLLM(think, forms=("text",)) as server:
        server.use(monkeypatch)
        store = open_run("shape")
        take_corpus(store, str(folder), domain)
        plan = plan_generation(store, Generating(strategy=Strategy.DOCUMENT, seed=1, like=str(folder)))
        result = run_generation(store, domain, plan)
    get_settings.cache_clear()
    assert plan.shape.sentences == (11, 25)
    # The release has two documents that nobody annotated: they are in no pair, so both are targets.
    assert (result.pairs, result.refused) == (22, 0)
    told = {row.measure: (round(row.wanted, 2), round(row.reached, 2)) for row in result.shape}
    assert all(row.met for row in result.shape), told
    synthetic = read_corpus_from(store, "synthetic")
    assert len({len(synthetic.source_of(pair).sentences) for pair in synthetic.pairs}) > 5


def test_style_of_the_reviews(reviews: Corpus) -> None:
    found = validate(reviews, reviews, find_domain("reviews"))
    style = found.styles["natural"]
    assert len(style.documents) == 20
    assert style.mean("sentences") == pytest.approx(18.3)
    for name, value in zip(style.documents, style.values["flesch"], strict=True):
        text = " ".join(" ".join(one.split()) for one in reviews.documents[name].texts)
        assert value == textstat.flesch_reading_ease(text)
    assert all(value is not None and 30 < value < 300 for value in style.values["mtld"])
    # A corpus compared with itself: no difference.
    assert all(one.delta == 0 and one.interval[0] <= 0 <= one.interval[1] for one in found.differences)
    assert (found.counts["natural"].links, found.counts["natural"].clusters.largest) == (334, 4)
