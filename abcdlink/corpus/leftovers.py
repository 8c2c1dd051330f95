"""Lines of plain text that are not part of what was written or said: removed before sentences are cut.

Page numbers, running heads and rules, quoted mail and signatures, code and stack traces, pictures and heads of tables,
cues and time stamps, what a program repeats, the fields before a text.
A line is removed whole, or loses the time stamp at its start; all that is removed is returned, with its place and the
reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise, takewhile
from operator import itemgetter

from abcdlink.corpus.lines import (
    AGAIN,
    CODE,
    CUE,
    FRONT,
    HEAD,
    PICTURE,
    RULE,
    STAMP,
    TRACE,
    Lines,
    Rest,
)
from abcdlink.corpus.mail import remove_mail
from abcdlink.corpus.marks import ROW
from abcdlink.corpus.pages import BARE_NUMBER, remove_heads

RULED = re.compile(r"^\s*(?:[|+:=_*~#.·•–—-]\s*){3,}$")  # noqa: RUF001 - what rules are drawn with

FRONT_MARK = ("---", "+++")
FRONT_LINE = re.compile(r"^\s*(?:[\w.-]+\s*[:=](?:\s|$)|-\s|[\]}#])|^\s+\S")
"""A field in YAML or TOML, or what belongs to the field before."""
FRONT_NAME = re.compile(
    r"^(?:title|date|authors?|layout|tags|categor(?:y|ies)|draft|slug|lang|permalink|description)\b"
)
"""A field that site generators know: without one, lines like ``Ann: Hello.`` between rules may be the text itself."""

FIELD = re.compile(r"^\s*(?P<name>[^\W\d_][\w /'’-]{1,28}?)\s*:\s+\S.{0,120}$")  # noqa: RUF001 - an apostrophe
FIELD_NAME = re.compile(
    r"date|duration|length|authors?|written by|reported by|participants?(?: id)?|interview(?:er|ee)|respondent"
    r"|moderator|transcri(?:ber|bed by|ption)|record(?:ed|ing)(?: on| by)?|project|study|language|published|updated"
    r"|datum|dauer|autor(?:in)?|verfasser(?:in)?|teilnehmer(?:in)?|befragter?|projekt|sprache|durée|auteure?"
    r"|enquêteu(?:r|se)|fecha|duración|autora?|entrevistadora?|entrevistad[ao]|data|durata|autore|intervistat[oa]",
    re.IGNORECASE,
)
"""What is said of a document before it begins, such as ``Interviewer: K. Osei``: nothing that anybody would link."""
MOST_TITLES, LEAST_FIELDS = 2, 2

FENCE = re.compile(r"^\s*(```|~~~|\{(?:code|noformat)(?=[:}]))")
"""The start of code, in Markdown or as issue trackers have it: ``{code:bash}``."""
PICTURED = re.compile(
    r"^\s*(?:[-*]\s+)?(?:\[?!\[[^\]]*\]\([^()]*\)(?:\]\([^()]*\))?|!\S+\.(?:png|jpe?g|gif|webp|svg)(?:\|[^!]*)?!)\s*$",
    re.IGNORECASE,
)
"""Nothing but a picture, in Markdown (also one that is a link) or as issue trackers have it."""
TABLE_HEAD = re.compile(r"^\s*\|\|.*\|\|\s*$")
TABLE_RULE = re.compile(r"^\s*\|(?:\s*:?-+:?\s*\|)+\s*$")
FRAME = re.compile(
    r"^\s+at\s\S.*(?:\)|:\d+|[\s:]line\s\d+)$|^\s*\.\.\. \d+ (?:more|common frames omitted)$"
    r"|^\s*#\d+\s+0x[0-9a-f]+\s|^\s*File \"[^\"]+\", line \d+"
)
LOG = re.compile(
    r"^\W?\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d\S*\s.{0,40}?"
    r"\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL)\b"
    r"|^(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d \S+ [\w./-]+(?:\[\d+\])?:\s"
)
TO_BLANK = re.compile(r"^\s*(?:goroutine \d+ \[.*\]|stack backtrace):$")
"""The start of a stack trace of Go or Rust, which ends at a blank line."""
TRACEBACK = re.compile(r"^\s*Traceback \(most recent call last\):$")

CUE_TIME = re.compile(r"^\s*(?:\d+:)?\d{1,2}:\d\d[.,]\d{1,3}\s+-->\s+(?:\d+:)?\d{1,2}:\d\d[.,]\d{1,3}")
VOICE = re.compile(r"^<v(?:\.[^\s>]*)*\s+(?P<name>[^>]+)>")
CLOCK = r"\d{1,2}:\d\d"
TIME = rf"{CLOCK}(?::\d\d)?(?:[.,]\d{{1,3}})?"
TIME_STAMP = re.compile(
    rf"^\s*(?:[\[(]{TIME}[\])]|{CLOCK}:\d\d(?:[.,]\d{{1,3}})?"
    rf"|\[?\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}},?\s+{CLOCK}(?::\d\d)?(?:\s?[ap]\.?m\.?)?\]?)\s*(?:[-–—]\s+)?(?=\S)",  # noqa: RUF001
    re.IGNORECASE,
)
STAMP_ALONE = re.compile(rf"^\s*(?:[\[(]{TIME}[\])]|{CLOCK}:\d\d(?:[.,]\d{{1,3}})?)\s*$")
SPEAKER = re.compile(r"(?P<who>\w[\w .'’-]{0,38}\w|\w)\s*:?\s*$")  # noqa: RUF001
SPOKEN_AT = re.compile(
    r"^\s*(?P<who>\w[\w .'’-]{0,39}?)"  # noqa: RUF001
    rf"(?::\s*[\[(]{TIME}[\])](?=\s*\S)|\s*[\[(]{TIME}[\])]\s*(?::|$)|\s{{2,}}{TIME}\s*$)\s*"
)
"""A speaker and the time: ``Ann: [00:01:07] Yes.``, ``Ann [01:07]: Yes.``, ``Ann  1:07`` on a line of its own."""
LEAST_AGAIN = 3
"""Times that a line follows itself from which a program wrote it: people have to judge it once only."""
LEAST_ALONE = 2
"""Lines with nothing but a time, from which they are time stamps."""
LEAST_STAMPED, SHARE_STAMPED = 3, 0.3
"""Time stamps, and their share of the lines, from which a text is a transcript."""


LinePattern = tuple[re.Pattern[str], str]
"""What is found in a line that is to be removed, and what such a line is called."""


def without_leftovers(text: str, further: Sequence[LinePattern] = ()) -> Rest:
    """Remove from a text the lines that are not part of it; where nothing would be left, the text stays as it is.

    ``further``: more lines to remove: patterns, each with what is said of a line that it is found in.
    """
    lines = Lines(text)
    for number, line in enumerate(lines.texts):
        why = next((name for pattern, name in further if pattern.search(line)), "")
        if why:
            lines.remove(number, why)
    _front_matter(lines)
    for number, line in list(lines.left()):
        if RULED.match(line):
            lines.remove(number, RULE)
    for find in (_fields, _code, _tables, _cues, remove_heads, remove_mail, _stamps, _repeated):
        find(lines)
    return lines.rest()


def _front_matter(lines: Lines) -> None:
    mark, *rest = (line.strip("\ufeff \t") for line in lines.texts)
    if mark in FRONT_MARK and mark in rest:
        end = rest.index(mark) + 1
        fields = [line for line in lines.texts[1:end] if line.strip()]
        if any(map(FRONT_NAME.match, fields)) and all(map(FRONT_LINE.match, fields)):
            for number in range(end + 1):
                lines.remove(number, FRONT)


def _fields(lines: Lines) -> None:
    """Remove known fields from the block of fields that opens a text, perhaps after its titles."""
    left = list(lines.left())
    titles = sum(1 for _ in takewhile(lambda one: not FIELD.match(one[1]), left[: MOST_TITLES + 1]))
    block = takewhile(itemgetter(1), ((number, FIELD.match(line)) for number, line in left[titles:]))
    known = {number: field["name"] for number, field in block if field and FIELD_NAME.fullmatch(field["name"])}
    if titles > MOST_TITLES or len(known) < LEAST_FIELDS:
        return
    times = Counter(field["name"].casefold() for _, line in left if (field := FIELD.match(line)))
    once = [number for number, name in known.items() if times[name.casefold()] == 1]  # else somebody speaks
    if len(once) >= LEAST_FIELDS:
        for number in once:
            lines.remove(number, FRONT)


def _code(lines: Lines) -> None:
    start, mark = -1, ""
    for number, line in enumerate(lines.texts):
        fence = FENCE.match(line)
        if not mark and fence:
            start, mark = number, fence[1] + "}" * fence[1].startswith("{")
        elif mark and line.strip() == mark:
            for inside in range(start, number + 1):
                lines.remove(inside, CODE)
            mark = ""
    in_traceback = to_blank = False
    for number, line in enumerate(lines.texts):
        to_blank = bool(line.strip()) and (to_blank or bool(TO_BLANK.match(line)))
        if number in lines.gone or not line.strip():
            continue
        in_traceback = bool(TRACEBACK.match(line)) or (in_traceback and line[:1].isspace())
        if in_traceback or to_blank or FRAME.match(line) or LOG.match(line):
            lines.remove(number, TRACE)


def _tables(lines: Lines) -> None:
    for number, line in list(lines.left()):
        following = lines.texts[number + 1] if number + 1 < len(lines.texts) else ""
        if TABLE_HEAD.match(line) or (ROW.fullmatch(line.strip()) and TABLE_RULE.match(following)):
            lines.remove(number, HEAD)
        elif PICTURED.match(line):
            lines.remove(number, PICTURE)


def _cues(lines: Lines) -> None:
    times = [number for number, line in enumerate(lines.texts) if CUE_TIME.match(line)]
    if len(times) < 2:  # noqa: PLR2004 - one may be a quotation
        return
    lines.has_cues = True
    for number in times:
        lines.remove(number, CUE)
        if number and BARE_NUMBER.match(lines.texts[number - 1].strip()):
            lines.remove(number - 1, CUE)
    if lines.texts[0].lstrip("\ufeff").startswith("WEBVTT"):
        lines.remove(0, CUE)
    speaker = ""
    for number, line in lines.left():
        voice = VOICE.match(line)
        if voice:
            is_other, speaker = voice["name"] != speaker, voice["name"]
            lines.cut[number] = (voice[0], CUE, f"{speaker}: " if is_other else "")


def _stamps(lines: Lines) -> None:
    alone = [number for number, line in lines.left() if STAMP_ALONE.match(line)]
    for number in alone if len(alone) >= LEAST_ALONE else ():
        lines.remove(number, STAMP)
    left = list(lines.left())
    found = {number: match for number, line in left if (match := SPOKEN_AT.match(line) or TIME_STAMP.match(line))}
    if len(found) < LEAST_STAMPED or len(found) < SHARE_STAMPED * len(left):
        return
    after = {number: later for (number, _), (later, _) in pairwise(left) if later not in found}
    behind = {number: SPEAKER.match(match.string, match.end()) for number, match in found.items()}
    in_front = {number: match for number, match in found.items() if match.re is SPOKEN_AT}
    names = behind if all(behind.values()) and len(set(found) - set(after)) <= 1 else in_front
    own_line = {number for number in names if names is behind or found[number].end() == len(found[number].string)}
    if len(own_line - set(after)) > 1:  # a timetable
        return
    for number, match in found.items():
        name = names.get(number)
        who = f"{name['who']}: " if name else ""
        if number not in own_line:
            lines.cut.setdefault(number, (match[0], STAMP, who))
        elif number in after:
            lines.remove(number, STAMP)
            lines.cut.setdefault(after[number], ("", STAMP, who))


def _repeated(lines: Lines) -> None:
    for _, same in groupby(lines.left(), key=lambda one: lines.shown(one[0])):
        _, *again = (number for number, _ in same)
        if len(again) + 1 >= LEAST_AGAIN:
            for number in again:
                lines.remove(number, AGAIN)
