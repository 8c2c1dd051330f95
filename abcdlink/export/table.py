"""The released ``annotations.csv`` (Basch et al., EACL 2026), which other programs for it read."""

from __future__ import annotations

import csv
import io

from abcdlink.export.dataset import Dataset, Files
from abcdlink.judgments import Label, LabelRule

IDS = ["document_id", "source_id", "target_id", "method"]
TEXTS = ["source_sentence", "target_sentence", "agreement", "both_link"]
FEWEST_ANNOTATORS = 2
"""The layout has two columns for annotators even where one person judged."""


def files(dataset: Dataset) -> Files:
    """Return ``annotations.csv``: the released columns, more annotators where there are more than two.

    ``agreement`` and ``both_link`` say what they say in the released table, whatever the rule; by another
    rule than ``both`` one more column, ``<rule>_link``, has the label. Cells are empty where there is none.
    """
    names = dataset.annotators + [""] * (FEWEST_ANNOTATORS - len(dataset.annotators))
    columns = [f"annotator_{number}" for number, _ in enumerate(names, start=1)]
    by_rule = [] if dataset.rule is LabelRule.BOTH else [f"{dataset.rule}_link"]
    rows: list[list[object]] = [[*IDS, *columns, *TEXTS, *by_rule]]
    for c in dataset.candidates:
        said = set(c.judgments.values())
        complete = len(c.judgments) >= dataset.needed
        rows.append(
            [
                *(c.pair, c.source, c.target, c.method),
                *(c.judgments.get(name, "") for name in names),
                *(c.source_text, c.target_text),
                *((len(said) == 1, said == {Label.LINK}) if complete else ("", "")),
                *("" if c.link is None else c.link for _ in by_rule),
            ]
        )
    return Files({"annotations.csv": _csv(rows).encode()})


def _csv(rows: list[list[object]]) -> str:
    r"""Return the rows as the released table has them: commas, ``\n``, quotes where they are needed."""
    buffer = io.StringIO(newline="")
    plain = csv.writer(buffer, lineterminator="\n")
    quoting = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        # Python 3.11 and 3.12 leave a lone carriage return without quotes, and would read it as a new row.
        (quoting if any("\r" in str(cell) for cell in row) else plain).writerow(row)
    return buffer.getvalue()
