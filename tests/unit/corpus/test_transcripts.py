"""Transcripts: time stamps and the fields at their head go, and who speaks stays."""

from __future__ import annotations

import pytest

from abcdlink.corpus.plain_text import PlainText
from abcdlink.corpus.segmentation import get_segmenter


@pytest.mark.parametrize("time", ["[00:01:07]", "(1:07)", "[01:07.250]"])
def test_a_speaker_stays_where_the_time_behind_the_name_goes(time: str) -> None:
    said = ["Dr. O'Neil: How long?", "P-07: Eleven years, from 09:00 to 17:00.", "Dr. O'Neil: Every day?"]
    texts = PlainText(get_segmenter())
    assert texts.document("t", "\n".join(line.replace(": ", f": {time} ", 1) for line in said)).texts == said
    assert [one.text for one in texts.removed][:1] == [f"Dr. O'Neil: {time} "]
    programme = "Doors: (18:00) for members\nTalk: (19:00) by the mayor"
    assert texts.document("p", programme).texts == programme.split("\n")


@pytest.mark.parametrize(
    "shape",
    [
        "{who} [{time}]: {said}",
        "{who}: ({time}) {said}",
        "{who}  {time}  \n{said}\n",
        "{who} ({time}):\n{said}\n",
        "{time} {who}\n{said}",
        "[{time}] {who}:\n{said}\n",
    ],
)
def test_who_speaks_stays_with_what_is_said_where_recorders_put_the_time(shape: str) -> None:
    said = [("Rachel O'Dea", "Was it cold?"), ("Speaker 2", "Cold?"), ("Rachel O'Dea", "I see.")]
    text = "\n".join(shape.format(who=who, time=f"00:{n}1:10", said=one) for n, (who, one) in enumerate(said))
    assert PlainText(get_segmenter()).document("t", text).texts == [f"{who}: {one}" for who, one in said]


def test_few_time_stamps_on_lines_of_their_own_go_and_a_timetable_stays() -> None:
    turns = ["AB: How long?", "CD: Eleven days.", "AB: And then?", "CD: We went back.", "AB: All of you?"]
    texts = PlainText(get_segmenter())
    stamped = "\n".join(["[00:00:04]", *turns[:4], "[00:07:15]", *turns[4:]])
    assert texts.document("t", stamped).texts == turns
    assert [one.text for one in texts.removed] == ["[00:00:04]", "[00:07:15]"]
    timetable = ["Leeds  10:45", "York  12:30", "Hull  13:10", "Bring a coat."]
    assert texts.document("p", "\n".join(timetable)).texts == timetable


def test_the_fields_at_the_head_of_a_transcript_go_and_speakers_stay() -> None:
    head = ["INTERVIEW 3", "", "Participant: P03 (nurse)", "Ward: 4B", "Interviewer: K. Osei", "Date: 3 March 2025", ""]
    talk = ["Interviewer: Who is on call?", "Respondent: Nobody.", "Interviewer: Nobody?", "Respondent: No."]
    texts = PlainText(get_segmenter())
    named = texts.document("a", "\n".join([*head, *talk])).texts
    assert named == ["INTERVIEW 3", "Ward: 4B", "Interviewer: K. Osei", *talk]
    initials = texts.document("b", "\n".join([*head, "KO: Who is on call?", "P03: Nobody."])).texts
    assert initials == ["INTERVIEW 3", "Ward: 4B", "KO: Who is on call?", "P03: Nobody."]
    assert {one.why for one in texts.removed} == {"front matter"}
    assert texts.document("c", "\n".join(talk)).texts == talk
    sheet = ["Serves: 4", "Oven: 180 degrees", "Language: plain", "Beat the eggs."]
    assert texts.document("d", "\n".join(sheet)).texts == sheet
