"""A coder sorts wrong predictions by keyboard, in light and dark mode; texts and patterns are shown as text."""

from __future__ import annotations

from datetime import UTC, datetime

from playwright.sync_api import Page, expect

from abcdlink.coding import Coding, patterns_in, wrong_predictions
from labelstudio_config.client import Client
from labelstudio_config.history import remember
from labelstudio_config.pages.coding import CodingPull, codes_in, coding_project, coding_tasks
from labelstudio_config.projects import push_tasks
from labelstudio_config.snapshot import snapshot_of
from tests.browser.window import close_guidelines, close_window, picture
from tests.helpers.annotation import Run, make_run

ATTACK = "<img src=x onerror=alert(1)> $candidate {{idx}} <b>bold</b>"


def begin(page: Page, client: Client, run: Run, lines: list[str]) -> Coding:
    """Push one wrong link and two missed ones, open the project, and close the guidelines."""
    (pool,) = run.pools
    links = {(pool.pair, pool.source, one.target): number > 0 for number, one in enumerate(pool.candidates)}
    errors = tuple(wrong_predictions(run.pools, links, run.key))
    coding = Coding(patterns=patterns_in(lines), found=len(errors), errors=errors)
    project = coding_project(run.key, run.domain, run.domain.guidelines)
    page.goto(push_tasks(client, project, coding_tasks(coding, run.corpus, run.domain)).url)
    close_guidelines(page, "Say why a program was wrong")
    expect(page.locator(".xd-patterns input")).to_have_count(len(coding.patterns))
    return coding


def pulled(client: Client, run: Run, coding: Coding) -> CodingPull:
    (project,) = client.projects_titled(f"To do · {run.key} · coding") or client.projects_titled(f"{run.key} · coding")
    tasks = [{**task, "project": project} for task in client.tasks(project)]
    history = remember(None, [project], tasks, client.accounts(), datetime.now(UTC))
    snapshot = snapshot_of(history, [one.key for one in coding.errors])
    return codes_in(snapshot, coding.errors, coding.patterns, (), ())


def test_wrong_predictions_are_coded_by_keyboard(page: Page, client: Client) -> None:
    run = make_run(tasks=1)
    coding = begin(page, client, run, [])
    expect(page.locator(".xd-why")).to_contain_text("Wrong link")
    for document in (".xd-a", ".xd-b"):
        expect(page.locator(f"{document} mark")).to_have_count(1)
    # All patterns, the comment and Submit are visible at once.
    for one in (".xd-patterns .lsf-choice >> nth=-1", ".xd-foot"):
        expect(page.locator(one)).to_be_in_viewport(ratio=1)
    picture(page, "coding")
    # A comment alone is not an answer.
    page.fill(".xd-foot textarea, .xd-foot input[name=comment]", "Hm.")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Choose the pattern that explains the mistake best", exact=False)).to_be_visible()
    close_window(page)
    page.keyboard.press("2")
    expect(page.locator(".xd-patterns input:checked")).to_have_count(1)
    page.keyboard.press("3")
    expect(page.locator(".xd-patterns input:checked")).to_have_count(1)
    page.keyboard.press("Control+Enter")

    expect(page.locator(".xd-why")).to_contain_text("Missed link")
    expect(page.locator(".xd-patterns input:checked")).to_have_count(0)
    page.fill(".xd-foot textarea, .xd-foot input[name=comment]", "The same words.")
    page.keyboard.press("Enter")
    page.locator(".xd-patterns label").nth(4).click()
    picture(page, "coding-missed")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".xd-progress")).to_contain_text("3 of 3")
    expect(page.locator(".xd-patterns input:checked")).to_have_count(0)
    page.keyboard.press("8")
    expect(page.locator(".xd-patterns input:checked")).to_have_count(1)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Say which other pattern it is", exact=False)).to_be_visible()
    close_window(page)
    page.get_by_placeholder("Which other pattern?").fill("A pun.")
    page.keyboard.press("Enter")
    picture(page, "coding-other")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("No More Tasks", exact=False).first).to_be_visible()

    names = [one.name for one in coding.patterns]
    result = pulled(client, run, coding)
    assert [(one.key, one.pattern, one.comment) for one in result.codes] == [
        (coding.errors[0].key, names[2], "Hm."),
        (coding.errors[1].key, names[4], "The same words."),
        (coding.errors[2].key, names[7], "A pun."),
    ]
    assert result.anomalies == []


def test_any_texts_and_patterns_are_shown_in_dark_mode_and_on_a_phone(page: Page, client: Client) -> None:
    run = make_run(tasks=1, texts=[ATTACK, "Second.", "Third."])
    coding = begin(page, client, run, [f"{ATTACK[:40]}: {ATTACK}", *(f"pattern {n}: what it means" for n in range(10))])
    expect(page.locator(".xd-src")).to_contain_text(ATTACK)
    expect(page.locator(".xd-patterns")).to_contain_text(ATTACK)
    assert page.locator(".xd-wrap img").count() == 0
    page.get_by_role("button", name="Light").click()
    expect(page.locator("html")).to_have_attribute("data-color-scheme", "dark")
    picture(page, "coding-dark")
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(".xd-patterns label").first.click()
    picture(page, "coding-phone")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".xd-why")).to_contain_text("Missed link")
    result = pulled(client, run, coding)
    assert result.anomalies == []
    assert [one.pattern for one in result.codes] == [ATTACK[:40].strip()]
