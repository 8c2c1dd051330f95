"""Steps on the only batch of a small run: check on it, answer it, pull it, measure agreement."""

from __future__ import annotations

from abcdlink.interannotator.measures import keep_agreement
from abcdlink.judgments import Judgment, Pool
from abcdlink.layout import JUDGMENTS, POOLS, batch_file
from abcdlink.store import Store
from labelstudio_config.answers import anomalies_in
from labelstudio_config.pages.annotate import LinkingPage
from labelstudio_config.progress import ProjectProgress, progress_in
from labelstudio_config.projects import look_now
from labelstudio_config.run import not_said_yet
from tasks.projects import pull
from tests.helpers.fake_label_studio import ADA, FakeLabelStudio

RUN = "harbour"
SLUG = "batch-1"


def look(store: Store) -> tuple[ProjectProgress, list[str]]:
    """Check once, as the flow does; returns the progress and anything reported for the first time."""
    pushed, snapshot = look_now(store, SLUG)
    said = not_said_yet(store, SLUG, anomalies_in(snapshot, str))
    return progress_in(snapshot, pushed.task_keys, pushed.overlap), said


def answer_all(server: FakeLabelStudio, keys: tuple[str, ...], *users: int, but: tuple[str, ...] = ()) -> None:
    for key in keys:
        for user in users:
            if key not in but:
                server.answer(key, user, "Link" if user == ADA else "No Link")


def pulled(store: Store) -> list[Judgment]:
    return store.read_records(batch_file(1, JUDGMENTS), Judgment)


def finish(store: Store) -> None:
    assert look(store)[0].complete
    pull.fn(RUN, LinkingPage(batch=1, overlap=2))
    keep_agreement(store, 1, 2)


def key_of(store: Store, judgment: Judgment) -> str:
    pools = {(pool.pair, pool.source): pool.key for pool in store.read_records(POOLS, Pool)}
    return pools[judgment.pair, judgment.source]
