"""Cuts text into sentences with spaCy: a trained model where one is installed, else rules."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from abcdlink.corpus.records import Document, Sentence
from abcdlink.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spacy.language import Language
    from spacy.tokens import Doc, Token

MODELS = {"en": ("en_core_web_md", "en_core_web_sm")}
"""Trained models by language, best first."""

RULES = "rules"
"""Name of the segmenter that needs no trained model."""

LINE_ENDS = re.compile("[\r\n\u2028\u2029]+")

ABBREVIATIONS = (
    *("al.", "approx.", "Assoc.", "Ave.", "cf.", "Ch.", "Col.", "Dept.", "Dr.", "ed.", "eds.", "e.g.", "Eq.", "Eqs."),
    *("esp.", "est.", "Fig.", "Figs.", "fig.", "figs.", "Gen.", "Gov.", "i.e.", "incl.", "Jr.", "Lt.", "Maj."),
    *("Messrs.", "Mr.", "Mrs.", "Ms.", "Mt.", "No.", "Nos.", "nr.", "pp.", "Prof.", "Ref.", "Refs.", "Rep.", "resp."),
    *("Rev.", "Sec.", "Sen.", "Sgt.", "Sr.", "St.", "Tab.", "vol.", "Vol.", "viz.", "vs."),
)
"""Abbreviations that mostly stand before more of the same sentence, so that their full stop ends nothing.

Those that often end a sentence ("etc.", "Inc.") are left out on purpose.
"""

CLOSING = frozenset(")]}”’»")  # noqa: RUF001 - quotes as they are typeset
DASHES = frozenset("-–—•*·")  # noqa: RUF001 - the dashes that open list items
QUOTES = frozenset("\"'”’»")  # noqa: RUF001 - quotes as they are typeset


class Segmenter:
    """Cuts text into sentences; a line end always ends a sentence.

    Args:
        name: what does the work: the name of a spaCy model, or ``rules``.
        pipeline: a spaCy pipeline that sets sentence starts.
    """

    def __init__(self, name: str, pipeline: Language) -> None:
        self.name = name
        self._pipeline = pipeline

    def split(self, text: str) -> list[str]:
        """Return the sentences in order, without white space around them; blank text gives none.

        Raises:
            InputError: when one line is longer than the model can read.
        """
        lines = [line.strip() for line in LINE_ENDS.split(text)]
        longest = max(map(len, lines))
        if longest > self._pipeline.max_length:
            msg = f"one line has {longest} characters, more than the {self._pipeline.max_length} that {self.name} reads"
            raise InputError(msg, "put line ends between paragraphs")
        documents = self._pipeline.pipe(line for line in lines if line)
        return [sentence for document in documents for sentence in _sentences(document)]

    def document(self, document_id: str, text: str) -> Document:
        """Cut a text into a document whose sentence ids are 0, 1, 2 ...; ``InputError`` when it is blank."""
        sentences = (Sentence(id=str(index), text=sentence) for index, sentence in enumerate(self.split(text)))
        return Document(id=document_id, sentences=tuple(sentences))


@lru_cache
def get_segmenter(language: str = "en") -> Segmenter:
    """Return the best segmenter that is installed for a language.

    Args:
        language: an ISO code that spaCy knows.

    Raises:
        InputError: when spaCy does not know the language.
    """
    import spacy
    import spacy.util

    for model in MODELS.get(language, ()):
        if spacy.util.is_package(model):
            # The parser sets sentence starts; the rest of the model would only cost time.
            pipeline = spacy.load(model, exclude=["tagger", "attribute_ruler", "lemmatizer", "ner"])
            return Segmenter(model, pipeline)
    return Segmenter(RULES, _rules(language))


def _rules(language: str) -> Language:
    import spacy

    try:
        pipeline = spacy.blank(language)
    except ImportError:
        msg = f"spaCy knows no language {language!r}"
        raise InputError(msg, "use an ISO code such as en, de or fr") from None
    if language == "en":
        for abbreviation in ABBREVIATIONS:
            pipeline.tokenizer.add_special_case(abbreviation, [{"ORTH": abbreviation}])
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = 1_000_000_000  # the limit guards trained parsers, rules need none
    return pipeline


def _sentences(document: Doc) -> Iterator[str]:
    firsts = [sentence[0] for sentence in document.sents]
    starts = [_moved_start(first) for first in firsts if first.i == 0 or not _goes_on(first)]
    for start, end in zip(starts, [*starts[1:], len(document)], strict=True):
        if text := document[start:end].text.strip():
            yield text


def _goes_on(first: Token) -> bool:
    """Tell whether a lower-case word after a closing quote goes on with the sentence: "Why?" she said."""
    return bool(first.is_lower and first.nbor(-1).text in QUOTES and not _opens(first.nbor(-1)))


def _moved_start(token: Token) -> int:
    """Give an opening quote, bracket or list dash to the sentence it opens.

    spaCy's sentencizer leaves all punctuation after a full stop with the sentence before.
    """
    document, start = token.doc, int(token.i)
    while start > 1 and _opens(document[start - 1]) and document[start - 2].whitespace_:
        start -= 1
    return start


def _opens(token: Token) -> bool:
    if not token.is_punct or token.text in CLOSING or token.text[0] in ".!?":
        return False
    only_opens = token.is_left_punct and not token.is_right_punct
    return bool(only_opens or token.text in DASHES or not token.whitespace_)
