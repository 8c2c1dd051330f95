"""Parquet: the judged candidates, and the sentences around them, as tables."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from abcdlink.export.candidates import LabelledCandidate
from abcdlink.export.dataset import Dataset, Files
from abcdlink.judgments import LabelRule

if TYPE_CHECKING:
    import pyarrow as pa


def files(dataset: Dataset) -> Files:
    """Return ``links.parquet``."""
    return Files({"links.parquet": as_parquet(links_table(dataset.candidates))})


def links_table(candidates: list[LabelledCandidate]) -> pa.Table:
    """Return one row per candidate with the fields of ``LabelledCandidate``.

    ``judgments`` is a list of (annotator, label), since not every reader of Parquet knows maps.
    """
    import pyarrow as pa

    judgment = pa.struct([("annotator", pa.string()), ("label", pa.string())])
    by_rule = {f"link_{rule}": pa.bool_() for rule in LabelRule}
    flags = dict.fromkeys(("link", "consensus", "simulated"), pa.bool_())
    types = {"batch": pa.int32(), "judgments": pa.list_(judgment), **flags, **by_rule}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in LabelledCandidate.model_fields])
    rows = [
        {
            **candidate.model_dump(mode="json"),
            "judgments": [{"annotator": name, "label": label.value} for name, label in candidate.judgments.items()],
        }
        for candidate in candidates
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def sentences_table(dataset: Dataset) -> pa.Table:
    """Return one row per sentence of the judged pairs' documents: document, sentence, position from 0, text."""
    import pyarrow as pa

    schema = pa.schema(
        [("document", pa.string()), ("sentence", pa.string()), ("position", pa.int32()), ("text", pa.string())]
    )
    rows = [
        {"document": document.id, "sentence": sentence.id, "position": position, "text": sentence.text}
        for document in dataset.judged.documents.values()
        for position, sentence in enumerate(document.sentences)
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def as_parquet(table: pa.Table) -> bytes:
    """Return the table as the bytes of a Parquet file."""
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()
