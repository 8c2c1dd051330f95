"""An applicant at work: a qualification uses the page of a batch and reveals no gold links."""

from __future__ import annotations

import secrets
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from abcdlink.corpus.io import read_corpus
from abcdlink.domain import find_domain
from abcdlink.folders import LocalFolder
from abcdlink.qualify import score_applicants
from abcdlink.qualify.gold import GOLD, expert_corpus, gold_pairs, gold_set, prepare, prepare_expert
from abcdlink.store import Store
from labelstudio_config.client import Client
from labelstudio_config.pages import title_of
from labelstudio_config.pages.qualify import GoldPage, qualification_project, qualification_tasks
from labelstudio_config.projects import push_tasks
from tests.browser.window import PASSWORD, close_guidelines, picture
from tests.helpers.pulls import pull_qualification, read_project


@pytest.mark.usefixtures("isolated_home")
def test_a_participant_arrives_from_prolific_and_leaves_with_the_code(browser: Browser, client: Client) -> None:
    domain, key, who = find_domain("news"), f"run-{secrets.token_hex(4)}", secrets.token_hex(12)
    corpus = read_corpus(domain.sample_folder)
    whole = gold_set(corpus, gold_pairs(corpus, domain.settings.sources), domain, key, 13)
    gold = whole.model_copy(update={"pools": whole.pools[:2]})
    push_tasks(client, qualification_project(key, domain), qualification_tasks(key, gold, domain))
    client.set_code(title_of(key, "qualification"), "C1A2B3")
    link = client.study_link().replace("{{%PROLIFIC_PID%}}", who)
    with closing(browser.new_context(viewport={"width": 1366, "height": 768})) as context:
        context.set_default_timeout(120_000)
        page = context.new_page()
        page.goto(link)
        expect(page.get_by_text("This link is missing your IDs")).to_be_visible()
        page.goto(link.replace("{{%STUDY_ID%}}", "study-1").replace("{{%SESSION_ID%}}", "session-1"))
        expect(page.locator("[name=email]")).to_have_value(f"{who}@email.prolific.com")
        expect(page.locator("input[name=allow_newsletters]")).to_have_value("false")
        picture(page, "prolific-sign-up")
        page.fill("[name=password]", PASSWORD)
        page.press("[name=password]", "Enter")
        page.locator("a.go", has_text=title_of(key, "qualification")).click()
        page.locator(".lsf-modal-ls .xd-guide").wait_for()
        page.keyboard.press("Enter")
        expect(page.locator(".lsf-modal-ls .xd-guide")).to_be_hidden()
        for number, pool in enumerate(gold.pools):
            expect(page.locator(".xd-progress")).to_contain_text(f"{number + 1} of 2")
            for place in range(len(pool.candidates)):
                page.keyboard.press(f"Shift+Digit{place}")
            page.keyboard.press("Enter")
        page.locator("#xd-next a").click()
        expect(page.locator(".code")).to_contain_text("C1A2B3")
        finish = page.get_by_role("link", name="Finish on Prolific")
        expect(finish).to_have_attribute("href", "https://app.prolific.com/submissions/complete?cc=C1A2B3")
        picture(page, "prolific-code")
    (came,) = [one for one in client.participants() if one["participant_id"] == who]
    assert (came["account"], came["study_id"], came["session_id"]) == (
        *(f"{who}@email.prolific.com", "study-1", "session-1"),
    )


def test_an_applicant_judges_the_gold_pairs_by_keyboard(page: Page, client: Client) -> None:
    domain, key = find_domain("news"), f"run-{secrets.token_hex(4)}"
    corpus = read_corpus(domain.sample_folder)
    gold = gold_set(corpus, gold_pairs(corpus, domain.settings.sources), domain, key, 13)
    page.goto(push_tasks(client, qualification_project(key, domain), qualification_tasks(key, gold, domain)).url)
    close_guidelines(page, "Link")
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


def test_an_expert_links_the_gold_pair(page: Page, client: Client, tmp_path: Path) -> None:
    domain, store = find_domain("news"), Store(LocalFolder(tmp_path), f"run-{secrets.token_hex(4)}")
    pair = read_corpus(domain.sample_folder).pairs[0]
    sample = prepare_expert(store, domain, "sample", [pair.id])
    asked = GoldPage().ask(store, domain)
    push_tasks(client, asked.project, asked.tasks)
    page.goto(client.home())
    page.locator("a.go", has_text=f"{store.key} · gold pair").click()
    close_guidelines(page, "Judge every sentence")
    target = expert_corpus(store).target_of(pair)
    ticks = {
        source.source: (0, len(target.sentences) - 1) if number < 2 else ()
        for number, source in enumerate(sample.sources)
    }
    for number, source in enumerate(sample.sources):
        expect(page.locator(".xd-src")).to_contain_text(expert_corpus(store).source_of(pair).text_of(source.source))
        expect(page.locator(".xd-list input:checked")).to_have_count(0)
        for tick in ticks[source.source]:
            page.locator(".xd-list input").nth(tick).check()
        if number == 0:
            picture(page, "gold-pair")
        page.get_by_text("ticked every link" if ticks[source.source] else "there are no links").first.click()
        page.keyboard.press("Control+Enter")
    expect(page.locator("#xd-next")).to_be_visible()
    GoldPage().keep(store, read_project(client, asked.project.title, list(asked.tasks)))
    gold = prepare(store, domain, "sample", [pair.id], expert=True)
    found = {source: set(targets) for source, targets in gold.corpus.pairs[0].sources_with_links.items()}
    assert found == {at: {target.sentences[n].id for n in places} for at, places in ticks.items() if places}
    assert gold.links == 4
