"""The data card: what is in a data set, how it was made, how far its annotators agree, and its limits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from hashlib import blake2b
from typing import Any

from abcdlink import __version__
from abcdlink.domain import Domain, domain_of
from abcdlink.export.dataset import Dataset, natural_order
from abcdlink.feedback.guidelines import newest_guidelines
from abcdlink.interannotator.measures import agreement
from abcdlink.judgments import BOTH, MEANINGS, RANDOM, LabelRule, Provenance
from abcdlink.layout import SHORTLIST
from abcdlink.templates import markdown_environment

CONFIGURATIONS = {"links": "data/links.parquet", "sentences": "data/sentences.parquet"}
"""Name -> file, as ``load_dataset(folder, name)`` finds it; the first is loaded when no name is given."""

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
LICENCE_IDENTIFIER = re.compile(r"[a-z0-9][a-z0-9.-]*")
HEADING = re.compile(r"^(?=#{1,4} )", re.MULTILINE)


def card(dataset: Dataset, tables: Mapping[str, bytes]) -> str:
    """Return the data card in Markdown with its head in YAML; ``tables``: the files by the names of configurations.

    Raises:
        InputError: when the run's domain is not found.
    """
    import yaml

    domain = domain_of(dataset.store)
    decided = [c for c in dataset.candidates if c.provenance_adjudicated is Provenance.ADJUDICATED]
    methods = _methods(dataset)
    environment = markdown_environment("abcdlink.export")
    environment.filters |= {
        "cell": _cell,
        "figure": partial(_number, form=".3f"),
        "percent": partial(_number, form=".1%"),
    }
    return environment.get_template("card.md.j2").render(
        head=yaml.safe_dump(_head(dataset, domain, tables), allow_unicode=True, sort_keys=False, width=1_000),
        domain=domain.settings,
        # Their headings two levels lower, below the card's own.
        guidelines=HEADING.sub("##", newest_guidelines(dataset.store, domain.guidelines)),
        dataset=dataset,
        statistics=_statistics(dataset),
        history=dataset.store.manifest.get("corpus", {}).get("history", []),
        agreement=agreement(dataset.judgments, dataset.needed),
        methods=methods,
        approaches=2 if BOTH in methods else len(methods.keys() - {RANDOM}),
        random=RANDOM in methods,
        provenance=Counter((c.provenance.value, _said(c.link)) for c in dataset.candidates),
        meanings=MEANINGS,
        by_rule=_by_rule(dataset),
        adjudicated=len(decided),
        adjudicators=sorted({one.adjudicator for one in dataset.adjudications}, key=natural_order),
        consensus=sum(c.consensus is True for c in decided),
        version=__version__,
    )


def _head(dataset: Dataset, domain: Domain, tables: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the head that the Hugging Face hub and ``datasets`` read.

    ``datasets`` keeps what it has loaded by the name of the folder and the configurations: each describes itself by a
    hash of its table, so that it never takes another data set's, or one exported before, for this one.
    """
    rows = len(dataset.candidates)
    simulated = {"annotations_creators": ["machine-generated"]} if dataset.simulated else {}
    return {
        **_licence(dataset.licence),
        "language": [dataset.store.language],
        "pretty_name": domain.settings.title,
        **simulated,
        "task_categories": ["sentence-similarity"],
        "size_categories": [next((name for size, name in SIZES if rows < size), "n>1M")],
        "tags": ["cross-document", "sentence-linking", *(["simulated-annotators"] if dataset.simulated else [])],
        "configs": [
            {
                "config_name": name,
                "description": blake2b(tables[name], digest_size=8).hexdigest(),
                "data_files": [{"split": "train", "path": path}],
                "default": index == 0,
            }
            for index, (name, path) in enumerate(CONFIGURATIONS.items())
        ],
    }


def _licence(licence: str) -> dict[str, str]:
    """Return the head's fields for a licence; anything but an identifier is ``other`` with a name."""
    if not licence:
        return {}
    if LICENCE_IDENTIFIER.fullmatch(licence):
        return {"license": licence}
    return {"license": "other", "license_name": re.sub(r"[^a-z0-9.]+", "-", licence.lower()).strip("-")}


def _statistics(dataset: Dataset) -> dict[str, int]:
    """Return what is counted, in words."""
    candidates = dataset.candidates
    return {
        "pairs of documents": len(dataset.judged.pairs),
        "documents": len(dataset.judged.documents),
        "sentences": sum(len(document.sentences) for document in dataset.judged.documents.values()),
        "source sentences with candidates": len({(c.pair, c.source) for c in candidates}),
        "judged candidates": len(candidates),
        "links": sum(c.link is True for c in candidates),
        "source sentences with a link": len({(c.pair, c.source) for c in candidates if c.link}),
        "candidates without a label": sum(c.link is None for c in candidates),
        "judgments": sum(len(c.judgments) for c in candidates),
        "annotators": len(dataset.annotators),
    }


def _by_rule(dataset: Dataset) -> dict[LabelRule, Counter[str]]:
    """Return rule -> candidates by label; ``adjudicated`` only where somebody decided."""
    rules = [rule for rule in LabelRule if rule is not LabelRule.ADJUDICATED or dataset.adjudications]
    return {rule: Counter(_said(getattr(c, f"link_{rule}")) for c in dataset.candidates) for rule in rules}


def _methods(dataset: Dataset) -> dict[str, str]:
    """Return method -> which approach it stands for, if the run's shortlist tells."""
    named = {BOTH: "both approaches", RANDOM: "drawn at random from the rest of the target document"}
    if dataset.store.exists(SHORTLIST):
        from abcdlink.evaluation.shortlist import Shortlist

        shortlist = dataset.store.read_record(SHORTLIST, Shortlist)
        named |= {label: approach.name for label, approach in shortlist.labels.items()}
    return {method: named.get(method, "") for method in dict.fromkeys(c.method for c in dataset.candidates)}


def _said(link: bool | None) -> str:
    return {True: "link", False: "no link", None: "no label"}[link]


def _cell(text: object) -> str:
    """Return a text as one cell of a Markdown table."""
    return " ".join(str(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").split())


def _number(value: float | None, form: str) -> str:
    return "\N{EN DASH}" if value is None else format(value, form)
