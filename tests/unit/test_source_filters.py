"""What the bundled domains keep from annotators, and what they must not."""

from __future__ import annotations

import pytest

from abcdlink.domain import find_domain

JUNK = {
    "news": [
        "By Maria Oduya",
        "PORT ELLERY (Coast Wire) -- Tuesday, 14 October",
        "MOUNT BESS, Friday (Sky Desk)",
        "Lower Tansley, Monday, 3 November, 7.40 a.m.",
        "From our reporter Tilda Noor in Sundhaven",
        "By our athletics staff in Karlsund",
        "By Sunniva Dahl at Castell District Court",
        "1. Move your car to higher ground before noon.",
        "BY MARIA ODUYA AND SAM PETROV",
        "HOLM HARBOUR, Oct. 3 -",
        "TARUN, June 12 (NewsLine)",
        "PARIS —",
        "Reporting by Sam Petrov; editing by L. Ng",
        "Additional reporting: R. Okafor, E. St. John",
        "By Joost de Wit, staff writer",
        "- Ferry operator fined in 2019",
        "- Sign up for our newsletter",
        "1. Fire brigade short of staff",
        "2. Why old wiring is dangerous",
        "> Ten dead in mine collapse",
        "Follow us on Facebook | Twitter | Instagram",
        "Tags: whales, Cape Marrow, fishing",
        "[VIDEO] Watch the rescue here",
        "© 2024 Valley Courier.",
        "(c) 2024 Valley Courier.",
        "(C) Copyright Valley Courier, 2024.",
        "All rights reserved by the Courier.",
        "Tickets: www.kesselmuseum.example/tickets",
        "www.example.org/a/b-c/d",
        "Photo: Coastwire / T. Brandt",
        "Share this article with friends",
        "Read more about the strike here",
        "Home | News | Sport | Weather",
        "Photograph by R. Okafor of Coastwire",
    ],
    "reviews": [
        "Dear Editor, thank you for the invitation.",
        "Major comments and questions:",
        "Competing Interests: No competing interests were disclosed here.",
        "I confirm that I have read this submission and agree.",
        "Reviewer 2 signed the report below.",
        "The axis of Fig 4 is unreadable in print.",
        "As Fig3 shows, it is wrong here.",
        "L76 has a typo in the title.",
        "ll. 76-80 repeat what was said.",
        "Please see Sec. 3.2 for the wording.",
        "The wording at line 71 is odd.",
        "The sum in Eq. (2) is not defined.",
        "In § 4 the authors say so.",
        "Figs. 2 and 3 are swapped here.",
        "Table S2 lists too many columns.",
        "Appendix B2 should be shortened a lot.",
        "p. 5 has a wrong citation again.",
    ],
}
SENTENCES = {
    "news": [
        "A fire destroyed the old bakery on Sunday.",
        "By Monday the water had fallen.",
        "(c) the Fees mean the sums set out in the second schedule;",
        "Karlsund, Sunday: four people were hurt when the pier fell.",
        "From our house the fire could be seen.",
        "3 people were hurt on Monday.",
        "By noon, four people had been rescued by boats.",
        "Read in isolation, the report says little.",
        'Police said: "We saw it."',
        "FIRE GUTS BAKERY ON MILL HILL RD. EARLY",
        "HOLM HARBOUR (Coastwire) — A passenger ferry drifted for an hour.",
        "12 people were hurt in the crash.",
        "Sources said that nobody was hurt.",
        "Video shows the bridge falling.",
        "More than 100 people were hurt.",
        "See how the bridge fell, said the mayor.",
        "Most residents stayed at home.",
        '"Follow me", she said.',
        "He shared the news with his wife.",
        "1,200 people fled.",
        "Related diseases killed twelve.",
        "More than 100 hurt in train crash",
        "Most schools closed until Friday",
        "The board met; the council did not.",
    ],
    "reviews": [
        "The questions are hard to answer.",
        "The L2 norm is a poor choice here.",
        "The stable 6 degrees are unlikely to last.",
        "They ran for 30 sec 10 times, which is short.",
        "The deadline 3 weeks ago was too early.",
        "They took a section of 3 mm of the tissue.",
        "The p value of 0.05 is reported wrongly.",
        "1. The sample is far too small for this claim.",
        "Major revisions are needed before this is published.",
        "Smith et al. found the opposite in 2019, which you ignore.",
    ],
}


HEADINGS = {
    "news": [
        "Sport",
        "Power cut",
        "UPDATE:",
        "April 27, 2009",
        "Tuesday, July 2nd, 2013",
        "07 June 2013",
        "04 / 04 / 2012",
        "# Minutes of the council of Port Lunde, 14 March 2025",
        "## 3. What was decided?",
        "3. LIABILITY",
        "2.1 Bus routes:",
    ],
    "reviews": [
        "Abstract",
        "3 Results",
        "2.1 Data collection",
        "A.2 Further results on the second task",
        "Related Work:",
        "Methods.",
        "### How we measured sleep, and why",
        "Results and Discussion",
        "info@port-lunde.example",
        "(https://port-lunde.example/plan)",
    ],
}
TARGETS = {
    "news": [
        "Nobody died.",
        "It burned.",
        "Fire guts bakery",
        "On April 27, 2009, the bridge fell.",
        "2013 was dry.",
        "#1 is the bridge.",
        "# 1 fell.",
    ],
    "reviews": [
        "It failed.",
        "Write to info@port-lunde.example.",
        "3 of the patients left the study.",
        "A larger sample shows the same effect",
        "We measured the results in 2019.",
        "3 Results show that the larger model is worse.",
    ],
}


@pytest.mark.parametrize(("domain", "text"), [(domain, text) for domain in HEADINGS for text in HEADINGS[domain]])
def test_headings_and_dates_are_not_candidates_outside_the_papers_setting(domain, text):
    assert find_domain(domain).settings.targets.reason_to_leave_out(text)
    assert not find_domain(f"{domain}@paper").settings.targets.reason_to_leave_out(text)


@pytest.mark.parametrize(("domain", "text"), [(domain, text) for domain in TARGETS for text in TARGETS[domain]])
def test_short_sentences_and_headlines_stay_candidates(domain, text):
    assert not find_domain(domain).settings.targets.reason_to_leave_out(text)


@pytest.mark.parametrize(("domain", "text"), [(domain, text) for domain in JUNK for text in JUNK[domain]])
def test_bylines_datelines_lists_and_links_are_left_out_with_a_reason(domain, text):
    reason = find_domain(domain).settings.sources.reason_to_leave_out(text)
    assert reason
    assert "(?" not in reason


@pytest.mark.parametrize(("domain", "text"), [(domain, text) for domain in SENTENCES for text in SENTENCES[domain]])
def test_sentences_that_only_start_like_one_stay(domain, text):
    reason = find_domain(domain).settings.sources.reason_to_leave_out(text)
    assert not reason or reason.startswith("fewer than")
