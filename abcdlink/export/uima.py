"""UIMA CAS XMI, which INCEpTION opens: one file per pair, and the type system that describes its layers.

In INCEpTION: *Settings, Layers, Import* takes ``TypeSystem.xml``, *Documents, Import* the ``.xmi`` files as
"UIMA CAS XMI (XML 1.0)". Its rules, which the types follow: a relation layer has the features ``Governor`` and
``Dependent`` on one span layer, a relation stands where its dependent stands, and no annotation begins or ends
with white space.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from abcdlink.errors import InputError
from abcdlink.export.dataset import Dataset, Files, JudgedPair
from abcdlink.export.plain import PLACEHOLDER, Cleaner, Side, file_stem, judged_sentences, lay_out, said

if TYPE_CHECKING:
    from cassis import Cas, TypeSystem

FOLDER = "uima"
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


def files(dataset: Dataset) -> Files:
    """Return ``TypeSystem.xml`` and one XMI per judged pair.

    Sentences are DKPro sentences; the sentences that were judged are spans, the links relations between them.

    Raises:
        InputError: when the package ``dkpro-cassis`` is not installed.
    """
    types = _type_system()
    clean = Cleaner(NOT_IN_XML, PLACEHOLDER, "characters that XML 1.0 cannot contain: replaced by U+FFFD")
    language = dataset.store.language
    contents = {f"{FOLDER}/{TYPE_SYSTEM}": str(types.to_xml()).encode()}
    for judged in dataset.by_pair():
        cas = _cas(judged, dataset, types, clean, language)
        contents[f"{FOLDER}/{file_stem(judged)}.xmi"] = str(cas.to_xmi()).encode()
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
