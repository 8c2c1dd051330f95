"""In-context examples come from the domain, never from the pairs under decision."""

from __future__ import annotations

from abcdlink.corpus.records import Corpus
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.linking.records import Approach
from abcdlink.words import words

MODES_WITH_EXAMPLES = (2, 4)
MIN_WORDS = 4
"""Shorter sentences ("Methods.") occur anywhere and give nothing away."""


def refuse_known_examples(domain: Domain, approach: Approach, corpus: Corpus, where: str) -> None:
    """Refuse an approach whose prompt shows a sentence of the corpus that it is to decide on.

    Sentences are the same when they differ in case, punctuation and white space only.

    Args:
        domain: whose examples the prompt shows.
        approach: only prompt modes 2 and 4 show examples.
        corpus: whose pairs are decided.
        where: the file of the corpus's documents, for the message.

    Raises:
        InputError: names the example, the sentence and both files.
    """
    if approach.prompt_mode not in MODES_WITH_EXAMPLES:
        return
    shown: dict[tuple[str, ...], int] = {}
    for number, example in enumerate(domain.examples, start=1):
        for text in (example.source, example.target):
            shown.setdefault(tuple(words(text)), number)
    shown = {text: number for text, number in shown.items() if len(text) >= MIN_WORDS}
    for document in corpus.used_documents():
        for sentence in document.sentences:
            number = shown.get(tuple(words(sentence.text)), 0)
            if number:
                msg = (
                    f"{domain.folder / 'examples.jsonl'}, example {number} is sentence {sentence.id!r} of the document "
                    f"{document.id!r} in {where}"
                )
                raise InputError(msg, "write another example, or use prompt mode 1 or 3: a prompt must not tell links")
