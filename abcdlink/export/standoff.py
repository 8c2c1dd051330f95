"""Data sets for annotation tools, with marks beside the text: brat and UIMA. A pair is one plain text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from abcdlink.corpus.records import Corpus
from abcdlink.errors import InputError
from abcdlink.export.dataset import Dataset, Files, JudgedPair, LabelledCandidate
from abcdlink.judgments import Provenance

if TYPE_CHECKING:
    from cassis import Cas, TypeSystem


PLACEHOLDER = "\N{REPLACEMENT CHARACTER}"
NOTHING_VISIBLE = "no visible character: shown as U+FFFD"
INVISIBLE = "\N{ZERO WIDTH SPACE}\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NO-BREAK SPACE}"
SLUG = re.compile(r"[^A-Za-z0-9._-]+")
SLUG_LENGTH = 60


class Side:
    """The two sides of a pair, as annotations name them."""

    SOURCE = "source"
    TARGET = "target"


class Span(NamedTuple):
    """Where a sentence is in the text: code points from ``begin`` to before ``end``."""

    begin: int
    end: int


@dataclass
class Cleaner:
    """Replaces characters that a format cannot hold, one for one, so that positions in the text stay valid.

    ``changes``: reason -> how many texts were changed.
    """

    forbidden: re.Pattern[str]
    replacement: str
    reason: str
    changes: Counter[str] = field(default_factory=Counter)

    def __call__(self, text: str) -> str:
        """Return the text as the format can hold it."""
        cleaned, count = self.forbidden.subn(self.replacement, text)
        self.changes[self.reason] += count > 0
        return cleaned

    def visible(self, text: str) -> str:
        """Return the cleaned text, or U+FFFD where it has nothing that could be marked."""
        cleaned = self(text)
        if cleaned.strip().strip(INVISIBLE).strip():
            return cleaned
        self.changes[NOTHING_VISIBLE] += 1
        return PLACEHOLDER


@dataclass(frozen=True)
class PairText:
    """Both documents of a pair, one sentence below the other, an empty line between the documents.

    ``places``: (side, sentence id) -> where the sentence is, without white space around it.
    """

    text: str
    places: dict[tuple[str, str], Span]


def lay_out(judged: JudgedPair, corpus: Corpus, clean: Callable[[str], str]) -> PairText:
    """Put the documents of a pair into one text; ``clean`` makes a sentence fit the format."""
    parts: list[str] = []
    places: dict[tuple[str, str], Span] = {}
    length = 0
    sides = (
        (Side.SOURCE, corpus.source_of(judged.pair), "\n\n"),
        (Side.TARGET, corpus.target_of(judged.pair), "\n"),
    )
    for side, document, end in sides:
        for sentence in document.sentences:
            text = clean(sentence.text)
            begin = length + len(text) - len(text.lstrip())
            places[side, sentence.id] = Span(begin, begin + len(text.strip()))
            parts += [text, end if sentence is document.sentences[-1] else "\n"]
            length += len(text) + len(parts[-1])
    return PairText("".join(parts), places)


def judged_sentences(candidates: list[LabelledCandidate]) -> dict[tuple[str, str], str]:
    """Return (side, sentence id) -> document of every sentence that was judged: sources, and their candidates."""
    sources = {(Side.SOURCE, candidate.source): candidate.source_document for candidate in candidates}
    return sources | {(Side.TARGET, candidate.target): candidate.target_document for candidate in candidates}


def said(candidate: LabelledCandidate) -> str:
    """Return the judgments on a candidate, and who decided where its label is a decision, as one line."""
    opinions = [f"{annotator}: {label}" for annotator, label in candidate.judgments.items()]
    if candidate.provenance is Provenance.ADJUDICATED:
        opinions.append(f"decided by {candidate.adjudicator}: {candidate.adjudication}")
    return "; ".join(opinions)


def file_stem(judged: JudgedPair) -> str:
    """Return a file name without its ending: ids of pairs can be anything, so only safe characters are used."""
    slug = SLUG.sub("_", judged.pair.id).strip("._-")[:SLUG_LENGTH]
    return f"{judged.number:04d}-{slug}" if slug else f"{judged.number:04d}"


BRAT = "brat"
TYPES = {Side.SOURCE: "Source", Side.TARGET: "Target"}
CONFIGURATION = """\
[entities]
Source
Target

[relations]
Link\tArg1:Source, Arg2:Target

[events]

[attributes]
"""

ENDS_LINE = re.compile(r"[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""What ends a field or a line of an annotation file, or a line of the text as brat shows it."""


def brat_files(dataset: Dataset) -> Files:
    """Return ``annotation.conf`` and a ``.txt`` and ``.ann`` per judged pair.

    The sentences that were judged are entities, the links relations; notes name ids and provenance.
    """
    clean = Cleaner(ENDS_LINE, " ", "line breaks or tabs: replaced by spaces")
    contents = {f"{BRAT}/annotation.conf": CONFIGURATION.encode()}
    for judged in dataset.by_pair():
        laid_out = lay_out(judged, dataset.corpus, clean.visible)
        stem = f"{BRAT}/{file_stem(judged)}"
        contents[f"{stem}.txt"] = laid_out.text.encode()
        contents[f"{stem}.ann"] = "".join(f"{line}\n" for line in _lines(judged, laid_out, clean)).encode()
    return Files(contents, +clean.changes)


def _lines(judged: JudgedPair, laid_out: PairText, clean: Cleaner) -> Iterator[str]:
    names = {}
    notes = []
    for number, (at, document) in enumerate(judged_sentences(judged.candidates).items(), start=1):
        names[at] = f"T{number}"
        begin, end = laid_out.places[at]
        yield f"T{number}\t{TYPES[at[0]]} {begin} {end}\t{laid_out.text[begin:end]}"
        notes.append((names[at], f"{document}, sentence {at[1]}"))
    links = [candidate for candidate in judged.candidates if candidate.link]
    for number, candidate in enumerate(links, start=1):
        source, target = names[Side.SOURCE, candidate.source], names[Side.TARGET, candidate.target]
        yield f"R{number}\tLink Arg1:{source} Arg2:{target}"
        simulated = " (simulated)" if candidate.simulated else ""
        about = (
            f"{candidate.provenance}, rule {candidate.rule}; {said(candidate)}{simulated}; method {candidate.method}"
        )
        notes.append((f"R{number}", about))
    for number, (name, note) in enumerate(notes, start=1):
        yield f"#{number}\tAnnotatorNotes {name}\t{clean(note)}"


UIMA = "uima"
TYPE_SYSTEM = "TypeSystem.xml"

SENTENCE = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Sentence"
JUDGED = "webanno.custom.JudgedSentence"
LINK = "webanno.custom.LinkRelation"
PAIR = "webanno.custom.PairMetadata"
FEATURES = {
    SENTENCE: ("id",),
    JUDGED: ("side", "document", "sentence"),
    LINK: ("method", "judgments", "provenance", "rule"),
    PAIR: ("pair", "sourceDocument", "targetDocument", "annotators"),
}
"""Type -> its features that are texts."""

NOT_IN_XML = re.compile(r"[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
"""What XML 1.0 cannot hold, not even escaped (section 2.2, production ``Char``)."""

SIMULATED = "simulated"
PEOPLE = "people"


def uima_files(dataset: Dataset) -> Files:
    """Return ``TypeSystem.xml`` and one XMI per judged pair.

    Sentences are DKPro sentences; the sentences that were judged are spans, the links relations between them.

    Raises:
        InputError: when the package ``dkpro-cassis`` is not installed.
    """
    types = _type_system()
    clean = Cleaner(NOT_IN_XML, PLACEHOLDER, "characters that XML 1.0 cannot contain: replaced by U+FFFD")
    language = dataset.store.language
    contents = {f"{UIMA}/{TYPE_SYSTEM}": str(types.to_xml()).encode()}
    for judged in dataset.by_pair():
        cas = _cas(judged, dataset, types, clean, language)
        contents[f"{UIMA}/{file_stem(judged)}.xmi"] = str(cas.to_xmi()).encode()
    return Files(contents, +clean.changes)


def _type_system() -> TypeSystem:
    try:
        from cassis import TypeSystem
    except ModuleNotFoundError:
        msg = "the export format 'uima' needs the package dkpro-cassis, which is not installed"
        raise InputError(msg, "pip install -e '.[export]'") from None
    types = TypeSystem()
    for name, features in FEATURES.items():
        kind = types.create_type(name, "uima.cas.AnnotationBase" if name == PAIR else "uima.tcas.Annotation")
        for end in ("Governor", "Dependent") if name == LINK else ():
            types.create_feature(kind, end, JUDGED)
        for feature in features:
            types.create_feature(kind, feature, "uima.cas.String")
    return types


def _cas(judged: JudgedPair, dataset: Dataset, types: TypeSystem, clean: Cleaner, language: str) -> Cas:
    from cassis import Cas

    laid_out = lay_out(judged, dataset.corpus, clean.visible)
    cas = Cas(types, sofa_string=laid_out.text, document_language=language)
    document = cas.get_document_annotation()
    document.begin, document.end = 0, len(laid_out.text)
    simulated = any(candidate.simulated for candidate in judged.candidates)
    pair = {"pair": judged.pair.id, "sourceDocument": judged.pair.source, "targetDocument": judged.pair.target}
    _add(cas, PAIR, {name: clean(value) for name, value in pair.items()}, annotators=SIMULATED if simulated else PEOPLE)
    for (side, sentence), place in laid_out.places.items():
        _add(cas, SENTENCE, place._asdict(), id=clean(f"{side}:{sentence}"))
    spans = {
        (side, sentence): _add(
            cas,
            JUDGED,
            laid_out.places[side, sentence]._asdict(),
            side=side,
            document=clean(document_id),
            sentence=clean(sentence),
        )
        for (side, sentence), document_id in judged_sentences(judged.candidates).items()
    }
    for candidate in judged.candidates:
        if candidate.link:
            source, target = spans[Side.SOURCE, candidate.source], spans[Side.TARGET, candidate.target]
            _add(
                cas,
                LINK,
                {"begin": target.begin, "end": target.end, "Governor": source, "Dependent": target},
                method=clean(candidate.method),
                judgments=clean(said(candidate)),
                provenance=candidate.provenance.value,
                rule=candidate.rule.value,
            )
    return cas


def _add(cas: Cas, type_name: str, values: dict[str, Any], **more: str) -> Any:  # noqa: ANN401 - cassis makes types
    annotation = cas.typesystem.get_type(type_name)(**values, **more)
    cas.add(annotation)
    return annotation
