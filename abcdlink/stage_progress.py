"""The stages of a run before annotation, and how far each is, from the run's folder alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from abcdlink.evaluation.shortlist import Shortlist
from abcdlink.layout import BENCHMARK, GENERATION, NATURAL, POOL_COUNTS, SHORTLIST, SYNTHETIC, VALIDATION
from abcdlink.linking.records import ApproachKind
from abcdlink.stages.decide import PART_SIZE as PAIRS_PER_DECISION
from abcdlink.stages.generate import PART_SIZE as DOCUMENTS_PER_PART
from abcdlink.stages.rank import RankPlan
from abcdlink.stages.shortlist import is_quick
from abcdlink.store import Store

STAGES = {
    "corpus": f"{NATURAL}/pairs.jsonl",
    "generate": GENERATION,
    "validate": VALIDATION,
    "benchmark": BENCHMARK,
    "shortlist": SHORTLIST,
    "candidates": POOL_COUNTS,
}
"""Stage -> the file that it ends with."""


def stages_of(store: Store) -> list[str]:
    """Return the stages of a run before annotation, in their order."""
    skipped = {"generate", "validate", "benchmark"} if is_quick(store.manifest) else set()
    return [name for name in STAGES if name not in skipped]


def progress_of(store: Store, stage: str) -> Iterator[str]:
    """Say how far a stage is, in documents or pairs, if the run's folder tells."""
    inputs: dict[str, Any] = store.manifest.get("inputs", {})
    if stage == "generate":
        total = inputs.get("generate", {}).get("documents", 0)
        done = min(total, DOCUMENTS_PER_PART * len(store.folder.names("generated/part-")))
        if total:
            yield f"{done} of {total} documents generated"
        return
    corpus = {"benchmark": SYNTHETIC, "candidates": NATURAL}.get(stage)
    if corpus is None:
        return
    names = store.folder.names(f"rankings/{corpus}/")
    for plan_file in [name for name in names if name.endswith("/plan.json")]:
        plan, folder = store.read_record(plan_file, RankPlan), plan_file.removesuffix("plan.json")
        ranked = {
            int(found[1])
            for name in names
            if (found := re.search(r"part-(\d+)\.parquet$", name)) and name.startswith(folder)
        }
        pairs = [len(part) for part in plan.parts]
        done = sum(count for number, count in enumerate(pairs) if number in ranked)
        if done < sum(pairs):
            yield f"{plan_file.split('/')[2]} has ranked {done} of {sum(pairs)} pairs"
    if corpus == NATURAL:
        total = int(store.manifest.get("corpus", {}).get("pairs", 0))
    else:
        total = store.read_json(GENERATION, dict[str, Any]).get("pairs", 0) if store.exists(GENERATION) else 0
    decided = _proposers(store) if corpus == NATURAL else {}
    for name in store.folder.names(f"decisions/{corpus}/"):
        decided[name.split("/")[2]] = decided.get(name.split("/")[2], 0) + PAIRS_PER_DECISION
    for approach, done in decided.items():
        if done < total:
            yield f"{approach} has decided {done} of {total} pairs"


def _proposers(store: Store) -> dict[str, int]:
    """Return the shortlisted approaches with an LLM, none of whose decisions is written yet."""
    approaches = store.read_record(SHORTLIST, Shortlist).approaches if store.exists(SHORTLIST) else ()
    return {approach.name: 0 for approach in approaches if approach.kind is ApproachKind.LLM}
