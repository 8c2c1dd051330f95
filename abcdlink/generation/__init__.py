"""Synthetic pairs with known links, written by an LLM."""

from __future__ import annotations

from abcdlink.corpus.records import Document, Pair, PairKind, Refusal, Sentence
from abcdlink.domain import Domain
from abcdlink.generation.by_document import write_document
from abcdlink.generation.by_sentence import write_by_sentence
from abcdlink.generation.shape import (
    Draft,
    GeneratedPair,
    ShapeRow,
    Size,
    Strategy,
    compare_shape,
    learn_shape,
    sizes_of,
    usable,
)
from abcdlink.languages import ENGLISH
from abcdlink.llm.client import LLM

__all__ = [
    "GeneratedPair",
    "ShapeRow",
    "Size",
    "Strategy",
    "compare_shape",
    "generate_pair",
    "learn_shape",
    "sizes_of",
    "usable",
]

WRITERS = {Strategy.DOCUMENT: write_document, Strategy.SENTENCE: write_by_sentence}


def generate_pair(
    target: Document,
    domain: Domain,
    llm: LLM,
    strategy: Strategy,
    seed: int,
    size: Size | None,
    language: str = ENGLISH,
) -> GeneratedPair:
    """Write a source document with known links to a target document.

    ``size``: how long the source document is, and how densely it is linked; see ``sizes_of``. Without one the target
    has no sentence to link to. Another seed gives another pair; the same one asks the same questions.

    Returns:
        The pair ``<target id>__synthetic`` with links, and its source document; or the refusal with
        its reason when the model gave nothing usable.

    Raises:
        ServiceError: when the server gave no answer; what it answered before is not asked again.
    """
    if size is None:
        draft = Draft(reason=f"no sentence has {domain.settings.sources.min_words} words or more to link to")
    else:
        draft = WRITERS[strategy](target, domain, llm, seed, size, language)
    pair_id = f"{target.id}__synthetic"
    if draft.reason:
        hint = "try another seed, strategy or model, or change the domain's generation prompts"
        refusal = Refusal(where=pair_id, reason=draft.reason, hint=hint)
        return GeneratedPair(refusal=refusal, dropped=draft.dropped, usage=draft.usage)
    source = Document(
        id=f"{pair_id}-source",
        sentences=tuple(Sentence(id=str(number), text=text) for number, text in enumerate(draft.sentences)),
    )
    links = {str(number): tuple(target.sentences[i].id for i in found) for number, found in draft.links}
    pair = Pair(id=pair_id, source=source.id, target=target.id, kind=PairKind.SYNTHETIC, links=links)
    return GeneratedPair(source=source, pair=pair, dropped=draft.dropped, usage=draft.usage)
