"""A website that the coordinator visits starts nothing on their machine; our own pages work as intended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Response, expect
from playwright.sync_api import TimeoutError as NotInTime
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, PREFECT_UI_URL, temporary_settings

from abcdlink.corpus.io import read_corpus_from
from abcdlink.layout import NATURAL, batch_slug, feedback_slug
from abcdlink.settings import Settings
from abcdlink.stages.batch_preview import preview_of, review_of
from abcdlink.store import open_run
from abcdlink.waiting import PeopleProgress, Person, WaitsFor, keep_people_progress, wait_for
from abcdlink.whatnow import what_now
from flows.waiting import show_what_now as tell_what_now
from labelstudio_config.run import surroundings
from services.credentials import with_secrets
from services.health import free_port
from services.programs import prefect_api, prefect_url
from services.start import down, up
from tests.browser.window import picture
from tests.helpers.example_run import make_pools, proposed_run, take_in
from tests.helpers.homes import configure
from tests.helpers.waiting import until

FLOW = """
from pathlib import Path
from prefect import flow


@flow
def greet() -> None:
    Path({greeted!r}).touch()
"""
PREFECT_FILE = """
name: try
deployments:
  - name: greet
    entrypoint: {folder}/greeting.py:greet
    work_pool: {{name: abcdlink}}
  - name: start
    entrypoint: flows/bootstrap.py:start
    work_pool: {{name: abcdlink}}
  - name: annotate
    entrypoint: flows/annotate.py:annotate
    work_pool: {{name: abcdlink}}
"""
ATTACK = """
async ([api, command, authorization]) => {
    const told = [];
    const headers = {'Content-Type': 'application/json', ...(authorization && {Authorization: authorization})};
    const attempt = async (name, what) => {
        try { told.push(name + ': ' + await what()); } catch (error) { told.push(name + ': refused'); }
    };
    const body = {state: {type: 'SCHEDULED'}, job_variables: {command}};
    let deployment = '00000000-0000-0000-0000-000000000000';
    await attempt('read', async () => {
        const reply = await fetch(api + '/deployments/name/greet/greet', {headers});
        deployment = (await reply.json()).id || deployment;
        return reply.status;
    });
    const url = api + '/deployments/' + deployment + '/create_flow_run';
    await attempt('run', async () => {
        const reply = await fetch(url, {method: 'POST', headers, body: JSON.stringify(body)});
        return reply.status;
    });
    // Without a type of content no permission is asked for; the reply cannot be read, but the request is sent.
    await fetch(api + '/flow_runs/', {method: 'POST', mode: 'no-cors', body: new Blob([JSON.stringify(body)])})
        .catch(() => null);
    await attempt('events', () => new Promise((done, fail) => {
        const socket = new WebSocket(api.replace('http', 'ws') + '/events/in');
        socket.onopen = () => done('open');
        socket.onerror = fail;
    }));
    return told;
}
"""
REFUSED = ["read: refused", "run: refused", "events: refused"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the deployed flow, where files appear when something runs."""
    folder = tmp_path_factory.mktemp("flows")
    (folder / "greeting.py").write_text(FLOW.format(greeted=str(folder / "greeted")))
    (folder / "prefect.yaml").write_text(PREFECT_FILE.format(folder=folder))
    return folder


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[Settings]:
    """A running Prefect server with its worker; the other servers are elsewhere."""
    settings = Settings(
        home=tmp_path_factory.mktemp("home"),
        label_studio_url="http://label-studio.invalid",
        llm_base_url="http://llm.invalid/v1",
        prefect_port=free_port(),
    )
    up(settings, prefect_file=folder / "prefect.yaml")
    yield with_secrets(settings)
    down(settings)


@pytest.fixture
def visited(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """A page of another site."""
    (tmp_path / "index.html").write_text("<title>A page about bridges</title>")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"http://bridges.example:{site.server_address[1]}/index.html")
        yield page
        context.close()
        site.shutdown()


def coordinator(settings: Settings, browser: Browser, host: str = "127.0.0.1") -> Page:
    """A window of the Prefect UI, logged in."""
    context = browser.new_context(viewport={"width": 1366, "height": 900})
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(f"http://{host}:{settings.prefect_port}/deployments")
    page.fill("input[type=password]", settings.prefect_auth.get_secret_value())
    page.press("input[type=password]", "Enter")
    page.get_by_text("greet").first.wait_for()
    return page


def press(button: Locator, came: Callable[[], bool], wanted: str) -> None:
    """Press a button until something came of it.

    A page of Prefect may lose a press while it loads or checks a form, and reports a locked database as an error.
    """

    def pressed() -> bool:
        with suppress(NotInTime):
            button.click(timeout=5_000)
        for _ in range(50):
            if came():
                return True
            button.page.wait_for_timeout(100)
        return False

    until(pressed, wanted)


def show_what_now(page: Page, settings: Settings, run: str) -> None:
    """Open *What now* from a run's page, as the coordinator would."""
    page.goto(f"{prefect_url(settings)}/runs/flow-run/{run}")
    link = page.locator("a[href*='artifacts/artifact']", has_text="what-now").first
    press(page.get_by_text("Artifacts", exact=True).first, link.is_visible, "what-now among the artifacts of a run")
    press(link, page.get_by_role("heading", name="What now").is_visible, "the page of What now")


def basic(settings: Settings, page: Page) -> str:
    return "Basic " + str(page.evaluate("btoa", settings.prefect_auth.get_secret_value()))


def runs(settings: Settings) -> list[str]:
    return [run["name"] for run in prefect_api(settings).read("POST", "/flow_runs/filter", {})]


@pytest.mark.parametrize("knows_the_password", [False, True])
def test_another_sites_page_runs_nothing(machine, folder, visited, knows_the_password):
    owned = folder / "owned"
    authorization = basic(machine, visited) if knows_the_password else ""
    told = visited.evaluate(ATTACK, [f"{prefect_url(machine)}/api", f"touch {owned}", authorization])
    assert told == REFUSED
    assert runs(machine) == []
    assert not owned.exists()


def test_a_host_name_that_resolves_to_this_machine_does_not_get_in(machine, browser):
    context = browser.new_context()
    page = context.new_page()
    reply = page.goto(f"http://bridges.example:{machine.prefect_port}/api/health")
    assert reply is not None
    assert (reply.status, "Only pages and programs on this machine" in reply.text()) == (403, True)
    context.close()


def test_other_sites_cannot_frame_our_pages(machine, visited):
    visited.set_content(f"<iframe src='{prefect_url(machine)}/dashboard'></iframe>")
    frame = visited.frames[-1]
    frame.wait_for_load_state()
    assert "Prefect" not in frame.content()


def test_the_password_lets_one_start_flows_but_not_choose_commands(machine, folder):
    api = prefect_api(machine)
    deployment = api.read("GET", "/deployments/name/greet/greet")["id"]
    for variables in ({"command": "touch owned"}, {"env": {"PATH": "elsewhere"}}, {"working_dir": "/"}):
        body = {"state": {"type": "SCHEDULED"}, "job_variables": variables}
        reply = api.ask("POST", f"/deployments/{deployment}/create_flow_run", body)
        assert (reply.status_code, "not allowed" in reply.text) == (422, True)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_the_coordinator_logs_in_and_starts_a_flow_in_the_browser(machine, folder, browser, name):
    (folder / "greeted").unlink(missing_ok=True)
    page = coordinator(machine, browser, name)
    deployment = prefect_api(machine).read("GET", "/deployments/name/greet/greet")["id"]
    asked: list[Response] = []
    page.on("response", lambda reply: asked.append(reply) if reply.url.endswith("/create_flow_run") else None)
    page.goto(f"http://{name}:{machine.prefect_port}/deployments/deployment/{deployment}")
    quick = page.get_by_text("Quick run")
    press(page.get_by_role("button", name="Run", exact=True), quick.is_visible, "the menu of a deployment")
    press(quick, lambda: any(reply.ok for reply in asked), "a run that the page asked for")
    until((folder / "greeted").exists, "a flow that ran")
    page.context.close()


def test_the_start_form_refuses_bad_values_and_a_failed_run_says_how_to_continue(machine, browser):
    page, api = coordinator(machine, browser), prefect_api(machine)
    deployment = api.read("GET", "/deployments/name/start/start")["id"]
    page.goto(f"{prefect_url(machine)}/deployments/deployment/{deployment}/run")
    submit = page.get_by_role("button", name="Submit")
    missing = page.get_by_text("is a required property")
    press(submit, lambda: missing.count() > 0, "a form that is checked")
    for name in ("run", "corpus"):
        expect(page.get_by_text(f"'{name}' is a required property")).to_be_visible()
    picture(page, "form-start-empty")
    key, corpus = page.locator("textarea").nth(0), page.locator("textarea").nth(1)
    key.fill("spring 1")
    corpus.fill("/nowhere/corpus")
    press(submit, page.get_by_text("'spring 1' does not match").first.is_visible, "a bad key that is refused")
    expect(page.get_by_text("up to 80 letters, digits", exact=False)).to_be_visible()
    picture(page, "form-start-bad-key")
    of_start = {"deployments": {"id": {"any_": [deployment]}}}
    assert api.read("POST", "/flow_runs/filter", of_start) == []

    key.fill("spring")
    press(submit, lambda: "tab=Runs" in page.url, "a run that the form started")

    def failed():
        run, *_ = api.read("POST", "/flow_runs/filter", of_start)
        return run if run["state"]["name"] == "Failed" else None

    run = until(failed, "a run that failed")
    everything = api.read("POST", "/flow_runs/filter", {})
    assert [one["id"] for one in everything if one["parent_task_run_id"]] == [], "it failed before any subflow"

    def told():
        show_what_now(page, machine, run["id"])  # which is renewed after the run has its state
        return page.get_by_text("The flow start failed", exact=False).count()

    until(told, "What now of a run that failed")
    for part in ("The flow start failed", "No corpus at /nowhere/corpus", "abcdlink continue spring"):
        expect(page.get_by_text(part, exact=False).first).to_be_visible()
    picture(page, "what-now-failed")
    page.context.close()


def test_the_form_of_a_batch_waiting_for_go_changes_its_filters(machine, browser, monkeypatch):
    configure(monkeypatch, home=machine.home)
    store, api = proposed_run("looked-at"), prefect_api(machine)
    deployment = api.read("GET", "/deployments/name/annotate/annotate")["id"]
    asked = {"state": {"type": "SCHEDULED"}, "parameters": {"run": store.key, "annotation": {"overlap": 2}}}
    run = api.ask("POST", f"/deployments/{deployment}/create_flow_run", asked).json()["id"]

    def suspended():
        return api.read("GET", f"/flow_runs/{run}")["state"]["name"] == "Suspended"

    until(lambda: preview_of(store, 1) and suspended(), "a batch that waits for Go")
    page = coordinator(machine, browser)
    show_what_now(page, machine, run)
    expect(page.get_by_text("Batch 1 of 2 waits for your Go", exact=False).first).to_be_visible()
    picture(page, "what-now-go")
    page.goto(f"{prefect_url(machine)}/runs/flow-run/{run}")
    form = page.get_by_role("dialog")
    press(page.get_by_role("button", name="Resume"), form.is_visible, "the form of a waiting batch")
    before = preview_of(store, 1)
    expect(form.get_by_text(before.size, exact=False)).to_be_visible()
    picture(page, "form-go")
    form.locator("input[type=number]").fill("13")
    form.locator(".p-toggle__control").first.click()
    press(form.get_by_role("button", name="Submit"), form.is_hidden, "a form that is sent")
    until(lambda: review_of(store, 1).looks == 1 and suspended(), "a second preview")
    after = preview_of(store, 1)
    assert (after.filters.min_words, after.filters.exclude) == (13, before.filters.exclude)
    assert (review_of(store, 1).go, after.tasks < before.tasks) == (False, True)
    page.context.close()


def test_what_now_reads_the_same_on_the_run_page_in_every_state(machine, browser, monkeypatch):
    configure(monkeypatch, home=machine.home)
    store, api = open_run("told"), prefect_api(machine)
    take_in(store)
    store.note("inputs", {"generate": {"documents": 6}})
    store.note("annotation", {"batches": 2, "overlap": 2})
    deployment = api.read("GET", "/deployments/name/annotate/annotate")["id"]
    later = {"state": {"type": "SCHEDULED", "state_details": {"scheduled_time": "2099-01-01T00:00:00Z"}}}
    asked = {**later, "parameters": {"run": store.key}}
    run = api.ask("POST", f"/deployments/{deployment}/create_flow_run", asked).json()["id"]
    # No worker picks it up: the page of a run that has not begun has no artifacts.
    api.ask("POST", f"/flow_runs/{run}/set_state", {"state": {"type": "RUNNING"}, "force": True})
    at = datetime.now(UTC)
    progress = PeopleProgress(
        title="told · batch 1",
        url="https://annotate.example.org/abcdlink/",
        own_urls=("https://annotate.example.org/projects/3/", "https://annotate.example.org/projects/4/"),
        tasks=37,
        done=14,
        needed=74,
        answers=30,
        people=(Person(account="ada@example.org", annotator="annotator-1", done=30, open=7),),
        looked=at,
        first=at - timedelta(hours=30),
        deadline=at + timedelta(days=3),
    )
    keep_people_progress(store, batch_slug(1), progress)
    states = {
        "working": ("start", WaitsFor.NOBODY, "", "The stage generate is running"),
        "people": ("annotate", WaitsFor.ANNOTATORS, batch_slug(1), "14 of 37 tasks done"),
        "coordinator": ("annotate", WaitsFor.COORDINATOR, feedback_slug(1), "You decide what annotators are told"),
        "llm": ("annotate", WaitsFor.LLM, "", "The LLM answers a batch of questions"),
        "over": ("annotate", WaitsFor.NOTHING, "", "Candidates are ready for annotators"),
    }
    page = coordinator(machine, browser)
    auth = machine.prefect_auth.get_secret_value()
    server = {PREFECT_API_URL: f"{prefect_url(machine)}/api", PREFECT_API_AUTH_STRING: auth}
    for name, (flow, kind, slug, told) in states.items():
        wait_for(store, run, "start", WaitsFor.NOTHING)
        wait_for(store, run, flow, kind, slug, "natural" if kind is WaitsFor.LLM else "")
        if kind is WaitsFor.NOTHING:
            make_pools(store, read_corpus_from(store, NATURAL))
        # In a separate thread: Playwright's loop runs in this one, and Prefect would not wait for its own.
        with temporary_settings(server), ThreadPoolExecutor(1) as thread:
            thread.submit(copy_context().run, tell_what_now, store, run).result()
            now = what_now(store, surroundings(store, PREFECT_UI_URL.value() or ""))
        show_what_now(page, machine, run)
        expect(page.get_by_text(told, exact=False).first).to_be_visible()
        shown = page.locator(".artifact-data-markdown").inner_text()
        assert [line.text for item in now.items for line in item.lines if line.text not in shown] == []
        picture(page, f"what-now-{name}")
    page.context.close()
