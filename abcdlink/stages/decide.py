"""Let an LLM decide, part by part; a stored part is not asked again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import add

from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus, Pair, Record
from abcdlink.domain import Domain, targets_of
from abcdlink.errors import InputError, ServiceError
from abcdlink.layout import decision_part
from abcdlink.linking.decisions import HALF, top_k
from abcdlink.linking.linker import LLMLinker, linker_for
from abcdlink.linking.prompts import prompts_of, refuse_known_examples
from abcdlink.linking.records import CASCADE, Approach, Decision, Setup
from abcdlink.llm.client import LLM
from abcdlink.llm.profiles import profile
from abcdlink.llm.records import Outcome, Question, Usage
from abcdlink.progress import Progress, silent
from abcdlink.stages.once import note_llm, parts_of
from abcdlink.stages.plan import read_sample
from abcdlink.stages.rank import read_rankings
from abcdlink.store import Store

PART_SIZE = 4
"""Pairs per part: less than a minute with the embedded model."""


UNSURE = (0.1, 0.9)
"""In a cascade, the larger model decides on candidates that the smaller one scores between these, or not at all."""


class Cascade(Record):
    """What the larger model of a cascade was spared.

    ``candidates`` and ``sources`` are what the smaller model was asked about; ``passed_on`` and ``passed_on_sources``
    those that the larger one was asked about too, with ``usage``.
    """

    candidates: int
    passed_on: int
    sources: int
    passed_on_sources: int
    usage: Usage

    def __add__(self, other: Cascade) -> Cascade:
        """Return the sum of both."""
        names = Cascade.model_fields
        return Cascade.model_validate({name: getattr(self, name) + getattr(other, name) for name in names})


class DecisionPart(Record):
    """Decisions of one approach on some pairs of a corpus, and what they cost.

    ``prompt_hash``: the version of the prompts, see ``linking.prompts``; ``model``: the LLM's name, for a cascade
    both names; ``usage`` is then that of both models, and ``cascade`` says what the larger one was asked.
    """

    decisions: tuple[Decision, ...]
    usage: Usage
    prompt_hash: str
    model: str
    cascade: Cascade | None = None


def part_count(store: Store, corpus_name: str) -> int:
    """Return the number of parts into which the pairs of a corpus are divided."""
    return len(parts_of(read_corpus_from(store, corpus_name).pairs, PART_SIZE))


def _part_name(store: Store, corpus_name: str, approach: Approach, part: int) -> str:
    """Return the file of a part, or that of an earlier version of this program if the run has one."""
    former = decision_part(corpus_name, approach.name.replace("llm-only-", "llm-alone-"), part)
    return former if store.exists(former) else decision_part(corpus_name, approach.name, part)


def decide_part(
    store: Store, corpus_name: str, domain: Domain, approach: Approach, part: int, progress: Progress = silent
) -> None:
    """Decide one part of a corpus with an approach that asks an LLM, unless that is already done.

    The rankings of its retriever must exist. An approach with a rule asks what it would ask without
    one, and shares the decisions. The part is written as a whole at the end; every answer is in the LLM
    cache before that, so a restarted part asks only what is open.

    Raises:
        BudgetError: when the questions could cost more than the budget leaves.
        InputError: when the part was already decided with other prompts or by another model,
            or when the prompt shows a sentence of the corpus as an example.
        ServiceError: when the LLM answered no question.
    """
    approach = approach.asked
    name = _part_name(store, corpus_name, approach, part)
    version = prompts_of(domain, approach).hash
    if store.exists(name):
        _require_same(store, name, domain, version, approach)
        return
    if approach.smaller:
        decide_part(store, corpus_name, domain, approach.smaller, part, progress)
    corpus = read_corpus_from(store, corpus_name)
    llm = llm_of(store, approach)
    linker = checked_linker(store, corpus_name, corpus, domain, approach.larger, llm)
    parts = parts_of(corpus.pairs, PART_SIZE)
    pairs = parts[part]
    before = _smaller_part(store, corpus_name, approach, part)
    offered = _offered(store, corpus, corpus_name, approach, pairs) if before is None else _passed_on(before, pairs)
    label = f"pairs decided by {approach.name} ({corpus_name}, part {part + 1} of {len(parts)})"
    decisions = tuple(
        decision for pair in progress(pairs, label) for decision in linker.decide(pair, corpus, offered[pair.id])
    )
    usage = llm.used.get(approach.larger.name, Usage())
    cascade = _spared(before, decisions, usage) if before else None
    require_an_answer(decisions)
    kept = DecisionPart(
        decisions=tuple(_merged(approach.name, before, decisions)) if before else decisions,
        usage=usage + before.usage if before else usage,
        prompt_hash=version,
        model=_models_of(approach),
        cascade=cascade,
    )
    by = f" by {approach.profile}" if approach.profile else ""
    note_llm(store, f"decide {corpus_name}{by}", llm)
    store.write_record(name, kept, indent=None)


def llm_of(store: Store, approach: Approach) -> LLM:
    """Return the LLM that an approach asks, paid by the run; raises ``InputError`` if there is no such profile."""
    return LLM(profile(approach.profile), account=store.key)


def _models_of(approach: Approach) -> str:
    """Return the name of the model; for a cascade, both names."""
    asked = [approach.smaller, approach.larger]
    return CASCADE.join(profile(one.profile).llm_model for one in asked if one)


def _smaller_part(store: Store, corpus_name: str, approach: Approach, part: int) -> DecisionPart | None:
    """Return what the smaller model of a cascade decided, if it did."""
    name = _part_name(store, corpus_name, approach.smaller, part) if approach.smaller else ""
    return store.read_record(name, DecisionPart) if name and store.exists(name) else None


def _passed_on(before: DecisionPart, pairs: Sequence[Pair]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return pair id -> source id -> the candidates on which the smaller model is unsure or has no answer."""
    least, most = UNSURE
    offered: dict[str, dict[str, tuple[str, ...]]] = {pair.id: {} for pair in pairs}
    for one in before.decisions:
        unsure = (target for target in one.offered if least < one.scores.get(target, HALF) < most)
        offered[one.pair][one.source] = tuple(unsure)
    return offered


def _merged(name: str, before: DecisionPart, after: Sequence[Decision]) -> Iterator[Decision]:
    """Yield the decisions of a cascade: those of the larger model or, if it was not asked, of the smaller one."""
    larger = {(one.pair, one.source): one for one in after}
    for one in before.decisions:
        later = larger[one.pair, one.source]
        said = {target: float(target in later.targets) for target in later.offered if target not in later.unknown}
        scores = {**one.scores, **said}
        unknown = tuple(target for target in one.offered if target not in scores)
        ended = later if unknown or not one.outcome.answered else one
        yield Decision(
            approach=name,
            pair=one.pair,
            source=one.source,
            targets=tuple(target for target in one.offered if scores.get(target, 0.0) > HALF),
            offered=one.offered,
            unknown=unknown,
            scores={target: scores[target] for target in one.offered if target in scores},
            outcome=ended.outcome,
            detail=ended.detail,
        )


def _spared(before: DecisionPart, after: Sequence[Decision], usage: Usage) -> Cascade:
    return Cascade(
        candidates=sum(len(one.offered) for one in before.decisions),
        passed_on=sum(len(one.offered) for one in after),
        sources=sum(bool(one.offered) for one in before.decisions),
        passed_on_sources=sum(bool(one.offered) for one in after),
        usage=usage,
    )


def checked_linker(
    store: Store, corpus_name: str, corpus: Corpus, domain: Domain, approach: Approach, llm: LLM
) -> LLMLinker:
    """Return the linker of an approach; raises before any useless question is paid for.

    Raises:
        InputError: when the prompt shows a sentence of the corpus as an example.
        ServiceError: when the LLM is unavailable, or gives no probabilities although they are needed.
    """
    refuse_known_examples(domain, approach, corpus, store.where(f"{corpus_name}/documents.jsonl"))
    linker = linker_for(domain, llm, approach)
    linker.check()
    return linker


def questions_left(store: Store, corpus_name: str, domain: Domain, approach: Approach) -> list[Question]:
    """Return the questions still to be asked, as far as they are known, in order: for ``LLM.estimate``.

    The rankings of the approach's retriever must exist. Finished parts ask nothing more. For a cascade,
    these are the larger model's questions: at most all of them, until the smaller model has decided.
    """
    approach = approach.asked
    corpus = read_corpus_from(store, corpus_name)
    parts = parts_of(corpus.pairs, PART_SIZE)
    names = [_part_name(store, corpus_name, approach, part) for part in range(len(parts))]
    pairs = [pair for name, part in zip(names, parts, strict=True) if not store.exists(name) for pair in part]
    if not pairs:
        return []
    linker = linker_for(domain, llm_of(store, approach), approach.larger)
    offered = dict(_offered(store, corpus, corpus_name, approach, pairs))
    for part, of_part in enumerate(parts):
        if not store.exists(names[part]) and (before := _smaller_part(store, corpus_name, approach, part)):
            offered |= _passed_on(before, of_part)
    return [question for pair in pairs for question in linker.first_questions(pair, corpus, offered[pair.id])]


def _offered(
    store: Store, corpus: Corpus, corpus_name: str, approach: Approach, pairs: Sequence[Pair]
) -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return pair id -> source id -> ids of the targets that the LLM decides on."""
    offered: Mapping[str, Mapping[str, Sequence[str]]]
    if approach.setup is not Setup.LLM_ONLY:
        rankings = read_rankings(store, corpus_name, approach.retriever, [pair.id for pair in pairs])
        offered = top_k(rankings.table, approach.k)
    else:
        rules, offered = targets_of(store), {}
        for pair in pairs:
            left_out = rules.left_out_of(corpus.target_of(pair))
            kept = tuple(target for target in corpus.target_of(pair).position if target not in left_out)
            offered[pair.id] = dict.fromkeys(corpus.source_of(pair).position, kept)
    sample = read_sample(store, corpus_name)
    return sample.only(offered) if sample else offered


def require_an_answer(decisions: Sequence[Decision]) -> None:
    """Raise ``ServiceError`` if the LLM answered no question: that says nothing about the pairs."""
    asked = [decision for decision in decisions if decision.offered]
    if asked and all(one.outcome is Outcome.FAILED and len(one.unknown) == len(one.offered) for one in asked):
        msg = f"the LLM answered no question on any of {len(asked)} source sentences ({asked[0].detail})"
        raise ServiceError(msg, "check its log and run this again; answered questions are not asked again")


def _require_same(store: Store, name: str, domain: Domain, version: str, approach: Approach) -> None:
    """Refuse a stored part that does not fit what would be asked now."""
    kept = store.read_record(name, DecisionPart)
    if kept.prompt_hash != version:
        begun = store.manifest.get("prompts", {})
        now = domain.prompt_hashes
        changed = [file for file in sorted({*begun, *now}) if begun.get(file) != now.get(file)]
        files = f"changed since the run began: {', '.join(changed)}" if begun and changed else f"in {domain.folder}"
        msg = f"{store.where(name)} was decided with other prompts (version {kept.prompt_hash}, now {version}; {files})"
        raise InputError(msg, "restore these texts, or use another run key")
    models = _models_of(approach)
    if kept.model != models:
        msg = f"{store.where(name)} was decided by the model {kept.model!r} (now {models!r})"
        setting = profile(approach.profile).llm_setting("model")
        raise InputError(msg, f"set {setting} to {kept.model}, or use another run key")


def read_decisions(store: Store, corpus_name: str, approach: Approach) -> DecisionPart:
    """Return all parts of an LLM approach's decisions together.

    For an approach with a rule, these are the decisions without it, with the scores that the rule cuts
    (see ``linking.decisions``).

    Raises:
        FileNotFoundError: when a part is missing.
        InputError: when parts differ in prompts or model.
    """
    names = [_part_name(store, corpus_name, approach.asked, n) for n in range(part_count(store, corpus_name))]
    read = [store.read_record(name, DecisionPart) for name in names]
    versions = list(dict.fromkeys((part.prompt_hash, part.model) for part in read))
    if len(versions) > 1:
        told = " and ".join(f"{version} with {model}" for version, model in versions)
        msg = f"the parts of {approach.name} on {corpus_name} differ in prompts or model ({told})"
        raise InputError(msg, f"remove all parts beside {store.where(names[0])} and run this again")
    version, model = versions[0] if versions else ("", "")
    return DecisionPart(
        decisions=tuple(decision for part in read for decision in part.decisions),
        usage=sum((part.usage for part in read), Usage()),
        prompt_hash=version,
        model=model,
        cascade=reduce(add, spared) if (spared := [part.cascade for part in read if part.cascade]) else None,
    )
