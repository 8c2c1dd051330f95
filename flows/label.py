"""Flow label: a learned linker of a run labels a corpus that nobody judges."""

from __future__ import annotations

from typing import Annotated

from prefect import flow
from pydantic import Field

from abcdlink.labels.parts import Sampling
from abcdlink.labels.records import Labels
from abcdlink.layout import safe
from abcdlink.stages.label import plan_labels
from abcdlink.store import existing_run
from flows.execution import AS_TASKS
from flows.parameters import LabelParameters, RunKey
from flows.ui.artifacts import key, table
from tasks import rankers
from tasks.approaches import label_part
from tasks.runner import run_parts, task_runner
from tasks.running import prefect_progress


@flow(name="label", flow_run_name="label {corpus} by {run}")
def label(
    run: RunKey, corpus: Annotated[str, Field(min_length=1)], labels: LabelParameters = LabelParameters()
) -> Labels:
    """Label a corpus of any size; started again, it does only the parts that are missing.

    Args:
        run: run key of a run with a learned linker.
        corpus: folder of the corpus or s3:// prefix, as `abcdlink import` writes it.
        labels: how it is labelled.
    """
    store = existing_run(run)
    name = labels.name or safe(corpus.rstrip("/").rpartition("/")[2])
    sampling = Sampling(floor=labels.floor)
    planned = AS_TASKS.step("plan labels", plan_labels, store, corpus, name, labels.linker, sampling)
    parts = [{"run": run, "labels": name, "part": part} for part in planned.open_parts]
    with task_runner() as runner:
        for _ in prefect_progress(run_parts(runner, label_part, parts), f"label {name}", len(parts)):
            pass
    rankers.forget()
    result = AS_TASKS.step("add up labels", planned.summary, labels.precision)
    table(key(run, "labels", name), [{"what": what, "count": count} for what, count in result.counted], result.text)
    return result
