"""Stages generate and validate: the synthetic corpus, and how it compares with the natural one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any

from pydantic import Field

from abcdlink.corpus.io import read_corpus, read_corpus_from, write_corpus_to
from abcdlink.corpus.records import Corpus, Record
from abcdlink.domain import Domain, Shape, domain_of, targets_of
from abcdlink.errors import AbcdlinkError, InputError
from abcdlink.generation import (
    GeneratedPair,
    ShapeRow,
    Size,
    Strategy,
    compare_shape,
    generate_pair,
    learn_shape,
    sizes_of,
    usable,
)
from abcdlink.layout import DISAGREEMENTS, GENERATION, NATURAL, SYNTHETIC, VALIDATION, generation_part, second_look_part
from abcdlink.llm.client import LLM
from abcdlink.llm.profiles import profile
from abcdlink.llm.records import Usage
from abcdlink.progress import Progress, silent
from abcdlink.stages.execution import HERE, Execution
from abcdlink.stages.intake import read_targets
from abcdlink.stages.once import alone, is_done, note_llm, parts_of
from abcdlink.stages.second_look import Look, SecondLook, compare, look_at_part, require_other_model, without
from abcdlink.store import Store
from abcdlink.validation import Validation, validate
from abcdlink.validation.style import Classifier, load_classifier

STAGE = "generate"
PART_SIZE = 4
"""Target documents per part: about a minute with the embedded model."""


class Generating(Record):
    """How the synthetic corpus is written."""

    strategy: Strategy = Field(
        Strategy.SENTENCE,
        description="sentence: one linked sentence at a time (works with small models); "
        "document: the whole source document at once (as in the paper).",
    )
    documents: int | None = Field(None, ge=1, description="Use only the first N target documents; empty: all.")
    seed: int = Field(13, ge=0, description="Random seed for choosing target sentences.")
    like: str = Field(
        "", description="Folder of a corpus with links whose structure is imitated; empty: as the domain says."
    )
    second_look: str = Field(
        "",
        description="LLM profile whose model judges all links and all sentences without links, or run:KEY for the "
        "learned linker of another run; empty: none.",
    )
    drop: bool = Field(
        default=True, description="Drop what the second look disagrees with; otherwise it is only reported."
    )


class GenerationPlan(Generating):
    """What to generate in a run.

    ``sizes``: length of the source document of each target; a target without one has no sentence to link to.
    """

    targets: tuple[str, ...]
    shape: Shape
    sizes: dict[str, Size]

    @property
    def parts(self) -> list[Sequence[str]]:
        """The target document ids, divided into parts that are done and stored one by one."""
        return parts_of(self.targets, PART_SIZE)


class GenerationPart(Record):
    """The generated pairs of one part."""

    pairs: tuple[GeneratedPair, ...]


class Generation(Record):
    """The result of the stage, as stored in ``generation.json``.

    ``refused``: target documents without a pair; ``dropped``: sentences removed from pairs;
    ``reasons``: reason -> count, for both. ``shape``: wanted and actual value of each measure.
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
    second_look: SecondLook | None = None


def refuse_to_generate(how: Generating) -> None:
    """Raise ``InputError`` if ``plan_generation`` would; call this before the run takes any documents."""
    if how.second_look:
        require_other_model(how.second_look)
    if how.like:
        learn_shape(read_corpus(how.like))


def plan_generation(store: Store, how: Generating) -> GenerationPlan:
    """Choose the target documents, in file order: those taken separately, else those of the natural corpus.

    A document that is only ever a source is of the other kind (a review, say) and is left out.

    Raises:
        InputError: when the corpus ``like`` is missing or has no links, or the second look would use the model
            that writes.
    """
    if how.second_look:
        require_other_model(how.second_look)
    domain, corpus = domain_of(store), read_targets(store)
    targets = tuple(corpus.target_documents)[: how.documents]
    shape = learn_shape(read_corpus(how.like)) if how.like else domain.settings.generation.shape
    sizes = sizes_of(shape, {name: len(usable(corpus.documents[name], domain)) for name in targets}, how.seed)
    return GenerationPlan(**how.model_dump(), targets=targets, shape=shape, sizes=sizes)


def generation_done(store: Store, plan: GenerationPlan) -> bool:
    """Tell whether the run already has what the plan asks for."""
    inputs: dict[str, Any] = {"strategy": plan.strategy.value, "seed": plan.seed, "documents": len(plan.targets)}
    if plan.like:
        inputs["like"] = plan.like
    if plan.second_look:
        inputs |= {"second_look": plan.second_look, "drop": plan.drop}
    return is_done(store, STAGE, GENERATION, inputs)


def generate_part(store: Store, domain: Domain, plan: GenerationPlan, part: int, progress: Progress = silent) -> None:
    """Generate one part, unless that is already done.

    Raises:
        BudgetError: when the questions could cost more than the budget leaves.
        ServiceError: when the LLM is unavailable at the start, or failed midway; the part
            is then not stored, and answered questions are not asked again.
    """
    name = generation_part(part)
    if store.exists(name):
        return
    domain = domain.with_settings(targets=targets_of(store))
    corpus, llm, language = read_targets(store), LLM(profile("generator"), account=store.key), store.language
    llm.check()
    label = f"documents generated by {plan.strategy} (part {part + 1} of {len(plan.parts)})"
    pairs = tuple(
        generate_pair(corpus.documents[target], domain, llm, plan.strategy, plan.seed, plan.sizes.get(target), language)
        for target in progress(plan.parts[part], label)
    )
    store.write_record(name, GenerationPart(pairs=pairs), indent=None)


def _drafts(store: Store, parts: Iterable[int]) -> Corpus:
    """Return the pairs of some parts as they were generated, with what was refused."""
    targets = read_targets(store)
    generated = [pair for part in parts for pair in store.read_record(generation_part(part), GenerationPart).pairs]
    good = [(g.source, g.pair) for g in generated if g.source is not None and g.pair is not None]
    documents = {document.id: document for document, _ in good}
    documents |= {pair.target: targets.documents[pair.target] for _, pair in good}
    corpus = Corpus(name=f"{store.key}-synthetic", documents=documents, pairs=[pair for _, pair in good])
    corpus.refused = [one.refusal for one in generated if one.refusal] + [r for one in generated for r in one.dropped]
    return corpus


def second_look_at_part(
    store: Store, domain: Domain, plan: GenerationPlan, part: int, progress: Progress = silent
) -> None:
    """Let another model judge the pairs of one part, see ``stages.second_look``."""
    look_at_part(store, domain, plan.second_look, part, _drafts(store, [part]), progress)


def finish_generation(store: Store, plan: GenerationPlan) -> Generation:
    """Join the parts into the synthetic corpus and count the results."""
    numbers = range(len(plan.parts))
    corpus, look = _drafts(store, numbers), None
    if plan.second_look:
        looks = [store.read_record(second_look_part(number), Look) for number in numbers]
        look, found = compare(corpus, looks, drop=plan.drop)
        store.write_records(DISAGREEMENTS, found)
        corpus = without(corpus, found) if plan.drop else corpus
    write_corpus_to(store, SYNTHETIC, corpus)
    parts = [store.read_record(generation_part(number), GenerationPart) for number in numbers]
    usage = sum((pair.usage for part in parts for pair in part.pairs), Usage())
    reasons = [refusal.reason for refusal in corpus.refused]
    result = Generation(
        strategy=plan.strategy,
        model=profile("generator").llm_model,
        documents=len(plan.targets),
        pairs=len(corpus.pairs),
        links=sum(len(targets) for pair in corpus.pairs for targets in pair.sources_with_links.values()),
        refused=len(plan.targets) - len(corpus.pairs),
        dropped=len(corpus.refused) - (len(plan.targets) - len(corpus.pairs)),
        reasons={reason: reasons.count(reason) for reason in dict.fromkeys(reasons)},
        usage=usage,
        shape=compare_shape(plan.shape, corpus),
        second_look=look,
    )
    if not corpus.pairs:
        msg = f"no valid pair was generated from {len(plan.targets)} documents ({'; '.join(result.reasons)})"
        hint = f"see {store.where(f'{SYNTHETIC}/refused.jsonl')}, and use a stronger LLM under another run key"
        raise AbcdlinkError(msg, hint)
    note_llm(store, STAGE, LLM(profile("generator"), account=store.key))
    store.write_record(GENERATION, result)
    return result


def run_generation(store: Store, domain: Domain, plan: GenerationPlan, execution: Execution = HERE) -> Generation:
    """Run the whole stage, or return its stored result."""
    with alone(store, STAGE, execution.progress):
        if not generation_done(store, plan):
            for part in range(len(plan.parts)):
                execution.step(f"generate part {part}", generate_part, store, domain, plan, part, execution.progress)
            for part in range(len(plan.parts) if plan.second_look else 0):
                what = f"second look at part {part}"
                execution.step(what, second_look_at_part, store, domain, plan, part, execution.progress)
            return execution.step("put the synthetic corpus together", finish_generation, store, plan)
    return store.read_record(GENERATION, Generation)


def run_validation(store: Store, domain: Domain, beside: Sequence[str] = ()) -> Validation:
    """Compare the run's synthetic corpus with its natural one, or return the stored result.

    A run that generated for documents alone, without natural pairs, is compared with these documents. ``beside``:
    folders of further corpora to compare, named by their last part; the comparison is repeated if it lacks one of them.

    Raises:
        InputError: when the run has no synthetic corpus, or a folder contains no corpus.
    """
    names = {_name(folder, number): folder for number, folder in enumerate(beside, start=1)}
    if store.exists(VALIDATION):
        kept = store.read_record(VALIDATION, Validation)
        if set(names) <= set(kept.styles) or not names:
            return kept
    store.require(f"{SYNTHETIC}/pairs.jsonl", "generate")
    classifier, notes = _classifier(domain)
    result = validate(
        read_corpus_from(store, SYNTHETIC),
        read_corpus_from(store, NATURAL) if store.exists(f"{NATURAL}/pairs.jsonl") else read_targets(store),
        domain,
        {name: read_corpus(folder) for name, folder in names.items()},
        store.language,
        classifier,
    )
    result = result.model_copy(update={"notes": notes})
    store.write_record(VALIDATION, result)
    return result


def _name(folder: str, number: int) -> str:
    name = PurePath(folder).name or f"corpus {number}"
    return f"{name} ({number})" if name in {NATURAL, SYNTHETIC} else name


def _classifier(domain: Domain) -> tuple[Classifier | None, tuple[str, ...]]:
    """Return the classifier for subjectivity, or why there is none."""
    limits = domain.settings.validation
    if not limits.subjectivity_model:
        return None, ("subjectivity was not measured by a classifier: the domain names none",)
    try:
        return load_classifier(limits.subjectivity_model, limits.subjectivity_label), ()
    except InputError as error:
        return None, (f"subjectivity was not measured by a classifier: {error.problem}; {error.hint}",)
