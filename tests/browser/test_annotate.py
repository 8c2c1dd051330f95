"""An annotator at work on a batch: reads, judges by keyboard only, marks and comments, in light and dark."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Iterator, Sequence

import pytest
from playwright.sync_api import Browser, Page, expect

from abcdlink.corpus.records import Corpus, Pair
from abcdlink.domain import Domain, find_domain
from abcdlink.judgments import Candidate, Label, Pool
from labelstudio_config.client import Client
from tests.browser.window import annotator_window, picture
from tests.helpers.annotation import IDS, SECRETS, TEXTS, Run, annotator, document, make_run, submit
from tests.helpers.pulls import pull_batch, push_batch

ATTACK = "<img src=x onerror=alert(1)>"
RADIOS = ".xd-row .ant-radio"


@pytest.fixture
def page(browser: Browser, client: Client) -> Iterator[Page]:
    with annotator_window(browser, client) as window:
        yield window


def push(client: Client, run: Run, domain: Domain | None = None) -> str:
    return push_batch(client, run.key, 1, run.pools, run.corpus, domain or run.domain).url


def close_guidelines(page: Page, says: str = "Link") -> None:
    """Close the guidelines, which are shown first."""
    guidelines = page.locator(".xd-guide")
    expect(guidelines).to_contain_text(says)
    page.keyboard.press("Escape")
    expect(guidelines).to_be_hidden()
    expect(page.locator(".xd-row").first).to_be_visible()


def begin(page: Page, client: Client, run: Run) -> None:
    """Open the project where annotators begin."""
    page.goto(push(client, run))
    close_guidelines(page)


def press(page: Page, keys: Sequence[str]) -> None:
    for key in keys:
        page.keyboard.press(key)


def decided(page: Page) -> str:
    """Return what is decided: for each candidate ``+`` Link, ``-`` No Link, ``?`` open."""
    chosen = [("ant-radio-checked" in (radio.get_attribute("class") or "")) for radio in page.locator(RADIOS).all()]
    signs = {(True, False): "+", (False, True): "-", (False, False): "?"}
    return "".join(signs[pair] for pair in zip(chosen[::2], chosen[1::2], strict=True))


def long_run(sentences: int, sources: Sequence[int], targets: Sequence[int]) -> Run:
    """Make a run of one pair of long documents, whose sentences have the lengths of news."""
    words = random.Random(13)
    vocabulary = " ".join(TEXTS).lower().replace(".", "").split()
    texts = [f"{number}: {' '.join(words.choices(vocabulary, k=words.randint(6, 28)))}." for number in range(sentences)]
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
    expect(page.locator(".xd-src")).to_contain_text("Sentence 1 of 2 in this pair · pair 1 of 1")
    press(page, ["0", "Shift+Digit1"])
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Candidate 2 still needs a decision: Link or No Link")).to_be_in_viewport(ratio=1)
    picture(page, "linking-undecided")
    assert pull_batch(client, run.key, 1, run.pools).judgments == []
    press(page, ["Escape", "2", "u"])
    page.locator("input[name=comment]").fill("0 is bolder than 1")
    page.keyboard.press("Enter")
    assert decided(page) == "+-+"
    picture(page, "linking-decided")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".xd-src")).to_contain_text(TEXTS[1])
    expect(page.locator(".xd-src")).to_contain_text("Sentence 2 of 2")
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


def test_sentences_show_as_text_whatever_they_hold(page: Page, client: Client) -> None:
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


def test_one_key_decides_one_candidate_however_many_there_are(page: Page, client: Client) -> None:
    run = long_run(20, sources=[3], targets=range(12))
    begin(page, client, run)
    press(page, ["1", "Shift+Digit0"])
    assert decided(page) == "-+" + "?" * 10
    hints = [row.locator(".lsf-hint").all_inner_texts() for row in page.locator(".xd-row").all()]
    keys = [hint.strip("[]") for row in hints for hint in row]
    assert len(set(keys)) == 24
    press(page, [keys[20], keys[23], "9"])
    assert decided(page) == "-+" + "?" * 7 + "++-"
    press(page, [*"2345678", "Control+Enter"])
    expect(page.get_by_text("No More Tasks", exact=False).first).to_be_visible()
    pulled = pull_batch(client, run.key, 1, run.pools)
    links = {judgment.target for judgment in pulled.judgments if judgment.label is Label.LINK}
    assert links == {f"sid-dugong-{number}" for number in range(1, 11)}
    assert (len(pulled.judgments), pulled.anomalies) == (12, [])


@pytest.mark.parametrize("browsers", ["Chromium", "others"])
def test_every_task_opens_long_documents_at_the_marked_sentences(page: Page, client: Client, browsers: str) -> None:
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


def test_a_walk_takes_one_key_a_decision_and_one_to_submit(page: Page, client: Client) -> None:
    """Three tasks with seven candidates each, on two documents of 150 sentences.

    Counted: the keys that are pressed. Printed (``pytest -rP``), not judged: the seconds from opening the project to
    the first task, and those of the whole walk. No person reads in it: they are the page's own time.
    """
    run = long_run(150, sources=[10, 70, 140], targets=[5, 25, 45, 65, 85, 105, 145])
    url = push(client, run)
    begun = time.perf_counter()
    page.goto(url)
    close_guidelines(page)
    opened = time.perf_counter()
    labels = ["+-+-+-+", "-------", "-++----"]
    keys = 0
    for number, wanted in zip((10, 70, 140), labels, strict=True):
        expect(page.locator(".xd-src")).to_contain_text(f"{number}:")
        for candidate, label in enumerate(wanted):
            page.keyboard.press(f"Digit{candidate}" if label == "+" else f"Shift+Digit{candidate}")
            keys += 1
        page.keyboard.press("Control+Enter")
        keys += 1
    expect(page.get_by_text("No More Tasks", exact=False).first).to_be_visible()
    print(f"{opened - begun:.1f} s to the first task, {time.perf_counter() - opened:.1f} s for three tasks")  # noqa: T201
    said = [judgment.label for judgment in pull_batch(client, run.key, 1, run.pools).judgments]
    assert said == [Label.LINK if label == "+" else Label.NO_LINK for label in "".join(labels)]
    assert keys == len(said) + len(run.pools)


def test_guidelines_are_one_click_away_and_the_newest(page: Page, client: Client) -> None:
    run = make_run(tasks=1)
    begin(page, client, run)
    page.get_by_role("button", name="Instructions").click()
    expect(page.locator(".xd-guide")).to_contain_text("Borderline")
    picture(page, "linking-guidelines")
    run.domain.guidelines += "\n\nClarified after batch one: *a quotation links*.\n"
    page.goto(push(client, run))
    close_guidelines(page, says="Clarified after batch one")


@pytest.mark.parametrize("scheme", ["Light", "Dark"])
def test_texts_are_legible(page: Page, client: Client, scheme: str) -> None:
    """Contrast of each text with what lies behind it, by the formula of WCAG 2.2, where 4.5 is the least for texts."""
    page.add_init_script(f"localStorage.setItem('preferred-color-scheme', '{scheme}')")
    begin(page, client, long_run(150, sources=[60], targets=[5, 61, 64, 97, 120, 130, 149]))
    press(page, ["0", "Shift+Digit1", "u"])
    picture(page, f"linking-{scheme.lower()}")
    places = (
        *(".xd-src h4", ".xd-src .lsf-richtext__line", ".xd-progress h4", ".xd-col h4", ".xd-head label"),
        *(".xd-scroll p", ".xd-a mark", ".xd-b mark", ".xd-b mark button", ".xd-row label", ".xd-foot label"),
        *(".xd-row .lsf-richtext__line", ".xd-row:has(.lsf-choice:last-child .ant-radio-checked) .lsf-richtext__line"),
    )
    page.get_by_role("button", name="Instructions").click()
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


def test_the_second_annotator_too_gets_pair_after_pair(page: Page, client: Client) -> None:
    run = make_run(tasks=6)
    begin(page, client, run)
    project = client.tasks(push_batch(client, run.key, 1, run.pools, run.corpus, run.domain).project_id)
    with annotator(client) as first:
        for task in sorted(project, key=lambda task: -int(task["id"])):
            assert submit(first, task["id"], ["Link"] * 3).is_success
    page.reload()
    close_guidelines(page)
    for pair, sentences in ((1, 4), (2, 2)):
        for sentence in range(1, sentences + 1):
            place = f"Sentence {sentence} of {sentences} in this pair · pair {pair} of 2"
            expect(page.locator(".xd-progress")).to_have_text(place)
            press(page, ["0", "1", "2", "Control+Enter"])
    expect(page.get_by_text("No More Tasks", exact=False).first).to_be_visible()


def test_the_list_of_tasks_tells_where_one_is_and_nothing_secret(page: Page, client: Client) -> None:
    run = make_run(tasks=6)
    page.goto(push(client, run).replace("&labeling=1", ""))
    expect(page.get_by_text("Sentence 1 of 2 in this pair · pair 2 of 2")).to_be_visible()
    expect(page.get_by_text(TEXTS[1]).first).to_be_visible()
    picture(page, "linking-list")
    content = page.content()
    assert not [secret for secret in (*SECRETS, *(pool.key for pool in run.pools)) if secret in content]
