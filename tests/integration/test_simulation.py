"""Programs annotate on a real Label Studio server, and are never mistaken for people."""

from __future__ import annotations

import pytest

from abcdlink.corpus.io import write_corpus_to
from abcdlink.errors import ServiceError
from abcdlink.judgments import Label
from abcdlink.layout import NATURAL, POOLS
from abcdlink.store import Store, open_run
from labelstudio_config.client import Client
from labelstudio_config.pages.annotate import batch_title
from labelstudio_config.simulate import Mistakes, gold_of, simulate_annotators, simulate_batch
from tests.helpers.annotation import Run, make_run, pushed
from tests.helpers.command_line import called
from tests.helpers.homes import configure
from tests.helpers.label_studio_server import LabelStudioServer
from tests.helpers.pulls import keys_of, progress_of, pull_batch, push_batch


def stored(run: Run) -> Store:
    """Write a run's pools and corpus to its folder, where the commands look for them."""
    store = open_run(run.key)
    store.write_records(POOLS, run.pools)
    write_corpus_to(store, NATURAL, run.corpus)
    store.note("counts", {"pools": len(run.pools)})
    return store


def test_simulated_annotators_do_both_batches_and_are_marked_as_simulated(
    client: Client, label_studio: LabelStudioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tasks=16, batches=2)
    store, server = stored(run), (label_studio.url, label_studio.token)
    with pytest.raises(ServiceError, match=r"no project .*push it again"):
        simulate_batch(store, *server, batch=1)
    assert "simulated" not in store.manifest
    pushed(client, run, 1)
    pushed(client, run, 2)
    first = simulate_batch(store, *server, batch=1)
    accounts = ["simulated-1@simulated.invalid", "simulated-2@simulated.invalid"]
    assert first.submitted == dict.fromkeys(accounts, 8)
    assert store.manifest["simulated"] == {"accounts": accounts, "batches": [1]}

    configure(monkeypatch, label_studio_url=label_studio.url, label_studio_token=label_studio.token)
    assert called("simulate", run.key, "--batch", "2")["submitted"] == dict.fromkeys(accounts, 8)
    assert store.manifest["simulated"] == {"accounts": accounts, "batches": [1, 2]}

    one = pull_batch(client, run.key, 1, run.pools)
    two = pull_batch(client, run.key, 2, run.pools, one.annotators)
    for batch, result in ((1, one), (2, two)):
        assert progress_of(client, batch_title(run.key, batch), keys_of(run.pools, batch), overlap=2).complete
        assert [(a.annotator, a.account, a.simulated) for a in result.annotators] == [
            ("annotator-1", accounts[0], True),
            ("annotator-2", accounts[1], True),
        ]
        assert len(result.judgments) == 8 * 3 * 2
        assert result.anomalies == []
        assert all(j.seconds for j in result.judgments)
        # In these runs a sentence links only to its copy.
        right = sum((j.label is Label.LINK) == (j.source == j.target) for j in result.judgments)
        assert right >= 0.8 * len(result.judgments)


def test_simulated_annotators_find_candidates_by_id_and_submit_only_once(
    client: Client, label_studio: LabelStudioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, server = make_run(tasks=4), (label_studio.url, label_studio.token)
    gold = gold_of(run.pools, run.corpus)
    monkeypatch.setattr("labelstudio_config.simulate.mistakes_of", lambda *_: Mistakes(0, 0))
    # The page shows the candidates in a different order from the pools.
    turned = [pool.model_copy(update={"candidates": pool.candidates[::-1]}) for pool in run.pools]
    push_batch(client, run.key, 1, turned, run.corpus, run.domain)
    simulate_annotators(*server, run.key, 1, gold, accounts=1)
    judgments = pull_batch(client, run.key, 1, run.pools).judgments
    assert len(judgments) == 4 * 3
    assert all((j.label is Label.LINK) == (j.source == j.target) for j in judgments)
    again = simulate_annotators(*server, run.key, 1, gold, accounts=1)
    assert again.submitted == {"simulated-1@simulated.invalid": 0}


def test_a_task_of_another_batch_stops_the_simulation(client: Client, label_studio: LabelStudioServer) -> None:
    run = make_run(tasks=2)
    pushed(client, run)
    key = run.pools[1].key
    gold = {name: links for name, links in gold_of(run.pools, run.corpus).items() if name != key}
    with pytest.raises(ServiceError, match=key):
        simulate_annotators(label_studio.url, label_studio.token, run.key, 1, gold)
