"""An applicant at work: the page of a qualification is that of a batch, and tells nothing of gold."""

from __future__ import annotations

import secrets

from playwright.sync_api import Page, expect

from abcdlink.corpus.io import read_corpus
from abcdlink.domain import find_domain
from abcdlink.qualify import score_applicants
from abcdlink.qualify.gold import GOLD, gold_pairs, gold_set
from labelstudio_config.client import Client
from labelstudio_config.pages.qualify import qualification_project, qualification_tasks
from labelstudio_config.projects import push_tasks
from tests.browser.window import picture
from tests.helpers.pulls import pull_qualification


def test_an_applicant_judges_the_gold_pairs_by_keyboard(page: Page, client: Client) -> None:
    domain, key = find_domain("news"), f"run-{secrets.token_hex(4)}"
    corpus = read_corpus(domain.sample_folder)
    gold = gold_set(corpus, gold_pairs(corpus, domain.settings.sources), domain, key, 13)
    page.goto(push_tasks(client, qualification_project(key, domain), qualification_tasks(key, gold, domain)).url)
    expect(page.locator(".xd-guide")).to_contain_text("Link")
    page.keyboard.press("Escape")
    expect(page.locator(".xd-guide")).to_be_hidden()
    source = gold.corpus.documents[gold.corpus.pairs[0].source]
    for number, pool in enumerate(gold.pools):
        expect(page.locator(".xd-src")).to_contain_text(source.text_of(pool.source))
        expect(page.locator(".xd-row")).to_have_count(len(pool.candidates))
        expect(page.locator(".xd-row .ant-radio-checked")).to_have_count(0)
        for place, candidate in enumerate(pool.candidates):
            page.keyboard.press(str(place) if candidate.method == GOLD else f"Shift+Digit{place}")
            expect(page.locator(".xd-row .ant-radio-checked")).to_have_count(place + 1)
        if number == 0:
            picture(page, "qualification")
            page.get_by_role("button", name="Light").click()
            expect(page.locator("html")).to_have_attribute("data-color-scheme", "dark")
            picture(page, "qualification-dark")
        page.keyboard.press("Control+Enter")
    expect(page.get_by_text("No More Tasks", exact=False).first).to_be_visible()
    pulled = pull_qualification(client, key, gold.pools)
    (applicant,) = score_applicants(gold.pools, pulled.judgments, pulled.annotators)
    assert (applicant.annotator, applicant.finished, applicant.kappa) == ("applicant-1", True, 1)
    assert applicant.seconds
    assert pulled.anomalies == []
