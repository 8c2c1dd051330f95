"""The links page, opened from a file in a browser: filters, search, keys, neighbours, copy and export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from abcdlink.report.links import known_pairs, write_links
from abcdlink.store import Store, open_run
from tests.browser.window import picture
from tests.helpers.example_run import example_run, make_pools, take_in


@pytest.fixture
def run(tmp_path: Path) -> Store:
    return example_run(tmp_path)


@pytest.fixture
def page(run: Store, browser: Browser) -> Page:
    context = browser.new_context(viewport={"width": 1366, "height": 768}, accept_downloads=True)
    opened = context.new_page()
    opened.on("pageerror", lambda error: pytest.fail(str(error)))
    opened.goto(Path(write_links(run)).as_uri())
    return opened


def visible(page: Page) -> int:
    return page.locator(".link:visible").count()


def test_filters_and_search_work_and_the_export_holds_the_same_rows(run: Store, page: Page) -> None:
    seen = [one for pair in known_pairs(run) for one in pair.candidates]
    assert visible(page) == len(seen)
    for name, wanted in (("agreement", "differ"), ("method", seen[0].method)):
        page.select_option(f"[data-filter={name}]", wanted)
        assert visible(page) == sum(getattr(one, name) == wanted for one in seen)
        page.select_option(f"[data-filter={name}]", "")
    page.fill("#search", "BRIDGE council")
    fits = [
        one
        for one in seen
        if all(word in f"{one.source_text} {one.target_text}".lower() for word in ("bridge", "council"))
    ]
    assert visible(page) == len(fits) > 0
    with page.expect_download() as download:
        page.click("#jsonl")
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    told = [json.loads(line) for line in lines]
    assert [(one["source"], one["target"], one["sourceText"]) for one in told] == [
        (one.source, one.target, one.source_text) for one in fits
    ]
    page.locator(".link:visible input").nth(1).check()
    with page.expect_download() as download:
        page.click("#csv")
    assert len(Path(download.value.path()).read_text(encoding="utf-8").splitlines()) == 2
    page.fill("#search", "nowhere to be found")
    assert page.locator(".pair:visible").count() == 0


def test_a_candidate_opens_with_its_neighbours_by_mouse_and_by_key(page: Page) -> None:
    first = page.locator(".pair").first
    first.locator(".link").first.click()
    for side in ("source", "target"):
        card = first.locator(".link.current")
        place = card.get_attribute(f"data-{side}-place")
        assert first.locator(f".doc.{side} .s.on").get_attribute("data-place") == place
    page.keyboard.press("j")
    assert first.locator(".link").nth(1).get_attribute("class") == "link current"
    near = first.locator(".link.near")
    for index in range(near.count()):
        for side in ("source", "target"):
            places = [
                int(one.get_attribute(f"data-{side}-place") or 0)
                for one in (near.nth(index), first.locator(".current"))
            ]
            assert abs(places[0] - places[1]) <= 1
    first.locator(".doc.target .s[data-links]").last.click()
    assert first.locator(".link.current").count() == 1
    page.keyboard.press("x")
    assert "1 selected" in page.locator("#told").inner_text()


def test_everything_fits_the_width_of_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_filters_and_search_of_the_index_carry_over_to_the_pairs(browser: Browser) -> None:
    run = open_run("many")
    make_pools(run, take_in(run, 400))
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.goto(Path(write_links(run)).as_uri())
    rows = page.locator("tr[data-kinds]")
    expect(rows).to_have_count(400)
    pairs = {pair.id: pair for pair in known_pairs(run)}
    page.select_option("[data-filter=method]", "both")
    page.select_option("[data-filter=batch]", "2")
    page.fill("#search", "BARGE spokeswoman")
    wanted = [
        name
        for name, pair in pairs.items()
        if any((one.method, one.batch) == ("both", 2) for one in pair.candidates)
        and all(word in pair.text for word in ("barge", "spokeswoman"))
    ]
    assert 0 < len(wanted) < 200
    expect(page.locator("tr[data-kinds]:visible")).to_have_count(len(wanted))
    expect(page.locator("#told")).to_have_text(f"{len(wanted)} of 400 pairs shown")
    picture(page, "links-index")
    page.locator("tr[data-kinds]:visible a").last.click()
    expect(page.locator(".tools")).to_be_visible()  # its script is done
    shown = "cards => [...new Set(cards.filter(one => !one.hidden).map(one => one.dataset.method))]"
    assert page.locator(".link").evaluate_all(shown) == ["both"]
    place = page.url.rpartition("#")[2]
    expect(page.locator(f"#{place} h2")).to_contain_text(wanted[-1])
    expect(page.locator(f"#{place} h2")).to_be_in_viewport()
    picture(page, "links-part")
    page.set_viewport_size({"width": 390, "height": 844})
    page.go_back()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
