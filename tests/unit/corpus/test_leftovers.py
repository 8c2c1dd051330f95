"""Lines of plain text that nobody should judge are removed before segmentation and listed; nothing else changes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.corpus.leftovers import without_leftovers
from abcdlink.corpus.plain_text import PlainText
from abcdlink.corpus.segmentation import get_segmenter

MAIL = """\
From: Tom <tom@example.org>
To: Rachel <rachel@example.org>,
    board@example.org
Date: Mon, 3 Apr 2023 09:12:44 +0200
Subject: The roof

Hi Rachel,

I would take the first one: it is dearer,
but can begin in May.

On Sat, 1 Apr 2023 at 18:03, Rachel
<rachel@example.org> wrote:
> Which one do you prefer?
>> Any news?

Wednesday is fine.

Kind regards,
Tom

--
Tom Baker
Tel. 1234
"""
OUTLOOK = """\
Der Stand ist gebucht.

Viele Grüße
Jana

Von meinem iPhone gesendet

-----Ursprüngliche Nachricht-----
Von: Ole
Was ist mit dem Stand?
"""
TICKET = """\
It crashes on an empty file.

```
rows = []
rows[0]
```

Traceback (most recent call last):
  File "a.py", line 1, in main
    rows[0]
IndexError: list index out of range

java.lang.IllegalStateException: queue full
\tat com.example.Watcher.run(Watcher.java:54)
\t... 12 more
2023-04-28 11:02:13,482 ERROR [main] giving up
Raising the limit only delays it.
"""
ISSUE = """\
h3. Steps
# Stop the daemon.
{code:bash}
$ status
OK
{code}
|| Version || System ||
| 2.3 | Debian. It runs. |

| Step | Expected |
|:---|---:|
| Press it. | It opens. It stays open. |
![screenshot](https://a.example/x.png)
Log:
[09:12:01] PUT /1 failed.
[09:12:02] PUT /1 failed.
[09:12:03] PUT /1 failed.

   at Ferry.Main(String[] args) in C:\\src\\Main.cs:line 12
Feb  3 10:11:12 host ferryd[123]: starting
stack backtrace:
   0: rust_begin_unwind

goroutine 41 [running]:
main.(*Resolver).Copy(0xc0)
\t/build/resolver.go:133 +0x1d2

It stops. (#431)
"""
BOOK = """\
REPORT OF THE BOARD 1911             7

The Board re-
solved to repair the break-
water, and work be-
gan in May and was com-

\f8             REPORT OF THE BOARD 1911

pleted in June.

- 8 -

\fREPORT OF THE BOARD 1911             9

The dues rose.

Page 9 of 64
"""
SUBTITLES = """\
WEBVTT

1
00:00:01.000 --> 00:00:04.200
<v Anna>Good morning, and welcome

2
00:00:04.200 --> 00:00:07.900
<v Anna>to the <i>quarterly</i> call. [laughter] We begin.

3
00:00:08.000 --> 00:00:09.000
<v Raj>Thank you.
"""
HEARING = """\
Q. Did she know?
                    45
     A. I do not know.
                    46
     Q. Thank you.
* * *
|------|------|
| 2022 | sold |
"""
INTERVIEW = """\
[00:00:03] A: How long have you worked here?
[00:00:06] B: Eleven years. (pause) And it was good.
00:00:41 A: We meet at 10:30 tomorrow.
"""


@pytest.mark.parametrize(
    ("text", "language", "sentences"),
    [
        (
            ISSUE,
            "en",
            [
                "h3. Steps",
                "# Stop the daemon.",
                "| 2.3 | Debian. It runs. |",
                "| Press it. | It opens. It stays open. |",
                "Log:",
                "PUT /1 failed.",
                "It stops. (#431)",
            ],
        ),
        (
            MAIL,
            "en",
            [
                "Subject: The roof",
                "Hi Rachel,",
                "I would take the first one: it is dearer, but can begin in May.",
                "Wednesday is fine.",
            ],
        ),
        (OUTLOOK, "de", ["Der Stand ist gebucht."]),
        (
            TICKET,
            "en",
            [
                "It crashes on an empty file.",
                "IndexError: list index out of range",
                "java.lang.IllegalStateException: queue full",
                "Raising the limit only delays it.",
            ],
        ),
        (
            BOOK,
            "en",
            [
                "The Board resolved to repair the breakwater, and work began in May and was completed in June.",
                "The dues rose.",
            ],
        ),
        (
            SUBTITLES,
            "en",
            ["Anna: Good morning, and welcome to the quarterly call. [laughter]", "We begin.", "Raj: Thank you."],
        ),
        (HEARING, "en", ["Q. Did she know?", "A. I do not know.", "Q. Thank you.", "| 2022 | sold |"]),
        (
            INTERVIEW,
            "en",
            [
                "A: How long have you worked here?",
                "B: Eleven years. (pause)",
                "And it was good.",
                "A: We meet at 10:30 tomorrow.",
            ],
        ),
    ],
    ids=["issue", "mail", "outlook", "ticket", "book", "subtitles", "hearing", "interview"],
)
def test_documents_of_each_kind_lose_their_leftovers(text: str, language: str, sentences: list[str]) -> None:
    texts = PlainText(get_segmenter(language))
    assert texts.document("a", text).texts == sentences
    lines = re.split("[\n\f]", text)
    assert texts.removed
    assert all(one.text in lines[one.line - 1] for one in texts.removed)
    noted = {note.what: note.count for note in texts.notes() if "removed" in note.what}
    assert sum(noted.values()) == len(texts.removed)


@pytest.mark.parametrize("who", ["> On 3 Oct. 2026 @max wrote:", "@max wrote:", "> @max.dev schrieb:"])
def test_what_others_wrote_in_a_forum_goes(who: str) -> None:
    said = f"{who}\n> Did you clear the cache?\n\nYes, it is still slow.\n\n> Which system?\n\nThe newest one."
    assert PlainText(get_segmenter()).document("t", said).texts == ["Yes, it is still slow.", "The newest one."]


def test_lines_of_nothing_but_the_mark_of_a_quotation_go_from_any_text() -> None:
    said = "As she said:\n> Nobody knows.\n>\n> >\n> Nobody asks."
    assert without_leftovers(said).text.split("\n\n") == ["As she said:\n> Nobody knows.", "> Nobody asks."]


def test_a_quotation_that_has_the_header_of_a_mail_goes() -> None:
    quoted = ["> From: Ann Lee <ann@example.org>", "> Sent: Monday", "> Subject: Tuesday", ">", "> Is the hall free?"]
    text = "\n".join(["Yes, until noon.", "", *quoted])
    assert without_leftovers(text) == (
        "Yes, until noon.",
        [(n, line, "quoted mail") for n, line in enumerate(quoted, 3)],
    )


@pytest.mark.parametrize(
    ("language", "mail"),
    [
        (
            "pl",
            "Od: Jan <jan@example.org>\nDo: Ewa\n\n¦Sala jest wolna.¦\n\nPozdrawiam serdecznie\nJan Lis\ntel. 500 000",
        ),
        (
            "pl",
            "¦Sala jest wolna.¦\n\nWysłane z iPhone'a\n\npt., 9 paź 2026 o 10:12 Ewa <ewa@example.org>:\n> Jest wolna?",
        ),
        ("ru", "От: Анна\nКому: Иван\nДата: 9.10.2026\n\n¦Зал свободен.¦\n\nС уважением,\nАнна"),
        ("ja", "差出人：田中\n宛先：総務部各位\n日時：2026年10月8日 10:12\n\n¦会場は空いています。¦"),
        (
            "pt",
            "De: Ana\nEnviada em: 9/10/2026 10:12\nPara: Rui\n\n¦A sala está livre.¦\n\nCumprimentos,\nAna",
        ),
        ("it", "Da: Anna\nInviato: 9.10.2026\nA: Ivo\n\n¦La sala è libera.¦\n\nDistinti saluti\nAnna"),
    ],
)
def test_mails_in_other_languages_lose_what_is_around_the_text(language: str, mail: str) -> None:
    document = PlainText(get_segmenter(language)).document("m", mail.replace("¦", ""))
    assert document.texts == [mail.split("¦")[1]]


@pytest.mark.parametrize("field", ["To: Ann", "Date: Tue, 8 Apr 2025", "Subject: Boats"])
def test_two_lines_are_the_header_of_a_mail_where_the_sender_has_an_address(field: str) -> None:
    document = PlainText(get_segmenter()).document("m", f"From: g.mbeki@example.org\n{field}\n\nWe sail on Sundays.")
    assert document.texts == ([field] if field.startswith("Subject") else []) + ["We sail on Sundays."]


@pytest.mark.parametrize(
    "front",
    [
        '---\ntitle: "Tide tables"\ndate: 2024-05-02\n---',
        "---\nauthors:\n  - Ines Pinto\n- Tom Hale\n\n# checked\ndraft:\n---\n",
        '+++\ntitle = "Tide tables"\ntags = [\n  "sea",\n]\n+++',
    ],
)
def test_the_fields_before_a_text_in_markdown_go(front: str) -> None:
    texts = PlainText(get_segmenter())
    assert texts.document("a", f"{front}\nThe harbour opens at six.\n").texts == ["The harbour opens at six."]
    assert {one.why for one in texts.removed} == {"front matter"}


@pytest.mark.parametrize(
    "talk", ["ann: Hello.\nbob: Good day.", "title: Tides\nThey rise and fall.", "The title: tides."]
)
def test_lines_between_two_rules_are_no_fields_unless_all_look_like_one(talk: str) -> None:
    document = PlainText(get_segmenter()).document("a", f"---\n{talk}\n---\nThey left.")
    assert " ".join(document.texts) == f"{talk} They left.".replace("\n", " ")


@pytest.mark.parametrize(
    "text",
    [
        "As the speaker said:\n> Nobody knows.",  # a quotation in a text that is not an email
        "The sign said:\n> From: the north\n> To: the south",
        "Best\nWestern opened a hotel.\n\nBest regards",
        "09:00 Registration\n10:00 Opening\n11:00 First talk",  # a programme: the times are its content
        "Total  12\nTotal  48",
        "From: the north\nTo: the south",
        "He bought 12 eggs.\n\n1911\n\nShe bought none.",
        "A fence that nobody closes:\n```\nrows[0]",
        "We met at the station.\nAt noon it rained (again)",
        "--\nOne\n\n" + "\n".join(f"Line {number}" for number in range(20)),
        "-----Original Message-----",  # nothing would be left
    ],
)
def test_text_that_only_looks_like_a_leftover_stays(text: str) -> None:
    assert without_leftovers(text) == (text, [])


def test_a_domain_can_name_more_lines_and_texts_with_links_keep_all() -> None:
    text = "14 MAR 2023 : Column 231\nThe House divided."
    texts = PlainText(get_segmenter(), remove=[(re.compile(r": Column \d+$"), "column")])
    assert texts.document("a", text).texts == ["The House divided."]
    assert [(one.document, one.line, one.text, one.why) for one in texts.removed] == [
        ("a", 1, "14 MAR 2023 : Column 231", "column")
    ]
    assert texts.document("b", text, is_linked=True).texts == text.split("\n")
    assert PlainText(get_segmenter(), remove=None).document("c", MAIL).texts[0].startswith("From: Tom")


pieces = st.sampled_from(
    [
        *MAIL.split("\n"),
        *OUTLOOK.split("\n"),
        *TICKET.split("\n"),
        *BOOK.split("\n"),
        *INTERVIEW.split("\n"),
        "One.",
        "",
    ]
)


@given(st.lists(pieces, max_size=40))
def test_every_line_is_kept_unchanged_or_listed(lines: list[str]) -> None:
    text = "\n".join(lines)
    rest, removed = without_leftovers(text)
    whole = {number: line for number, line, _ in removed}
    kept = []
    for number, line in enumerate(re.split("[\n\f]", text), 1):
        left = line.removeprefix(whole.get(number, "")).strip()
        kept += [left] if left else []
    assert [line.strip() for line in re.split("[\n\f]", rest) if line.strip()] == kept
    assert without_leftovers(rest).text.strip() or not rest.strip()


@given(st.text(st.sampled_from("aB .>\n-:1[0]\f`"), max_size=120))
def test_any_text_can_be_read(text: str) -> None:
    rest, _ = without_leftovers(text)
    assert bool(rest.strip()) == bool(text.strip())


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("The Board re-\nsolved. The north-\nern one be-\ngan.", "The Board resolved. The northern one began."),
        ("A well-\nknown man. It is well-known. He re-\nsolved to be-\ngin at on-\nce.",
         "A well-known man. It is well-known. He resolved to begin at once."),
        ("A break-\nwater of stone and\nanother breakwater.", "A breakwater of stone and another breakwater."),
        ("Das Schul-\nund Hochschulwesen er-\nstattet be-\nrichte an-\nders.",
         "Das Schul- und Hochschulwesen erstattet berichte anders."),
    ],
)  # fmt: skip
def test_hyphenated_words_are_joined(text: str, joined: str) -> None:
    assert " ".join(PlainText(get_segmenter("de")).document("a", text).texts) == joined
