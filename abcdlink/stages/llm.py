"""What a run says of the LLM that it asked."""

from __future__ import annotations

from abcdlink.llm.client import LLM
from abcdlink.store import Store


def note_llm(store: Store, asked_for: str, llm: LLM) -> None:
    """Note in the manifest's section ``llm`` by which model, server and parameters questions were answered.

    Args:
        store: the run.
        asked_for: what the questions were for; each has its own entry, since another model may serve it.
        llm: the one that was asked; its key is not noted.
    """
    # What was found out about the server is known to it for a day only.
    store.note_in("llm", asked_for, {**store.manifest.get("llm", {}).get(asked_for, {}), **llm.describe()})
