"""Prefect flows: what runs when."""

import os

if _flow_run := os.environ.get("PREFECT__FLOW_RUN_ID"):
    # This is the process of a flow run, which Prefect sets to Running after it has imported the flow. From now until it
    # ends it holds a lock, by which the watcher sees at once that it was killed.
    from abcdlink.locks import FLOW, hold_for_life

    hold_for_life(f"{FLOW}{_flow_run}")
