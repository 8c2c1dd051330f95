"""Stage generate: a synthetic source document for each natural target document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from abcdlink.corpus.io import read_corpus, write_corpus_to
from abcdlink.corpus.records import Corpus, Record
from abcdlink.domain import Domain, Shape, domain_of
from abcdlink.errors import AbcdlinkError
from abcdlink.generation import (
    GeneratedPair,
    ShapeRow,
    Size,
    Strategy,
    compare_shape,
    generate_pair,
    learn_shape,
    means_of,
    sizes_of,
    usable,
)
from abcdlink.layout import GENERATION, SYNTHETIC, generation_part
from abcdlink.llm.client import LLM
from abcdlink.llm.profiles import profile
from abcdlink.llm.records import Usage
from abcdlink.progress import Progress, silent
from abcdlink.stages.execution import HERE, Execution
from abcdlink.stages.intake import read_targets
from abcdlink.stages.llm import note_llm
from abcdlink.stages.once import alone, is_done, parts_of
from abcdlink.store import Store

STAGE = "generate"
PART_SIZE = 4
"""Target documents per part: about a minute with the embedded model."""


class GenerationPlan(Record):
    """What is to be generated in one run.

    ``like``: folder of the corpus that ``shape`` was learnt from; empty: the shape is the domain's. ``sizes``: of the
    source document of each target; a target without one has no sentence to link to.
    """

    strategy: Strategy
    seed: int
    targets: tuple[str, ...]
    shape: Shape
    sizes: dict[str, Size]
    like: str = ""

    @property
    def parts(self) -> list[Sequence[str]]:
        """The target document ids, cut into parts that are done and kept one by one."""
        return parts_of(self.targets, PART_SIZE)


class GenerationPart(Record):
    """The generated pairs of one part."""

    pairs: tuple[GeneratedPair, ...]


class Generation(Record):
    """The outcome of the stage, as kept in ``generation.json``.

    ``refused``: target documents without a pair; ``dropped``: sentences that pairs stand without;
    ``reasons``: of both, with their numbers. ``shape``: what was wanted beside what was reached, measure by measure.
    """

    strategy: Strategy
    model: str
    documents: int
    pairs: int
    links: int
    refused: int
    dropped: int
    reasons: dict[str, int]
    usage: Usage
    shape: tuple[ShapeRow, ...] = ()


def plan_generation(
    store: Store, strategy: Strategy, seed: int, first_documents: int | None, like: str = ""
) -> GenerationPlan:
    """Choose the target documents, in file order: those taken by themselves, else those of the natural corpus.

    A document that is only the source of a pair is of the other kind (a review, say) and is left out.

    Args:
        store: the run.
        strategy: how source documents are written.
        seed: of all choices.
        first_documents: only so many target documents; ``None``: all.
        like: folder of a corpus with links whose shape the synthetic corpus is to have; empty: as the domain says.

    Raises:
        InputError: when the corpus ``like`` is not there or has no links.
    """
    domain = domain_of(store)
    corpus = read_targets(store)
    targets = tuple(corpus.target_documents)[:first_documents]
    shape = learn_shape(read_corpus(like)) if like else domain.settings.generation.shape
    sizes = sizes_of(shape, {name: len(usable(corpus.documents[name], domain)) for name in targets}, seed)
    return GenerationPlan(strategy=strategy, seed=seed, targets=targets, shape=shape, sizes=sizes, like=like)


def generation_done(store: Store, plan: GenerationPlan) -> bool:
    """Tell whether the run already holds what the plan asks for."""
    inputs: dict[str, Any] = {"strategy": plan.strategy.value, "seed": plan.seed, "documents": len(plan.targets)}
    if plan.like:
        inputs["like"] = plan.like
    return is_done(store, STAGE, GENERATION, inputs)


def generate_part(store: Store, domain: Domain, plan: GenerationPlan, part: int, progress: Progress = silent) -> None:
    """Generate one part unless the run holds it already.

    Raises:
        BudgetError: when the questions could cost more than the budget leaves.
        ServiceError: when the LLM is not there at the beginning, or gave out in the middle; the part
            is not kept then, and what was answered is not asked again.
    """
    name = generation_part(part)
    if store.exists(name):
        return
    corpus, llm, language = read_targets(store), LLM(profile("generator"), account=store.key), store.language
    llm.check()
    label = f"Generate by {plan.strategy}, part {part + 1} of {len(plan.parts)}"
    pairs = tuple(
        generate_pair(corpus.documents[target], domain, llm, plan.strategy, plan.seed, plan.sizes.get(target), language)
        for target in progress(plan.parts[part], label)
    )
    store.write_record(name, GenerationPart(pairs=pairs), indent=None)


def finish_generation(store: Store, plan: GenerationPlan) -> Generation:
    """Put the parts together into the synthetic corpus and count what came of it."""
    targets = read_targets(store)
    parts = [store.read_record(generation_part(number), GenerationPart) for number in range(len(plan.parts))]
    generated = [pair for part in parts for pair in part.pairs]
    good = [(g.source, g.pair) for g in generated if g.source is not None and g.pair is not None]
    refused = [g.refusal for g in generated if g.refusal is not None]
    dropped = [refusal for g in generated for refusal in g.dropped]
    documents = {document.id: document for document, _ in good}
    documents |= {pair.target: targets.documents[pair.target] for _, pair in good}
    corpus = Corpus(name=f"{store.key}-synthetic", documents=documents, pairs=[p for _, p in good])
    corpus.refused = [*refused, *dropped]
    write_corpus_to(store, SYNTHETIC, corpus)
    reasons = [refusal.reason for refusal in corpus.refused]
    result = Generation(
        strategy=plan.strategy,
        model=profile("generator").llm_model,
        documents=len(generated),
        pairs=len(good),
        links=sum(len(targets) for _, pair in good for targets in pair.sources_with_links.values()),
        refused=len(refused),
        dropped=len(dropped),
        reasons={reason: reasons.count(reason) for reason in dict.fromkeys(reasons)},
        usage=sum((pair.usage for pair in generated), Usage()),
        shape=compare_shape(plan.shape, means_of(corpus)) if good else (),
    )
    if not good:
        msg = f"no valid pair was generated from {len(generated)} documents ({'; '.join(result.reasons)})"
        hint = f"look at {store.where(f'{SYNTHETIC}/refused.jsonl')}, and use a stronger LLM under another run key"
        raise AbcdlinkError(msg, hint)
    note_llm(store, STAGE, LLM(profile("generator"), account=store.key))
    store.write_record(GENERATION, result)
    return result


def run_generation(store: Store, domain: Domain, plan: GenerationPlan, execution: Execution = HERE) -> Generation:
    """Run the whole stage, or return its kept result."""
    with alone(store, STAGE, execution.progress):
        if not generation_done(store, plan):
            for part in range(len(plan.parts)):
                execution.step(f"generate part {part}", generate_part, store, domain, plan, part, execution.progress)
            return execution.step("put the synthetic corpus together", finish_generation, store, plan)
    return store.read_record(GENERATION, Generation)
