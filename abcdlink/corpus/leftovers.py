"""Lines of plain text that are not part of what was written or said: removed before sentences are cut.

Page numbers, running heads and rules, quoted mail and signatures, code and stack traces, cues and time stamps, the
fields before a Markdown text. A line
is removed whole, or loses the time stamp at its start; all that is removed is returned, with its place and the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from abcdlink.languages import END, begins_small

PAGE, CODE, QUOTED, SIGNATURE, HEADER = "page number or running head", "code", "quoted mail", "signature", "mail header"
TRACE, CUE, STAMP, RULE = "stack trace or log", "cue of a subtitle", "time stamp", "rule"
FRONT = "front matter"

LINE = re.compile("\r\n|[\r\n\f\u2028\u2029]")
MOST_SIGNED = 10
"""Lines that a signature has at most."""

NUMBERED_PAGE = re.compile(
    r"^\W{0,3}(?:page|p\.|seite|s\.|p[áa]gina|blz\.?|sida|side|strona)\s*\d{1,5}(?:\s*(?:of|von|de|sur|di|van|av|/)\s*\d{1,5})?\W{0,3}$"
    r"|^[-–—]\s*\d{1,5}\s*[-–—]$",  # noqa: RUF001 - dashes around a page number
    re.IGNORECASE,
)
HEAD = re.compile(r"^(?P<first>\d{1,5})(?:\s{2,}|\t)(?P<text>\S.*)$|^(?P<left>\S.*?)(?:\s{2,}|\t)(?P<last>\d{1,5})$")
SIDES = 2
BARE_NUMBER = re.compile(r"^\d{1,5}$")
INDENTED = 8
"""Blanks before a number from which it is set apart from the text."""
RULED = re.compile(r"^\s*(?:[|+:=_*~.·•–—-]\s*){3,}$")  # noqa: RUF001 - what rules are drawn with

FRONT_MARK = ("---", "+++")
FRONT_LINE = re.compile(r"^\s*(?:[\w.-]+\s*[:=](?:\s|$)|-\s|[\]}#])|^\s+\S")
"""A field in YAML or TOML, or what belongs to the field before."""
FRONT_NAME = re.compile(
    r"^(?:title|date|authors?|layout|tags|categor(?:y|ies)|draft|slug|lang|permalink|description)\b"
)
"""A field that site generators know: without one, lines like ``Ann: Hello.`` between rules may be the text itself."""

FENCE = re.compile(r"^\s*(```|~~~)")
FRAME = re.compile(
    r"^\s+at\s\S.*(?:\)|:\d+|\sline\s\d+)$|^\s*\.\.\. \d+ (?:more|common frames omitted)$"
    r"|^\s*#\d+\s+0x[0-9a-f]+\s|^\s*File \"[^\"]+\", line \d+"
)
LOG = re.compile(
    r"^\W?\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d\S*\s.{0,40}?"
    r"\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL)\b"
)
TRACEBACK = re.compile(r"^\s*Traceback \(most recent call last\):$")

SENDER = r"From|Von|De|Da|Van|Från|Fra|Od"
SUBJECT = r"Subject|Betreff|Objet|Asunto|Oggetto|Onderwerp|Assunto|Ämne|Emne|Temat"
FIELD = re.compile(
    rf"^(?:(?P<sender>{SENDER})|(?P<subject>{SUBJECT})|To|Cc|Bcc|Date|Sent|Reply-To|Message-ID|MIME-Version|In-Reply-To"
    r"|References|Received|Return-Path|Importance|Priority|Attachments?|Content-[\w-]+|X-[\w-]+|List-[\w-]+|DKIM-[\w-]+"
    r"|An|Kopie|Gesendet|Datum|Anlagen?|À|Envoyé(?: le)?|Pièces? jointes?|Para|Enviado(?: el)?|Fecha|A|Inviato|Data"
    r"|Aan|Verzonden|Till|Skickat|Til|Sendt|Do|Wysłano)\s?:(?:\s|$)",
    re.IGNORECASE,
)
LEAST_FIELDS = 3
"""Lines of a mail's header from which it is one; one fewer where the sender has an address."""
ADDRESS = re.compile(r"\S@\S+\.\w")
ATTRIBUTION = re.compile(
    r"^(?:>\s*)*(?:(?:On|Am|Le|El|Il|Op|Em|Den|W dniu)\b.{6,200}\b|@[\w.-]+ )"
    r"(?:wrote|schrieb|a écrit|escribió|ha scritto|schreef|escreveu|skrev|napisał)\b.{0,80}:$"
)
ORIGINAL = re.compile(
    r"^[-_]{2,}\s*(?:Original Message|Ursprüngliche Nachricht|Message d['’]origine|Mensaje original"  # noqa: RUF001
    r"|Messaggio originale|Oorspronkelijk bericht|Mensagem original|Ursprungligt meddelande)\s*[-_]{2,}$",
    re.IGNORECASE,
)
DEVICE = re.compile(
    r"^(?:Sent from my|Get Outlook for|Von meinem \S+ gesendet|Gesendet (?:von|mit) (?:meinem|der)"
    r"|Envoyé (?:de|depuis) mon|Enviado desde mi|Inviato da(?:l mio)?|Verstuurd vanaf mijn|Skickat från min)\b.{0,40}$",
    re.IGNORECASE,
)
CLOSE = re.compile(
    r"^(?:(?:(?:with )?(?:kind(?:est)?|best|warm(?:est)?|many) )?(?:regards|wishes)|all the best|best|cheers"
    r"|(?:yours )?(?:sincerely|faithfully|truly)(?: yours)?"
    r"|(?:mit )?(?:(?:freundliche[nm]?|beste[nm]?|viele[nm]?|herzliche[nm]?|liebe) )+"
    r"gr(?:ü|ue)(?:ß|ss)(?:e[nm]?)?|mfg|lg|(?:bien )?cordialement|bien à vous|salutations.{0,20}"
    r"|(?:un )?saludos?(?: cordiales)?"
    r"|cordiali saluti|met vriendelijke groet(?:en)?|med vänliga hälsningar|atenciosamente)\W{0,2}$",
    re.IGNORECASE,
)
LONGEST_SIGNED = 70
"""Characters of a line under a complimentary close."""

CUE_TIME = re.compile(r"^\s*(?:\d+:)?\d{1,2}:\d\d[.,]\d{1,3}\s+-->\s+(?:\d+:)?\d{1,2}:\d\d[.,]\d{1,3}")
VOICE = re.compile(r"^<v(?:\.[^\s>]*)*\s+(?P<name>[^>]+)>")
TAG = re.compile(r"</?(?:v|c|i|b|u|ruby|rt|lang)(?:[.\s][^>]*)?>|<(?:\d+:)?\d\d:\d\d\.\d{3}>")
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
LEAST_ALONE = 2
"""Lines with nothing but a time, from which they are time stamps."""
LEAST_STAMPED, SHARE_STAMPED = 3, 0.3
"""Time stamps, and their share of the lines, from which a text is a transcript."""


LinePattern = tuple[re.Pattern[str], str]
"""What is found in a line that is to be removed, and what such a line is called."""


class Rest(NamedTuple):
    """A text without its leftovers, and these: number of the line from 1, text, reason."""

    text: str
    removed: list[tuple[int, str, str]]


def without_leftovers(text: str, further: Sequence[LinePattern] = ()) -> Rest:
    """Remove from a text the lines that are no part of it; where nothing would be left, the text stays as it is.

    ``further``: more lines to remove: patterns, each with what is said of a line that it is found in.
    """
    lines = _Lines(text)
    for number, line in enumerate(lines.texts):
        why = next((name for pattern, name in further if pattern.search(line)), "")
        if why:
            lines.remove(number, why)
    _front_matter(lines)
    for number, line in list(lines.left()):
        if RULED.match(line):
            lines.remove(number, RULE)
    for find in (_code, _cues, _pages, _mail, _stamps):
        find(lines)
    return lines.rest()


class _Lines:
    """The lines of a text, and what is removed from them."""

    def __init__(self, text: str) -> None:
        self.whole = text
        self.texts = LINE.split(text)
        ends = [match.group() for match in LINE.finditer(text)]
        self.page_starts = {number + 1 for number, end in enumerate(ends) if end == "\f"}
        self.has_cues = False
        self.gone: dict[int, str] = {}
        self.cut: dict[int, tuple[str, str, str]] = {}
        """Line -> its beginning that goes, why, and what stands there instead."""

    def remove(self, number: int, why: str) -> None:
        if self.texts[number].strip():
            self.gone.setdefault(number, why)

    def left(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are there and not blank."""
        return ((n, line) for n, line in enumerate(self.texts) if n not in self.gone and line.strip())

    def rest(self) -> Rest:
        kept = [number for number, _ in self.left()]
        if not kept or not (self.gone or self.cut):
            return Rest(self.whole, [])
        made = [self._shown(kept[0])]
        for before, after in pairwise(kept):
            if number_of_breaks := self._breaks(before, after):
                made.append("\n" * number_of_breaks)
            made.append(self._shown(after))
        removed = [(number + 1, self.texts[number], why) for number, why in self.gone.items()]
        begun = {number: cut for number, cut in self.cut.items() if cut[0] and number not in self.gone}
        removed += [(number + 1, cut, why) for number, (cut, why, _) in begun.items()]
        return Rest("".join(made), sorted(removed))

    def _shown(self, number: int) -> str:
        cut, _, instead = self.cut.get(number, ("", "", ""))
        text = self.texts[number][len(cut) :]
        return instead + (TAG.sub("", text) if self.has_cues else text)

    def _breaks(self, before: int, after: int) -> int:
        """Return 1 where a line only goes on, 2 where a paragraph begins."""
        between = {self.gone.get(number, "") for number in range(before + 1, after)}
        _, why, instead = self.cut.get(after, ("", "", ""))
        if why == STAMP or instead:  # somebody else speaks
            return 2
        if CUE in between:
            return 1
        if PAGE in between:  # a sentence that goes on after the end of a page
            goes_on = begins_small(self.texts[after].lstrip()) and not END.search(self.texts[before].rstrip())
            return 1 if goes_on else 2
        return 2 if between else 1


def _front_matter(lines: _Lines) -> None:
    mark, *rest = (line.strip("\ufeff \t") for line in lines.texts)
    if mark in FRONT_MARK and mark in rest:
        end = rest.index(mark) + 1
        fields = [line for line in lines.texts[1:end] if line.strip()]
        if any(map(FRONT_NAME.match, fields)) and all(map(FRONT_LINE.match, fields)):
            for number in range(end + 1):
                lines.remove(number, FRONT)


def _code(lines: _Lines) -> None:
    start, mark = -1, ""
    for number, line in enumerate(lines.texts):
        fence = FENCE.match(line)
        if not mark and fence:
            start, mark = number, fence[1]
        elif mark and line.strip() == mark:
            for inside in range(start, number + 1):
                lines.remove(inside, CODE)
            mark = ""
    in_traceback = False
    for number, line in lines.left():
        in_traceback = bool(TRACEBACK.match(line)) or (in_traceback and line[:1].isspace())
        if in_traceback or FRAME.match(line) or LOG.match(line):
            lines.remove(number, TRACE)


def _cues(lines: _Lines) -> None:
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


def _pages(lines: _Lines) -> None:
    heads: dict[str, list[tuple[int, int]]] = {}
    """Text of a head -> its lines, each with the number of its page."""
    at_start: dict[str, list[int]] = {}
    before = -1
    for number, raw in list(lines.left()):
        line = raw.strip()
        if NUMBERED_PAGE.match(line):
            lines.remove(number, PAGE)
        elif BARE_NUMBER.match(line) and _stands_alone(lines, number):
            heads.setdefault("", []).append((number, int(line)))
        elif head := HEAD.match(line):
            name = (head["text"] or head["left"]).casefold()
            heads.setdefault(name, []).append((number, int(head["first"] or head["last"])))
        if any(before < start <= number for start in lines.page_starts):
            at_start.setdefault(re.sub(r"\d+", "", line).casefold(), []).append(number)
        before = number
    repeated = [numbers for numbers in at_start.values() if len(numbers) > 1]
    repeated += [[number for number, _ in found] for found in heads.values() if _count_pages(found)]
    for numbers in repeated:
        for number in numbers:
            lines.remove(number, PAGE)


def _count_pages(found: list[tuple[int, int]]) -> bool:
    """Tell whether numbers go up by one, or by two where the other side of a sheet has another head."""
    return len(found) > 1 and all(0 < later - page <= SIDES for (_, page), (_, later) in pairwise(found))


def _stands_alone(lines: _Lines, number: int) -> bool:
    around = (lines.texts[other] for other in (number - 1, number + 1) if 0 <= other < len(lines.texts))
    indent = len(lines.texts[number]) - len(lines.texts[number].lstrip())
    return indent >= INDENTED or number in lines.page_starts or not any(text.strip() for text in around)


def _mail(lines: _Lines) -> None:
    is_mail = _headers(lines)
    for number, line in list(lines.left()):
        why, last = _part_of_mail(lines, number, line.strip())
        is_mail = is_mail or bool(why)
        for other in range(number, last + 1):
            lines.remove(other, why)
    for number, line in list(lines.left()) if is_mail else ():
        if line.lstrip().startswith(">"):
            lines.remove(number, QUOTED)
        elif CLOSE.match(line.strip()):
            under = _run(lines, number)
            if len(under) <= MOST_SIGNED and all(len(lines.texts[other]) <= LONGEST_SIGNED for other in under):
                for other in under:
                    lines.remove(other, SIGNATURE)


def _part_of_mail(lines: _Lines, number: int, line: str) -> tuple[str, int]:
    """Return what goes from a line on that only mails have, and the last line that goes; ("", -1) otherwise."""
    end = len(lines.texts) - 1
    if ORIGINAL.match(line):
        return QUOTED, end
    if _is_attribution(line, lines.texts[number + 1 : number + 3]):
        return QUOTED, number if ATTRIBUTION.match(line) else number + 1
    if DEVICE.match(line):
        return SIGNATURE, number
    if line == "--" and 0 < sum(other > number for other, _ in lines.left()) <= MOST_SIGNED:
        return SIGNATURE, end
    return "", -1


def _headers(lines: _Lines) -> bool:
    """Remove the header lines of mails but for the subject; tells whether there are any."""
    found, block = False, list[tuple[int, re.Match[str] | None]]()
    for number, line in [*enumerate(lines.texts), (len(lines.texts), "")]:
        field = FIELD.match(line.strip())
        if field or (block and line[:1].isspace() and line.strip()):  # a field may go on in an indented line
            block.append((number, field))
            continue
        fields = [match for _, match in block if match]
        written = any(match["sender"] and ADDRESS.search(match.string) for match in fields)
        if len(fields) >= LEAST_FIELDS - written and any(match["sender"] for match in fields):
            found = True
            keeps = False
            for inside, match in block:
                keeps = bool(match["subject"]) if match else keeps
                if not keeps:
                    lines.remove(inside, HEADER)
        block = []
    return found


def _is_attribution(line: str, following: Sequence[str]) -> bool:
    """Tell whether a line, or it and the next, says who wrote what is quoted behind it."""
    after = [text.strip() for text in following if text.strip()]
    if not after:
        return False
    if ATTRIBUTION.match(line):
        return after[0].startswith(">")
    return len(after) > 1 and ATTRIBUTION.match(f"{line} {after[0]}") is not None and after[1].startswith(">")


def _run(lines: _Lines, first: int) -> list[int]:
    """Return the lines from one on, up to the next that is removed already or the end; a blank line is no end."""
    run = []
    for number in range(first, len(lines.texts)):
        if number in lines.gone:
            break
        if lines.texts[number].strip():
            run.append(number)
    return run


def _stamps(lines: _Lines) -> None:
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
