"""What a generated sentence, and a generated pair, must not be."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from abcdlink.corpus.records import Document
from abcdlink.domain import Domain
from abcdlink.errors import ServiceError
from abcdlink.languages import (
    ENGLISH,
    ends_like_a_sentence,
    guess_language,
    language_name,
    script_of,
    scripts,
    share_copied,
    word_count,
    words,
)
from abcdlink.llm.records import Answer

MIN_DISTINCT = 0.5
"""Lowest share of distinct words: below it a model is going round in circles."""
NEAR_COPY = 0.8
"""From this similarity on (2 x words in common, in order, by words of both) a sentence is a copy with small changes."""
QUOTED = 10
"""So many words in a row of the target document are a quotation."""
IN_ORDER = 4
"""From so many linked sentences on, links in the order of the target document are no accident (1 in 24)."""
PLACEHOLDER = re.compile(r"\[[^\]]*\]|[{}<>`]|_{2,}")


def require_answer(answer: Answer) -> None:
    """Raise ``ServiceError`` when the server answers nobody: that says nothing about the sentence, so ask later."""
    if answer.server_fault:
        msg = f"the LLM did not answer a question of the generation ({answer.detail})"
        raise ServiceError(msg, "check its log and run this again; what was answered is not asked again")


def tidy(text: str) -> str:
    """Return the text with every run of white space as one blank, none outside."""
    return " ".join(text.split())


def same(text: str) -> str:
    """Return what two sentences share when they differ in case, marks and white space only."""
    return " ".join(words(text))


class Checks:
    """Says what is wrong with what was written for one target document, which must not be copied.

    The domain gives the shortest and longest allowed sentence, and the examples of the prompts.
    """

    def __init__(self, target: Document, domain: Domain, language: str = ENGLISH) -> None:
        self._domain, self._language, self._texts = domain, language, target.texts
        self._words = [words(text) for text in target.texts]
        self._examples = {same(text) for text in domain.example_sentences}
        in_a_row = [word for said in self._words for word in said]
        # Where no blanks are written, a word is several of what ``words`` gives.
        pieces = len(in_a_row) / max(1, word_count(" ".join(target.texts)))
        self._quoted = round(QUOTED * max(1.0, pieces))
        self._quotable = self._runs(in_a_row)

    def sentence(self, text: str, taken: Collection[str]) -> str:
        """Say what is wrong with a tidy sentence; empty when nothing is.

        ``taken``: the sentences of the source document so far, as ``same`` gives them.
        """
        said, own, length = words(text), same(text), word_count(text)
        if not said:
            return "it is empty"
        longest = self._domain.settings.generation.max_words
        rules = (
            (length < self._domain.settings.sources.min_words, f"it has only {length} words"),
            (length > longest, f"it has {length} words, more than {longest}"),
            (not ends_like_a_sentence(text), "it does not end like a sentence"),
            (self._is_form(text), "it holds a placeholder or markup"),
            (len(set(said)) / len(said) < MIN_DISTINCT, "it repeats its own words"),
            (own in taken, "it repeats an earlier sentence"),
            (own in self._examples, "it repeats an example of the prompt"),
            (script_of(text) not in scripts(self._language), f"it is not in {language_name(self._language)}"),
        )
        return next((reason for broken, reason in rules if broken), "") or self._copy(said)

    def _is_form(self, text: str) -> bool:
        """Tell whether a text holds a placeholder or markup that its target document lacks: code has brackets too."""
        return any(not any(found in own for own in self._texts) for found in PLACEHOLDER.findall(text))

    def _copy(self, said: list[str]) -> str:
        own = " ".join(said)
        matcher = SequenceMatcher(autojunk=False)
        matcher.set_seq2(said)
        for position, original in enumerate(self._words):
            # A target of one or two words ("Methods.") may well occur inside another sentence.
            if original == said or (len(original) > 3 and f" {' '.join(original)} " in f" {own} "):  # noqa: PLR2004
                return f"it copies sentence {position} of the target document"
            matcher.set_seq1(original)
            if matcher.real_quick_ratio() >= NEAR_COPY and matcher.quick_ratio() >= NEAR_COPY <= matcher.ratio():
                return f"it is nearly sentence {position} of the target document"
        if not self._quotable.isdisjoint(self._runs(said)):
            return f"it quotes {QUOTED} or more words of the target document"
        return ""

    def _runs(self, said: Sequence[str]) -> set[tuple[str, ...]]:
        """Return all that would be a quotation of these words."""
        return set(zip(*(said[start:] for start in range(self._quoted)), strict=False))

    def unlinked(self, text: str) -> str:
        """Say what is wrong with a sentence that is to be linked to nothing; empty when nothing is."""
        limit = self._domain.settings.validation.max_overlap / 2
        for position, sentence in enumerate(self._texts):
            long_enough = word_count(sentence) >= self._domain.settings.sources.min_words
            if long_enough and share_copied(sentence, text) > limit:
                return f"it reports what sentence {position} of the target document says"
        return ""

    def pair(self, sentences: Sequence[str], links: Sequence[tuple[int, tuple[int, ...]]]) -> str:
        """Say what is wrong with a whole source document and its links; empty when nothing is."""
        found = guess_language(sentences, self._language)
        if found != self._language:
            return f"it is in {language_name(found)}, not in {language_name(self._language)}"
        if in_target_order(links):
            return "its links follow the order of the target document"
        return ""


def in_target_order(links: Sequence[tuple[int, tuple[int, ...]]]) -> bool:
    """Tell whether the linked sentences, four or more, take up the target document from its start to its end."""
    firsts = [min(found) for _, found in sorted(links) if found]
    return len(firsts) >= IN_ORDER and all(a < b for a, b in pairwise(firsts))
