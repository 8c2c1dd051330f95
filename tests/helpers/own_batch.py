"""A batch in a real Label Studio in which each of two annotators has their own project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from abcdlink.corpus.io import write_corpus_to
from abcdlink.layout import NATURAL, POOLS
from abcdlink.settings import get_settings
from abcdlink.store import Store, open_run
from labelstudio_config.answers import anomalies_in
from labelstudio_config.pages.annotate import LinkingPage
from labelstudio_config.progress import ProjectProgress, progress_in
from labelstudio_config.projects import look_now
from labelstudio_config.run import PushedProject, read_pushed
from tasks.projects import push
from tests.helpers.annotation import make_run
from tests.helpers.homes import configure
from tests.helpers.label_studio_server import LabelStudioServer

SLUG = "batch-1"
PAGE = LinkingPage(batch=1, overlap=2)


class OwnBatch(NamedTuple):
    """The run's folder, and what was pushed."""

    store: Store
    pushed: PushedProject

    def look(self) -> tuple[ProjectProgress, list[str]]:
        """Return the progress, and what looks wrong."""
        pushed, snapshot = look_now(self.store, SLUG)
        return progress_in(snapshot, pushed.task_keys, pushed.overlap), anomalies_in(snapshot, str)


@contextmanager
def own_batch(server: LabelStudioServer, tasks: int) -> Iterator[OwnBatch]:
    """Push a batch with this many tasks."""
    with pytest.MonkeyPatch.context() as patch:
        configure(patch, label_studio_url=server.url, label_studio_token=server.token)
        run = make_run(tasks=tasks)
        store = open_run(run.key)
        write_corpus_to(store, NATURAL, run.corpus)
        store.write_records(POOLS, run.pools)
        push.fn(run.key, "news", PAGE)
        yield OwnBatch(store, read_pushed(store, SLUG))
    get_settings.cache_clear()
