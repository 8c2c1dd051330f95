"""What depends on the language of a text: guessing and naming it, ends of sentences, words, tokens and stems.

Languages are ISO codes: those that spaCy knows, and some more. Text is handled by its script first, so that a sentence
in another language than the corpus's is never cut as if it were in that language.
"""

from __future__ import annotations

import importlib
import math
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from importlib.abc import MetaPathFinder
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import regex

from abcdlink.characters import NO_BLANKS, as_compared
from abcdlink.errors import InputError

Tokenizer = Callable[[str], list[str]]

ENGLISH = "en"
_UNSPACED = rf"\p{{Han}}\p{{Hiragana}}\p{{Katakana}}ー{NO_BLANKS}"
UNSPACED = regex.compile(rf"[{_UNSPACED}]")
"""A letter of a script that writes no blanks between words."""
_LETTERS = rf"[[\w\p{{N}}]--[{_UNSPACED}]]+"
WORD = regex.compile(rf"[{_UNSPACED}]\p{{M}}*|{_LETTERS}(?:['\u2019.,:-]{_LETTERS})*", regex.VERSION1)
"""A run of letters, combining signs and digits with inner marks (``don't``, ``3.5``, ``11-year-old``), or one letter
of a script without blanks."""

LOWER = r"(?!\p{Georgian})\p{Ll}"
"""A small letter; those of Georgian begin sentences too, as it has no capitals."""
CLOSING = r"[\p{Pe}\p{Pf}\"'\u00ab\u201c\uff02]"
"""What may follow the mark that ends a sentence; in German and Danish, quotes close with what opens English ones."""
TERMINAL = r"[\p{STerm}\u2026\uff61\u037e\u0f0d]"
"""A mark that ends a sentence, in any script."""
END = regex.compile(rf"{TERMINAL}{CLOSING}*$")

PIECE = regex.compile(rf"[{_UNSPACED}\p{{M}}]+|{_LETTERS}|[^\s\w]", regex.VERSION1)
"""What ``tokenizer`` makes of text that spaCy cuts into letters or not at all."""

_USUAL = """
Latin=en Han=zh Hiragana=ja Katakana=ja Hangul=ko Thai=th Lao=lo Devanagari=hi Arabic=ar Cyrillic=ru Greek=el
Hebrew=he Armenian=hy Bengali=bn Gujarati=gu Kannada=kn Malayalam=ml Tamil=ta Telugu=te Sinhala=si Gurmukhi=pa
Ethiopic=am Khmer=km Myanmar=my Georgian=ka Oriya=or Tibetan=bo
"""
USUAL = dict(entry.split("=") for entry in _USUAL.split())
"""Script -> the language that is assumed where nothing else is known."""

_SNOWBALL = """
ar=arabic ca=catalan da=danish de=german el=greek en=english es=spanish et=estonian eu=basque fi=finnish
fr=french ga=irish hi=hindi hu=hungarian hy=armenian id=indonesian it=italian lt=lithuanian ne=nepali nl=dutch
pt=portuguese ro=romanian ru=russian sr=serbian sv=swedish ta=tamil tr=turkish nb=norwegian
"""
STEMMERS = dict(entry.split("=") for entry in _SNOWBALL.split())
"""Language -> its Snowball stemmer."""

NO_DATA = frozenset({"zh", "ja", "ko", "th", "vi"})
"""Languages that spaCy cuts only with a package of their own (SudachiPy, MeCab, PyThaiNLP, pyvi)."""

_UNKNOWN_TO_SPACY = """
be=Belarusian bs=Bosnian ckb=Sorani cy=Welsh eo=Esperanto fy=Frisian gl=Galician ha=Hausa ig=Igbo jv=Javanese
ka=Georgian kk=Kazakh km=Khmer lo=Lao mg=Malagasy mn=Mongolian mt=Maltese my=Burmese oc=Occitan om=Oromo or=Odia
pa=Punjabi ps=Pashto qu=Quechua rw=Kinyarwanda sn=Shona so=Somali sw=Swahili tg=Tajik tk=Turkmen ug=Uyghur uz=Uzbek
xh=Xhosa zu=Zulu
"""
_NAMES = dict(entry.split("=") for entry in _UNKNOWN_TO_SPACY.split())
"""More languages; text in these, as in ``NO_DATA``, is cut into our own pieces."""

LETTERS_PER_WORD = 2
"""Of a word in a script without blanks, roughly: 1.6 in Chinese, 2 in Japanese, 3 in Thai."""
ENOUGH = 200
"""Letters from which a language in Latin script is guessed; shorter text is taken to be in the domain's."""
CLEAR = 40
"""By how much the log probability of another language must exceed that of the domain's before it is believed."""
SAMPLE = 20_000
"""Characters that a guess reads."""

_SCRIPTS = {script: regex.compile(rf"\p{{{script}}}") for script in USUAL}


@lru_cache(65536)
def script_of(text: str) -> str:
    """Return the script of most letters of a text; Japanese is ``Hiragana`` though it holds Han. Latin without any."""
    if text.isascii():
        return "Latin"
    counts = Counter({script: len(pattern.findall(text)) for script, pattern in _SCRIPTS.items()})
    kana = counts["Hiragana"] + counts["Katakana"]
    if kana and kana + counts["Han"] >= counts.total() / 2:
        return "Hiragana" if kana * 10 > counts["Han"] else "Han"
    script, most = counts.most_common(1)[0]
    return script if most else "Latin"


def guess_language(texts: Iterable[str], otherwise: str = ENGLISH) -> str:
    """Return the language that texts are most probably in, by py3langid on the first 20,000 characters.

    ``otherwise``: returned for text in Latin script that has less than 200 letters or is not clearly in another
    language. Sentences in other scripts are told apart well.
    """
    sample = ""
    for text in texts:
        sample += f"{text}\n"
        if len(sample) >= SAMPLE:
            break
    sample = sample[:SAMPLE]
    script = script_of(sample)
    latin = script == "Latin"
    home = otherwise if latin and "Latin" in scripts(otherwise) else USUAL[script]
    if latin and sum(map(str.isalpha, sample)) < ENOUGH:
        return home
    import py3langid

    named = (("nb" if code == "no" else code, float(weight)) for code, weight in py3langid.rank(sample))
    ranked = {code: weight for code, weight in named if is_known(code)}
    best = next((code for code in ranked if script in scripts(code)), USUAL[script])
    clear = not latin or ranked.get(best, -math.inf) - ranked.get(home, -math.inf) >= CLEAR
    return best if clear else home


def is_known(language: str) -> bool:
    """Tell whether texts in a language can be used."""
    return language in _NAMES or _in_spacy(language)


@cache
def _in_spacy(language: str) -> bool:
    return language != "xx" and language.isalpha() and _language_file(language).is_file()


def language_name(language: str) -> str:
    """Return the English name of a language; raises ``InputError`` when it is not known."""
    require(language)
    if language in _NAMES:
        return _NAMES[language]
    named = regex.search(r"class (\w+)\(Language\)", _language_file(language).read_text(encoding="utf-8"))
    return regex.sub(r"(?<=[a-z])(?=[A-Z])", " ", named[1]) if named else language


def _language_file(language: str) -> Path:
    """Return where spaCy defines a language: importing it would load torch, 5 seconds and 200 MB."""
    return Path(str(distribution("spacy").locate_file(f"spacy/lang/{language}/__init__.py")))


def require(language: str) -> None:
    """Raise ``InputError`` unless the language is known."""
    if not is_known(language):
        msg = f"abcdlink does not know the language {language!r}"
        raise InputError(msg, "use an ISO code such as en or el; for a language without one here, that of the nearest")


def writing_instruction(language: str) -> str:
    """Return what a prompt says so that the answer is in a language; empty for English, which prompts are in."""
    return "" if language == ENGLISH else f"Write in {language_name(language)}."


def ends_like_a_sentence(text: str) -> bool:
    """Tell whether text ends with a mark that ends sentences; Thai and Lao have no such mark."""
    return END.search(text) is not None or script_of(text) in {"Thai", "Lao"}


def begins_small(text: str) -> bool:
    """Tell whether text begins with a small letter, as what goes on in the middle of a sentence does."""
    return regex.match(LOWER, text) is not None


def words(text: str) -> list[str]:
    """Return the words of a text in order, in lower case; each letter is one where no blanks are written."""
    return [match[0].casefold() for match in WORD.finditer(as_compared(text))]


def word_count(text: str) -> int:
    """Return how many words a text has; where no blanks are written, two letters are taken as one word."""
    found = words(text)
    letters = sum(1 for word in found if UNSPACED.match(word))
    return len(found) - letters + math.ceil(letters / LETTERS_PER_WORD)


def share_copied(original: str, copy: str) -> float:
    """Return the share of the distinct words of ``original`` that ``copy`` contains too; 0 when it has none."""
    wanted = set(words(original))
    return len(wanted & set(words(copy))) / len(wanted) if wanted else 0.0


def tokenizer(language: str = ENGLISH) -> Tokenizer:
    """Return a tokenizer for texts in a language: spaCy's token texts, cased, nothing removed.

    A text in another script is cut by the language that is usual for that script. Scripts without blanks give
    bigrams of characters, which serve lexical retrieval well (OCNLI: P@1 83.5 %).
    """

    def tokenize(text: str) -> list[str]:
        return _split(_language_of(text, language))(as_compared(text))

    return tokenize


def stemmer(language: str = ENGLISH) -> Tokenizer:
    """Return a tokenizer that gives stems of content words.

    Lower case, stop words and tokens without a letter or digit out, Snowball stems where the language has them.
    """

    def tokenize(text: str) -> list[str]:
        code = _language_of(text, language)
        stop_words, stem = _stop_words(code), _stem(code)
        tokens = (token.lower() for token in _split(code)(as_compared(text)))
        return [stem(token) for token in tokens if token not in stop_words and any(map(str.isalnum, token))]

    return tokenize


@cache
def scripts(language: str) -> frozenset[str]:
    """Return the scripts that a language is written in."""
    if language in {"ur", "fa", "ug", "ps", "ckb", "ar"}:
        return frozenset({"Arabic"})
    if language in {"mr", "ne", "sa", "hi"}:
        return frozenset({"Devanagari"})
    if language in {"uk", "bg", "be", "kk", "mk", "mn", "ky", "tg", "tt", "ru"}:
        return frozenset({"Cyrillic"})
    if language in {"sr", "uz"}:
        return frozenset({"Cyrillic", "Latin"})
    return frozenset(script for script, usual in USUAL.items() if usual == language) or frozenset({"Latin"})


def _language_of(text: str, language: str) -> str:
    script = script_of(text)
    return language if script in scripts(language) else USUAL[script]


@cache
def spacy() -> Any:  # noqa: ANN401 - a module without types
    """Import spaCy without torch, which it loads when it can although tokenizers and small models use none of it.

    That saves a second of CPU and 190 MB in every process. Other threads can import torch meanwhile.
    """
    without = _WithoutTorch(threading.get_ident())
    sys.meta_path.insert(0, without)
    try:
        return importlib.import_module("spacy")
    finally:
        sys.meta_path.remove(without)


class _WithoutTorch(MetaPathFinder):
    """Hide torch from the imports of one thread."""

    def __init__(self, thread: int) -> None:
        self._thread = thread

    def find_spec(self, name: str, *_: object) -> None:
        if name == "torch" and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(name, name=name)


@cache
def _split(language: str) -> Tokenizer:
    if language in NO_DATA or not _in_spacy(language):
        return _pieces
    split = spacy().blank(language).tokenizer
    return lambda text: [token.text for token in split(text)]


def _pieces(text: str) -> list[str]:
    found: list[str] = []
    for piece in PIECE.findall(text):
        if UNSPACED.match(piece) and len(piece) > 1:
            found += (piece[i : i + 2] for i in range(len(piece) - 1))
        else:
            found.append(piece)
    return found


@cache
def _stop_words(language: str) -> frozenset[str]:
    if not _in_spacy(language):
        return frozenset()
    spacy()
    try:
        module: Any = importlib.import_module(f"spacy.lang.{language}.stop_words")
    except ImportError:
        return frozenset()
    return frozenset(module.STOP_WORDS)


@cache
def _stem(language: str) -> Callable[[str], str]:
    if language not in STEMMERS:
        return str
    import snowballstemmer

    return lru_cache(1_000_000)(snowballstemmer.stemmer(STEMMERS[language]).stemWord)
