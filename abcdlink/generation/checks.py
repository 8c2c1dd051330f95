"""What a generated sentence must not be."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from abcdlink.domain import Domain
from abcdlink.errors import ServiceError
from abcdlink.languages import ends_like_a_sentence, share_copied, word_count, words
from abcdlink.llm.records import Answer

MIN_DISTINCT = 0.5
"""Lowest share of distinct words: below it a model is going round in circles."""
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


def fault_of(text: str, domain: Domain, target: Sequence[str], taken: Collection[str]) -> str:
    """Say what is wrong with a generated sentence; empty when nothing is.

    Args:
        text: the sentence, tidy.
        domain: gives the shortest and longest allowed sentence, and the examples of the prompt.
        target: the sentences of the target document, which must not be copied.
        taken: the sentences of the source document so far, as ``same`` gives them.
    """
    said, own, length = words(text), same(text), word_count(text)
    if not said:
        return "it is empty"
    longest = domain.settings.generation.max_words
    rules = (
        (length < domain.settings.sources.min_words, f"it has only {length} words"),
        (length > longest, f"it has {length} words, more than {longest}"),
        (not ends_like_a_sentence(text), "it does not end like a sentence"),
        (PLACEHOLDER.search(text) is not None, "it holds a placeholder or markup"),
        (len(set(said)) / len(said) < MIN_DISTINCT, "it repeats its own words"),
        (own in taken, "it repeats an earlier sentence"),
        (own in examples_of(domain), "it repeats an example of the prompt"),
    )
    return next((reason for broken, reason in rules if broken), "") or _copy_fault(own, target)


def _copy_fault(own: str, target: Sequence[str]) -> str:
    for position, sentence in enumerate(target):
        original = same(sentence)
        # A target of one or two words ("Methods.") may well occur inside another sentence.
        if original == own or (word_count(original) > 3 and f" {original} " in f" {own} "):  # noqa: PLR2004
            return f"it copies sentence {position} of the target document"
    return ""


def link_fault_of(text: str, domain: Domain, target: Sequence[str]) -> str:
    """Say what is wrong with a sentence that is to be linked to nothing; empty when nothing is."""
    limit = domain.settings.validation.max_overlap / 2
    for position, sentence in enumerate(target):
        if word_count(sentence) >= domain.settings.sources.min_words and share_copied(sentence, text) > limit:
            return f"it tells of sentence {position} of the target document"
    return ""


def examples_of(domain: Domain) -> set[str]:
    """Return the sentences that prompts show as examples, as ``same`` gives them."""
    shown = [example.source for example in domain.examples]
    shown += [example.sentence for example in domain.settings.generation.unlinked_examples]
    return {same(sentence) for sentence in shown}
