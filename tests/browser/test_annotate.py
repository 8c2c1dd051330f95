"""An annotator works on a batch: reads, judges by keyboard only, flags and comments, in light and dark mode."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Sequence

import pytest
from playwright.sync_api import Browser, Page, expect

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.domain import find_domain
from abcdlink.judgments import Candidate, Label, Pool
from labelstudio_config.client import Client
from tests.browser.window import annotator_window, close_guidelines, open_guidelines, picture
from tests.helpers.annotation import IDS, SECRETS, TEXTS, Run, annotator, document, make_run, submit
from tests.helpers.pulls import pull_batch, push_batch

ATTACK = "<img src=x onerror=alert(1)>"
RADIOS = ".xd-row .ant-radio"


def push(client: Client, run: Run) -> str:
    return push_batch(client, run.key, 1, run.pools, run.corpus, run.domain).url


def read_guidelines(page: Page, says: str) -> None:
    """Close the guidelines and wait for the task."""
    close_guidelines(page, says)
    expect(page.locator(".xd-row").first).to_be_visible()


def begin(page: Page, client: Client, run: Run) -> None:
    """Open the project where annotators begin."""
    page.goto(push(client, run))
    read_guidelines(page, "Link")


def press(page: Page, keys: Sequence[str]) -> None:
    for key in keys:
        page.keyboard.press(key)


def decided(page: Page) -> str:
    """Return the decision on each candidate: ``+`` Link, ``-`` No Link, ``?`` open."""
    chosen = [("ant-radio-checked" in (radio.get_attribute("class") or "")) for radio in page.locator(RADIOS).all()]
    signs = {(1, 0, 0): "+", (0, 1, 0): "-", (0, 0, 1): "r", (0, 0, 0): "?"}
    return "".join(signs[row] for row in zip(chosen[::3], chosen[1::3], chosen[2::3], strict=True))


def said(page: Page) -> str:
    """Return what the page said about the last key."""
    return page.locator("#xd-say").text_content() or ""


def long_run(sentences: int, sources: Sequence[int], targets: Sequence[int], words: tuple[int, int] = (6, 28)) -> Run:
    """Make a run of one pair of long documents whose sentences are as long as those of news."""
    draw = random.Random(13)
    vocabulary = " ".join(TEXTS).lower().replace(".", "").split()
    texts = [f"{number}: {' '.join(draw.choices(vocabulary, k=draw.randint(*words)))}." for number in range(sentences)]
    source, target = document("source-bilby", texts, IDS), document("target-bilby", texts, IDS)
    corpus = Corpus(
        name="long",
        documents={source.id: source, target.id: target},
        pairs=[Pair(id="pair-wombat", source=source.id, target=target.id)],
    )
    candidates = tuple(Candidate(target=f"sid-dugong-{number}", method="method-quokka") for number in targets)
    pools = [
        Pool(
            key=secrets.token_hex(8),
            batch=1,
            pair="pair-wombat",
            source=f"sid-dugong-{number}",
            candidates=candidates,
        )
        for number in sources
    ]
    return Run(f"run-{secrets.token_hex(4)}", corpus, pools, find_domain("news"))


def test_two_tasks_by_keyboard_with_a_flag_and_a_comment(page: Page, client: Client) -> None:
    run = make_run(tasks=2)
    begin(page, client, run)
    expect(page.locator(".xd-src")).to_contain_text(TEXTS[0])
    expect(page.locator(".xd-src")).to_contain_text("1 of 2 · sentence 1 of 2 in pair 1 of 1")
    press(page, ["0", "Shift+Digit1"])
    page.keyboard.press("Control+Enter")
    assert said(page) == "1 candidate still needs a decision: Link or No Link."
    page.get_by_role("button", name="Submit current annotation").click()
    dialog = page.get_by_text("Candidate 2 still needs a decision: Link or No Link")
    expect(dialog).to_be_in_viewport(ratio=1)
    picture(page, "linking-undecided")
    assert pull_batch(client, run.key, 1, run.pools).judgments == []
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    press(page, ["2", "u"])
    page.locator("input[name=comment]").fill("0 is bolder than 1")
    page.keyboard.press("Enter")
    assert decided(page) == "+-+"
    picture(page, "linking-decided")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".xd-src")).to_contain_text(TEXTS[1])
    expect(page.locator(".xd-src")).to_contain_text("2 of 2 · sentence 2 of 2")
    press(page, ["Shift+Digit0", "1", "Shift+Digit2", "Control+Enter"])
    expect(page.get_by_text("No More Tasks", exact=False).first).to_be_visible()
    pulled = pull_batch(client, run.key, 1, run.pools)
    link, no = Label.LINK, Label.NO_LINK
    assert [(j.source, j.target, j.label) for j in pulled.judgments] == [
        *(("sid-dugong-0", "sid-dugong-0", link), ("sid-dugong-0", "sid-dugong-1", no)),
        *(("sid-dugong-0", "sid-dugong-2", link), ("sid-dugong-1", "sid-dugong-0", no)),
        *(("sid-dugong-1", "sid-dugong-1", link), ("sid-dugong-1", "sid-dugong-2", no)),
    ]
    assert [j.flags for j in pulled.judgments] == [("Unsure",)] * 3 + [()] * 3
    assert [j.comment for j in pulled.judgments] == ["0 is bolder than 1"] * 3 + [""] * 3
    assert all(j.seconds for j in pulled.judgments)
    assert pulled.anomalies == []


def test_any_sentence_is_shown_as_text(page: Page, client: Client) -> None:
    texts = [ATTACK, "https://example.org/not-fetched", "{{idx}} $source_text &amp; <b>bold</b>", " "]
    run = make_run(tasks=1, candidates=4, texts=texts)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    begin(page, client, run)
    expect(page.locator(".xd-src")).to_contain_text(ATTACK)
    for place in (".xd-a p", ".xd-col:nth-child(2) p"):
        expect(page.locator(place)).to_have_count(4)
    for number, text in enumerate([*texts[:3], "(empty sentence)"]):
        expect(page.locator(".xd-row").nth(number)).to_contain_text(f"{number} · {text}")
        expect(page.locator(".xd-col:nth-child(2) mark").nth(number)).to_have_text(f"{number} {text}")
    assert page.locator(".xd-wrap img").count() == 0
    assert not [url for url in asked if "example.org" in url]
    picture(page, "linking-escaped")


def test_keys_decide_visible_candidates_and_never_clear_a_decision(page: Page, client: Client) -> None:
    run = long_run(20, sources=[3], targets=range(12))
    begin(page, client, run)
    press(page, ["1", "1", "Shift+Digit0"])
    assert decided(page) == "-+" + "?" * 10
    press(page, ["n", "l", "ArrowDown", "l"])
    assert decided(page) == "-+-+?+" + "?" * 6
    press(page, ["r"])
    assert ("?" in decided(page), "have not seen" in said(page)) == (True, True)
    press(page, ["r"])
    assert decided(page) == "-+-+r+" + "r" * 6
    press(page, ["4", "Enter"])
    expect(page.get_by_text("No More Tasks", exact=False).first).to_be_visible()
    pulled = pull_batch(client, run.key, 1, run.pools)
    number = {f"sid-dugong-{at}": at for at in range(12)}
    assert {number[one.target] for one in pulled.judgments if one.label is Label.LINK} == {1, 3, 4, 5}
    assert {number[one.target] for one in pulled.judgments if one.rest} == set(range(6, 12))
    assert (len(pulled.judgments), pulled.anomalies) == (12, [])


def test_an_offscreen_candidate_is_shown_before_it_is_decided(page: Page, client: Client) -> None:
    run = long_run(20, sources=[3], targets=range(10), words=(70, 75))
    begin(page, client, run)
    press(page, ["9"])
    assert decided(page) == "?" * 10
    expect(page.locator(".xd-row").nth(9)).to_be_in_viewport()
    press(page, ["9"])
    assert decided(page) == "?" * 9 + "+"


@pytest.mark.parametrize(
    "layout", [("&", "Digit1", "à", "Digit0"), ("1", "Digit1", "0", "Digit0")], ids=["AZERTY", "QWERTZ"]
)
def test_keys_work_by_position(page: Page, client: Client, layout: tuple[str, ...]) -> None:
    begin(page, client, long_run(20, sources=[3], targets=range(3)))
    for key, code, shift in [(*layout[:2], False), (*layout[2:], True)]:
        page.evaluate(
            "([key, code, shiftKey]) => document.body.dispatchEvent("
            "new KeyboardEvent('keydown', {key, code, shiftKey, bubbles: true, cancelable: true}))",
            [key, code, shift],
        )
    assert decided(page) == "-+?"


def test_every_decision_can_be_reached_in_a_narrow_window(page: Page, client: Client) -> None:
    begin(page, client, long_run(82, sources=[40], targets=range(12), words=(70, 75)))
    page.set_viewport_size({"width": 390, "height": 844})
    columns = [page.locator(place).bounding_box() or {} for place in (".xd-decide", ".xd-a", ".xd-b")]
    assert [column["y"] for column in columns] == sorted(column["y"] for column in columns)
    assert all(column["x"] >= 0 and column["x"] + column["width"] <= 390 for column in columns)
    expect(page.get_by_role("button", name="Submit current annotation")).to_be_in_viewport(ratio=1)
    picture(page, "annotate-narrow")
    for row in page.locator(".xd-row").all():
        row.locator("label").nth(1).click()
    assert decided(page) == "-" * 12


@pytest.mark.parametrize("browsers", ["Chromium", "others"])
def test_long_documents_open_at_the_marked_sentences(page: Page, client: Client, browsers: str) -> None:
    """The others do not know the property ``scroll-initial-target``; here Chromium plays one of them."""
    if browsers == "others":
        page.add_init_script(WITHOUT_INITIAL_TARGET)
    run = long_run(150, sources=[60, 120, 149], targets=[30, 97, 149])
    begin(page, client, run)
    marks = page.locator(".xd-b mark")
    for number in (60, 120, 149):
        expect(page.locator(".xd-src")).to_contain_text(f"{number}:")
        for mark in (page.locator(".xd-a mark"), marks.first):
            expect(mark).to_be_in_viewport()
        expect(marks.last).not_to_be_in_viewport()
        for row in page.locator(".xd-row").all():
            expect(row).to_be_in_viewport(ratio=0.99)
        picture(page, f"linking-long-{number}-{browsers}")
        page.locator(".xd-head label").last.click()
        expect(marks.last).to_be_in_viewport()
        expect(page.locator(".xd-src")).to_be_in_viewport()
        press(page, ["0", "1", "2", "Control+Enter"])
    expect(page.get_by_text("No More Tasks", exact=False).first).to_be_visible()
    assert len(pull_batch(client, run.key, 1, run.pools).judgments) == 9


WITHOUT_INITIAL_TARGET = """document.addEventListener("DOMContentLoaded", () => {
  const style = document.createElement("style");
  style.textContent = "mark { scroll-initial-target: none !important; }";
  document.head.append(style);
})"""


WALK = 6
"""Tasks of a session."""


def script_of_decisions() -> list[str]:
    """Return tasks of 8 candidates, about a fifth of them links."""
    draw = random.Random(13)
    return ["".join("+" if draw.random() < 0.2 else "-" for _ in range(8)) for _ in range(WALK)]


def keys_before(task: str) -> list[str]:
    """Return the keys that the label config alone offers: one per candidate, then Submit."""
    return [*(f"Digit{at}" if label == "+" else f"Shift+Digit{at}" for at, label in enumerate(task)), "Control+Enter"]


def keys_now(task: str) -> list[str]:
    """Return the keys that our server adds: one per link, one for the rest, and Submit."""
    return [*(f"Digit{at}" for at, label in enumerate(task) if label == "+"), *(["r"] if "-" in task else []), "Enter"]


def test_a_session_takes_less_than_half_the_keystrokes(page: Page, browser: Browser, client: Client) -> None:
    """The same decisions, once with Label Studio's keys and once with ours; printed by ``pytest -rP``.

    No time for reading is included: the seconds are the page's own.
    """
    script = script_of_decisions()
    run = long_run(82, sources=range(40, 40 + WALK), targets=[5, 15, 25, 35, 45, 55, 65, 75])
    url = push(client, run)
    count, took = {}, {}
    with annotator_window(browser, client) as second:
        for window, keys in ((page, keys_before), (second, keys_now)):
            window.goto(url)
            read_guidelines(window, "Link")
            begun, count[keys] = time.perf_counter(), 0
            for number, task in enumerate(script, start=40):
                expect(window.locator(".xd-src")).to_contain_text(f"{number}:")
                press(window, keys(task))
                count[keys] += len(keys(task))
            expect(window.get_by_text("No More Tasks", exact=False).first).to_be_visible()
            took[keys] = time.perf_counter() - begun
    for keys in (keys_before, keys_now):
        print(f"{keys.__name__}: {count[keys]} keys, {count[keys] / WALK:.1f} a task, {took[keys] / WALK:.2f} s a task")  # noqa: T201
    pulled = pull_batch(client, run.key, 1, run.pools)
    wanted = [Label.LINK if label == "+" else Label.NO_LINK for label in "".join(script)] * 2
    assert sorted(one.label for one in pulled.judgments) == sorted(wanted)
    by_place = {(one.source, one.target): set() for one in pulled.judgments}
    for one in pulled.judgments:
        by_place[one.source, one.target].add(one.label)
    assert all(len(labels) == 1 for labels in by_place.values())
    assert pulled.anomalies == []
    assert count[keys_now] <= 0.6 * count[keys_before]


def test_the_latest_guidelines_are_one_click_away(page: Page, client: Client) -> None:
    run = make_run(tasks=1)
    begin(page, client, run)
    open_guidelines(page)
    expect(page.locator(".lsf-modal-ls .xd-guide")).to_contain_text("Borderline")
    picture(page, "linking-guidelines")
    run.domain.guidelines += "\n\nClarified after batch one: *a quotation links*.\n"
    page.goto(push(client, run))
    read_guidelines(page, "Clarified after batch one")


@pytest.mark.parametrize("scheme", ["Light", "Dark"])
def test_texts_are_legible(page: Page, client: Client, scheme: str) -> None:
    """Contrast of each text with its background, by the formula of WCAG 2.2, where 4.5 is the least for texts."""
    page.add_init_script(f"localStorage.setItem('preferred-color-scheme', '{scheme}')")
    begin(page, client, long_run(150, sources=[60], targets=[5, 61, 64, 97, 120, 130, 149]))
    press(page, ["0", "Shift+Digit1", "u", "Enter"])
    picture(page, f"linking-{scheme.lower()}")
    places = (
        *(".xd-src h4", ".xd-src .lsf-richtext__line", ".xd-progress h4", ".xd-col h4", ".xd-head label"),
        *(".xd-scroll p", ".xd-a mark", ".xd-b mark", ".xd-b mark button", ".xd-row label", ".xd-foot label"),
        *(
            ".xd-row .lsf-richtext__line",
            ".xd-row:has(.lsf-choice:nth-child(2) .ant-radio-checked) .lsf-richtext__line",
        ),
        *(".xd-keys h4", ".xd-row[data-xd-now] .lsf-richtext__line", "#xd-say"),
    )
    open_guidelines(page)
    guidelines = (".xd-guide h1", ".xd-guide p", ".xd-guide li")
    found = {place: page.locator(place).first.evaluate(CONTRAST) for place in (*places, *guidelines)}
    assert {place: contrast for place, contrast in found.items() if contrast < 4.5} == {}


CONTRAST = """element => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const rgba = colour => {
    pen.clearRect(0, 0, 1, 1); pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data].map(value => value / 255);
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
  const ancestors = [];
  for (let at = element; at; at = at.parentElement) ancestors.unshift(at);
  let behind = [1, 1, 1], opacity = 1;
  for (const at of ancestors) {
    const style = getComputedStyle(at), ground = rgba(style.backgroundColor);
    opacity *= Number(style.opacity);
    behind = over([...ground.slice(0, 3), ground[3] * opacity], behind);
  }
  const ink = rgba(getComputedStyle(element).color);
  const text = over([...ink.slice(0, 3), ink[3] * opacity], behind);
  const light = colour => {
    const [r, g, b] = colour.map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [high, low] = [light(text), light(behind)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}"""


def test_the_second_annotator_also_gets_one_pair_after_another(page: Page, client: Client) -> None:
    run = make_run(tasks=6)
    begin(page, client, run)
    project = client.tasks(push_batch(client, run.key, 1, run.pools, run.corpus, run.domain).project_id)
    with annotator(client) as first:
        for task in sorted(project, key=lambda task: -int(task["id"])):
            assert submit(first, task["id"], ["Link"] * 3).is_success
    page.reload()
    read_guidelines(page, "Link")
    for pair, sentences in ((1, 4), (2, 2)):
        for sentence in range(1, sentences + 1):
            place = f"{4 * pair - 4 + sentence} of 6 · sentence {sentence} of {sentences} in pair {pair} of 2"
            expect(page.locator(".xd-progress")).to_have_text(place)
            press(page, ["0", "1", "2", "Control+Enter"])
    expect(page.get_by_text("No More Tasks", exact=False).first).to_be_visible()


def test_the_task_list_shows_progress_and_no_secrets(page: Page, client: Client) -> None:
    run = make_run(tasks=6)
    page.goto(push(client, run).replace("&labeling=1", ""))
    expect(page.get_by_text("5 of 6 · sentence 1 of 2 in pair 2 of 2")).to_be_visible()
    expect(page.get_by_text(TEXTS[1]).first).to_be_visible()
    picture(page, "linking-list")
    content = page.content()
    assert not [secret for secret in (*SECRETS, *(pool.key for pool in run.pools)) if secret in content]
