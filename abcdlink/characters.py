"""Characters that nobody sees, and text that was garbled on its way: what an import removes or tells."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

import regex

NO_BLANKS = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Alphabets that write no blanks between words."""
HIDDEN = regex.compile(
    r"[\u00ad\u180e\u202d\u202e\u2060-\u2064\ufeff]"
    rf"|(?<![{NO_BLANKS}\p{{Tibetan}}])\u200b(?![{NO_BLANKS}\p{{Tibetan}}])"
    r"|(?<!\U0001f3f4[\U000e0020-\U000e007e]*)[\U000e0000-\U000e007f]"
)
"""Soft hyphens, characters without width, tags, and marks that turn the order of letters around.

With them a word is another one, or people see another text than programs read. The zero-width space stays where
it parts words, tags stay in flags.
"""
MARKS = regex.compile(r"[\u061c\u200e\u200f]")
"""Marks of direction, which people need to see a text in the right order."""

NOT_SEEN = re.compile("[\u00ad\u061c\u180e\u200b\u200e\u200f\u202d\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f]")
"""What both may match, told at once in the many texts without."""

READ_AS = (
    *("WINDOWS-1252", "ISO-8859-1", "MACINTOSH", "WINDOWS-1250", "WINDOWS-1251", "WINDOWS-1253", "WINDOWS-1256"),
)
"""As what UTF-8 is read by mistake."""
RUN = regex.compile(r"[^\x00-\x7f\u00a0]{2,}")
SOUND = regex.compile(
    r"[\u00a1-\u017f\u2010-\u203a\u20ac\u2122]+|\p{Emoji_Presentation}+"
    r"|[\p{Han}\p{Hiragana}\p{Katakana}\u3000-\u303f]{2,}"
    r"|\p{Greek}{2,}|\p{Cyrillic}{2,}|\p{Arabic}{2,}|\p{Hebrew}{2,}|\p{Devanagari}{2,}|\p{Hangul}{2,}|\p{Thai}{2,}"
)
"""What people write with, one script at a time; a single letter of another script may come about by chance."""
CHANCE = regex.compile(
    "[\u00c0-\u00df\u0102\u0139][\u00ab\u00bb\u2013\u2014\u2018\u2019\u201c\u201d\u2026]"
    "|(?<=[A-Z])[\u00c2\u00c4\u0102\u0139][\u0160\u0164\u017d\u015e]|\u0102[\u015e\u015f]|\u0415[\u0401\u0451]"
)
"""A capital letter at the end of a quotation; letters that meet in Slovak, Romanian and Russian."""


def without_hidden(text: str) -> str:
    """Return a text without the characters that nobody sees."""
    return HIDDEN.sub("", text) if NOT_SEEN.search(text) else text


def holds_hidden(text: str) -> bool:
    """Tell whether a text has characters that nobody sees."""
    return NOT_SEEN.search(text) is not None and HIDDEN.search(text) is not None


def as_compared(text: str) -> str:
    """Return a text as words are compared: letters composed (NFC), without hidden characters and direction marks."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", MARKS.sub("", without_hidden(text)) if NOT_SEEN.search(text) else text)


def in_order(text: str) -> str:
    """Return a text with a mark of its direction in front where it begins with letters that run the other way.

    Browsers show a text in the direction of its first letter, which may be that of a foreign name.
    """
    if text.isascii():
        return text
    kinds = [kind for kind in map(unicodedata.bidirectional, text) if kind in {"L", "R", "AL"}]
    is_to_the_right = 3 * kinds.count("L") > 2 * len(kinds)
    if not kinds or (kinds[0] == "L") == is_to_the_right:
        return text
    return ("\u200e" if is_to_the_right else "\u200f") + text


def garbled_by(text: str) -> str:
    """Return the encoding as which UTF-8 was read where a text says "Ã©" instead of "é"; empty where it looks sound."""
    if not text.isascii() and _beginnings().search(text):
        runs = [run[0] for run in RUN.finditer(text) if not CHANCE.fullmatch(text, *run.span())]
        sound = {
            encoding: sum(bool(SOUND.fullmatch(_read_again(run, encoding))) for run in runs) for encoding in READ_AS
        }
        encoding = max(sound, key=sound.__getitem__)
        return encoding if sound[encoding] else ""
    return ""


@cache
def _beginnings() -> re.Pattern[str]:
    """Return a pattern of how runs begin that may be UTF-8 read as another encoding."""
    found = []
    for encoding in READ_AS:
        letters = {code: re.escape(letter) for letter, code in _codes(encoding).items()}
        two, three, four, more = (
            f"[{''.join(letters[code] for code in range(*codes))}]"
            for codes in ((0xC2, 0xE0), (0xE0, 0xF0), (0xF0, 0xF5), (0x80, 0xC0))
        )
        found += [two + more, three + more * 2, four + more * 3]
    return re.compile(f"(?<![^\x00-\x7f\u00a0])(?:{'|'.join(found)})")


def _read_again(run: str, encoding: str) -> str:
    codes = _codes(encoding)
    try:
        return bytes(codes[letter] for letter in run).decode()
    except (KeyError, UnicodeDecodeError):
        return ""


@cache
def _codes(encoding: str) -> dict[str, int]:
    """Return character -> its byte; a byte that means nothing is read as the control character of its number."""
    return {bytes([code]).decode(encoding, "ignore") or chr(code): code for code in range(0x80, 0x100)}
