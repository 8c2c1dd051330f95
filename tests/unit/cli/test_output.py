"""Tables of the command line: nothing that a reader needs is cut off, however narrow the terminal."""

from __future__ import annotations

import io

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from abcdlink.cli.output import print_table

WORD = st.text("ab[1]-@", min_size=1, max_size=24)
ROWS = st.integers(2, 7).flatmap(lambda n: st.lists(st.lists(WORD, min_size=n, max_size=n), min_size=1, max_size=3))


@settings(max_examples=40)
@given(ROWS, st.integers(20, 160), st.lists(st.sampled_from(["cost, at most", "F1", "calls"]), min_size=7, max_size=7))
def test_names_figures_and_title_are_never_cut_off(rows: list[list[str]], width: int, heads: list[str]) -> None:
    told = io.StringIO()
    title = "what the LLMs have still to be asked, in a title that is longer than many a table"
    console = Console(file=told, width=width)
    print_table(title, heads[: len(rows[0])], rows, to=console)
    shown = told.getvalue()
    assert title in shown
    for row in rows:
        assert all(f" {cell} " in shown for cell in row)
    for word in " ".join(heads[: len(rows[0])]).split():
        assert word in shown
