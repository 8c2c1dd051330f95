"""``abcdlink reproduce`` on the real data: which printed figures it reproduces."""

from __future__ import annotations

from abcdlink.reproduction import reproduce
from tests.helpers.command_line import call, called


def test_every_computable_figure_matches_the_paper(shared_data):
    result = reproduce(shared_data.whole(), ["bm25"])
    tables = {figure.table for figure in result.compared}
    human = {"acceptance", "kappa", "true_recall", "true_recall_pool", "link_clusters"}
    assert tables == {"dataset_stats", "retrieval", *human}
    assert sum(figure.table == "retrieval" for figure in result.compared) == 18
    # Kappa of the second batch is 0.6262, which the paper truncates instead of rounding.
    different = [(figure.table, figure.row, figure.difference) for figure in result.compared if figure.difference]
    assert different == [("kappa", "batch 2", 0.01)]
    sample = [figure for figure in result.figures if figure.dataset == "REVIEWS-F1000" and figure.measure[:2] == "F1"]
    assert [round(figure.ours, 2) for figure in sample] == [62.12, 52.42, 36.15, 27.63, 20.43, 12.60]
    assert {figure.remark for figure in sample} == {"3 of 211 pairs"}


def test_the_command_prints_figures_and_gaps(shared_data):
    command = ("reproduce", shared_data.whole(), "--retrievers", "bm25")
    shown = call(*command)
    for part in (
        "45.03",
        "62.12",
        "no folder reviews_synth",
        "no LLM endpoint is set",
        "first 60 pairs",
        "59 of 60 figures",
    ):
        assert part in shown
    value = called(*command)
    assert (value["equal"], value["compared"]) == (59, 60)
