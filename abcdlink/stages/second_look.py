"""A second look at generated pairs: another model judges every link and every unlinked sentence.

The links of a synthetic corpus are what its writer says they are. Another LLM reads each pair as it would link any
other (LLM-only, description and examples), or the learned linker of another run does; where they disagree,
the link or sentence is dropped or reported.
"""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.corpus.records import Corpus, Document, Record, Refusal
from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.layout import second_look_part
from abcdlink.linking.decisions import decide_chosen
from abcdlink.linking.learned import LearnedLinker
from abcdlink.linking.learners import FittedLinker, base_retrievers
from abcdlink.linking.linker import linker_for
from abcdlink.linking.records import Approach, ApproachKind, Decision, Setup
from abcdlink.llm.client import LLM
from abcdlink.llm.profiles import DEFAULT, is_same_model, profile
from abcdlink.llm.records import Usage
from abcdlink.progress import Progress, silent
from abcdlink.retrieval import get_retriever
from abcdlink.retrieval.base import rank_pairs
from abcdlink.stages.decide import require_an_answer
from abcdlink.stages.label import the_linker
from abcdlink.stages.learn import read_linker
from abcdlink.stages.once import note_llm
from abcdlink.store import Store, existing_run

STAGE = "second look"
OF_RUN = "run:"
"""Prefix of the name of a second look by another run's learned linker."""
LINK_FROM = 0.5


class Look(Record):
    """What the other model decided on the pairs of one part."""

    decisions: tuple[Decision, ...]
    usage: Usage
    model: str


class Disagreement(Record):
    """Where the other model disagrees with the writer.

    ``targets``: for a sentence with links, those not confirmed; for one without, those it was linked to.
    """

    pair: str
    source: str
    linked: bool
    targets: tuple[str, ...]


class SecondLook(Record):
    """What a second look found: how many links and unlinked sentences were judged, and how many it agrees with.

    ``unknown``: links and unlinked sentences without an answer by the other model; they stay. ``dropped``: whether
    what it disagrees with was dropped.
    """

    model: str
    dropped: bool
    links: int
    links_confirmed: int
    unlinked: int
    unlinked_confirmed: int
    unknown: int
    usage: Usage


def require_other_model(name: str) -> None:
    """Raise ``InputError`` if the second look would use the model that writes the pairs, or something unknown."""
    if name.startswith(OF_RUN):
        _linker_of(name)
        return
    writer, other = profile("generator").llm_model, profile(name).llm_model
    if is_same_model(writer, other):
        msg = f"the second look would use {other!r}, the model that writes the pairs"
        raise InputError(msg, "name a profile with another model (see `[llm.NAME]` in abcdlink.toml)")


def look_at_part(
    store: Store, domain: Domain, name: str, part: int, drafts: Corpus, progress: Progress = silent
) -> None:
    """Let another model judge the generated pairs of one part, unless that is already done.

    ``name``: an LLM profile, or ``run:KEY`` for the learned linker of another run. ``drafts``: the pairs of the part,
    as they were generated.

    Raises:
        BudgetError: when the questions could cost more than the budget leaves.
        ServiceError: when the LLM is unavailable, or answers no question.
    """
    file = second_look_part(part)
    if store.exists(file):
        return
    if name.startswith(OF_RUN):
        store.write_record(file, _by_linker(name, drafts, store.language, progress), indent=None)
        return
    llm = LLM(profile(name), account=store.key)
    model = "" if name == DEFAULT else name
    linker = linker_for(domain, llm, Approach(kind=ApproachKind.LLM, setup=Setup.LLM_ONLY, prompt_mode=4, model=model))
    linker.check()
    decisions = tuple(
        decision
        for pair in progress(drafts.pairs, f"pairs judged again by {llm.settings.llm_model} (part {part + 1})")
        for decision in linker.decide(
            pair,
            drafts,
            dict.fromkeys(drafts.source_of(pair).position, tuple(drafts.target_of(pair).position)),
        )
    )
    require_an_answer(decisions)
    note_llm(store, STAGE, llm)
    usage = sum(llm.used.values(), Usage())
    store.write_record(file, Look(decisions=decisions, usage=usage, model=llm.settings.llm_model), indent=None)


def _linker_of(name: str) -> LearnedLinker | FittedLinker:
    """Return the learned linker of the run in ``run:KEY``; raises ``InputError`` if it has none, or several."""
    store = existing_run(name.removeprefix(OF_RUN))
    return read_linker(store, the_linker(store))


def _by_linker(name: str, drafts: Corpus, language: str, progress: Progress) -> Look:
    """Judge with a learned linker: a probability of at least one half is a link."""
    linker = _linker_of(name)
    documents, tables = list(drafts.used_documents()), {}
    for base in base_retrievers(linker.name):
        retriever = get_retriever(base, language)
        retriever.prepare(documents)
        tables[base] = rank_pairs(drafts, retriever, drafts.pairs)
    table = linker.rank(tables, drafts, drafts.pairs, progress)
    chosen = (table["score"] >= LINK_FROM).to_numpy()
    decisions = tuple(decide_chosen(name, table, chosen))
    return Look(decisions=decisions, usage=Usage(), model=f"{linker.name} of {name.removeprefix(OF_RUN)}")


def compare(drafts: Corpus, looks: Sequence[Look], *, drop: bool) -> tuple[SecondLook, list[Disagreement]]:
    """Compare generated links with what the other model decided."""
    decided = {(one.pair, one.source): one for look in looks for one in look.decisions}
    found: list[Disagreement] = []
    links = unlinked = confirmed_links = confirmed_unlinked = unknown = 0
    for pair in drafts.pairs:
        for source in drafts.source_of(pair).position:
            generated, decision = set(pair.sources_with_links.get(source, ())), decided[pair.id, source]
            said, open_ids = set(decision.targets), set(decision.unknown)
            if generated:
                denied = generated - said - open_ids
                links += len(generated)
                unknown += len(generated & open_ids)
                confirmed_links += len(generated & said)
            else:
                denied = said
                unlinked += 1
                unknown += not said and bool(open_ids)
                confirmed_unlinked += not said and not open_ids
            if denied:
                order = drafts.target_of(pair).position
                targets = tuple(sorted(denied, key=order.__getitem__))
                found.append(Disagreement(pair=pair.id, source=source, linked=bool(generated), targets=targets))
    look = SecondLook(
        model=looks[0].model if looks else "",
        dropped=drop,
        links=links,
        links_confirmed=confirmed_links,
        unlinked=unlinked,
        unlinked_confirmed=confirmed_unlinked,
        unknown=unknown,
        usage=sum((look.usage for look in looks), Usage()),
    )
    return look, found


def without(drafts: Corpus, found: Sequence[Disagreement]) -> Corpus:
    """Return the pairs without what the other model disagrees with; a pair left without a link is refused.

    An unlinked sentence that it links, and a linked one of which it confirms no link, are removed: their status
    is uncertain. If only some of a sentence's links are denied, the sentence stays.
    """
    by_place = {(one.pair, one.source): one for one in found}
    documents, pairs = dict(drafts.documents), []
    refused = list(drafts.refused)
    for pair in drafts.pairs:
        source, links = drafts.source_of(pair), dict(pair.links or {})
        gone = set()
        for sentence in source.position:
            one = by_place.get((pair.id, sentence))
            if one is None:
                continue
            left = tuple(target for target in links.get(sentence, ()) if target not in one.targets)
            if left:
                links[sentence] = left
            else:
                links.pop(sentence, None)
                gone.add(sentence)
                what = "no link of it was" if one.linked else "that it has no link was not"
                refused.append(
                    Refusal(where=f"{pair.id}, sentence {sentence}", reason=f"{what} confirmed by the second look")
                )
        if not any(links.values()):
            del documents[source.id]
            refused.append(Refusal(where=pair.id, reason="no link was confirmed by the second look"))
            continue
        kept = tuple(sentence for sentence in source.sentences if sentence.id not in gone)
        documents[source.id] = Document(id=source.id, sentences=kept)
        pairs.append(pair.model_copy(update={"links": links}))
    used = {name for pair in pairs for name in (pair.source, pair.target)}
    return drafts.model_copy(
        update={
            "documents": {name: document for name, document in documents.items() if name in used},
            "pairs": pairs,
            "refused": refused,
        }
    )
