"""Whether a domain is ready to use: every prompt rendered on a sample, its tokens, and what is wrong or left over.

The sample documents are made from the domain's own examples, so that a domain can be checked before there is a corpus.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from abcdlink.cleaning import AnswerForm
from abcdlink.cleaning.clean import Excerpt, question_about
from abcdlink.corpus.records import Corpus, Document, Pair, Record, Sentence
from abcdlink.criteria import rating_settings
from abcdlink.domain import SHIPPED, Domain, Setting
from abcdlink.domain.folder import SHARED
from abcdlink.errors import AbcdlinkError, InputError
from abcdlink.generation.by_document import question as document_question
from abcdlink.generation.by_sentence import first_questions
from abcdlink.generation.shape import sizes_of
from abcdlink.languages import word_count
from abcdlink.linking.linker import linker_for
from abcdlink.linking.prompts import setups_of
from abcdlink.linking.records import Approach, ApproachKind, Setup
from abcdlink.llm.client import LLM
from abcdlink.llm.estimate import count
from abcdlink.llm.profiles import profile
from abcdlink.llm.records import Question

FEW_WORDS = 20
"""A link description of fewer words says hardly anything."""
GIVES_AWAY = re.compile(
    r"\b(retriev\w+|LLM|language model|bm25|distractors?|gold( label)?s?|synthetic)\b", re.IGNORECASE
)
"""Annotators must not learn where candidates come from."""
OWN_TEXTS = (
    "link_description.md",
    "guidelines.md",
    "examples.jsonl",
    "generation.json",
    "generate_document.j2",
    "rating.toml",
)
OWN_SETTINGS = ("variations", "linked_task", "unlinked_topics", "unlinked_examples")
"""Settings of ``[generation]`` that say what the model writes about: those of a copy still name papers, or news."""


class PromptCheck(Record):
    """One prompt on the sample: its messages as one text, and its tokens."""

    name: str
    text: str
    tokens: int


class DomainCheck(Record):
    """What was found: ``faults`` keep the domain from working, ``remarks`` are worth a look. ``method``: of count."""

    domain: str
    prompts: tuple[PromptCheck, ...]
    method: str
    faults: tuple[str, ...]
    remarks: tuple[str, ...]


def check_domain(domain: Domain) -> DomainCheck:
    """Render every prompt of a domain and look through its texts; the LLM is asked nothing."""
    faults: list[str] = []
    corpus = sample_of(domain)
    made: dict[str, Question] = {}
    for name, make in _questions(domain, corpus):
        try:
            made[name] = make()
        except AbcdlinkError as error:
            faults.append(f"{name}: {error.problem}")
    try:
        rating_settings(domain)
    except InputError as error:
        faults.append(error.problem)
    llm = LLM(profile("generator"))
    counted = count(llm.endpoint, [llm.content(question) for question in made.values()], [])
    prompts = [
        PromptCheck(
            name=name,
            text="\n\n".join(f"({message.role})\n{message.content}" for message in question.messages),
            tokens=round(tokens),
        )
        for (name, question), tokens in zip(made.items(), counted.tokens, strict=True)
    ]
    return DomainCheck(
        domain=domain.label,
        prompts=tuple(prompts),
        method=counted.method,
        faults=tuple(faults),
        remarks=tuple(_remarks(domain)),
    )


def sample_of(domain: Domain) -> Corpus:
    """Return a corpus of one pair whose sentences are those of the domain's examples."""
    examples = domain.examples
    if not examples:
        msg = f"domain {domain.name!r} has no examples"
        raise InputError(msg, "write some in examples.jsonl: links, and pairs that do not link")
    documents = {
        name: Document(
            id=name,
            sentences=tuple(Sentence(id=f"{name[0]}{i}", text=text) for i, text in enumerate(dict.fromkeys(texts))),
        )
        for name, texts in (("source", [e.source for e in examples]), ("target", [e.target for e in examples]))
    }
    return Corpus(name="sample", documents=documents, pairs=[Pair(id="sample", source="source", target="target")])


def _questions(domain: Domain, corpus: Corpus) -> Iterator[tuple[str, Callable[[], Question]]]:
    """Yield the name of each prompt and what makes its question."""
    pair, target = corpus.pairs[0], corpus.documents["target"]
    size = sizes_of(domain.settings.generation.shape, {"target": len(target.sentences)}, 0)["target"]
    language = domain.settings.language
    yield "generate a document", lambda: document_question(target, domain, size, 0, language)
    for name, linked in (("generate a linked sentence", True), ("generate an unlinked sentence", False)):
        yield name, lambda linked=linked: _sentence_question(domain, target, linked=linked)  # type: ignore[misc]
    offered = {"s0": tuple(target.position)}
    cleaned = Excerpt(target, list(range(len(target.sentences))))
    for form in AnswerForm:
        yield f"clean, {form}", lambda form=form: question_about(cleaned, domain, form)  # type: ignore[misc]
    for setup in setups_of(domain):
        for mode in range(1, 5):
            fixed = {} if setup is Setup.LLM_ONLY else {"retriever": "bm25", "cutoff": 1}
            approach = Approach(kind=ApproachKind.LLM, setup=setup, prompt_mode=mode, **fixed)
            yield (
                f"{setup}, mode {mode}",
                lambda approach=approach: linker_for(domain, LLM(), approach).first_questions(pair, corpus, offered)[0],  # type: ignore[misc]
            )


def _sentence_question(domain: Domain, target: Document, *, linked: bool) -> Question:
    size = sizes_of(domain.settings.generation.shape, {"target": len(target.sentences)}, 0)["target"]
    asked = first_questions(target, domain, 0, size, domain.settings.language, linked=linked)
    if asked:
        return asked[0]
    msg = "the shape of [generation.shape] has no such sentence"
    raise InputError(msg, "lower linked, or lengthen sentences")


def _remarks(domain: Domain) -> Iterator[str]:
    yield from _unchanged(domain)
    known = {path.name for path in SHARED.rglob("*.j2")}
    for name in sorted({path.name for path in domain.folder.rglob("*.j2")} - known):
        yield f"{name} replaces no prompt: nothing reads it unless another template includes it"
    paper = domain.settings.setting is Setting.PAPER  # whose examples are links only
    if not paper and {example.link for example in domain.examples} != {True, False}:
        yield "examples.jsonl: give examples of links and of pairs that do not link"
    for number, example in enumerate(domain.examples, start=1):
        for side, rules, text in (
            ("source", domain.settings.sources, example.source),
            ("target", domain.settings.targets, example.target),
        ):
            if reason := rules.reason_to_leave_out(text):
                yield f"examples.jsonl, line {number}: annotators would not see this {side} sentence: {reason}"
    if word_count(domain.link_description) < FEW_WORDS:
        yield f"link_description.md has fewer than {FEW_WORDS} words"
    for match in dict.fromkeys(match[0] for match in GIVES_AWAY.finditer(domain.guidelines)):
        yield f"guidelines.md mentions {match!r}: annotators must not know where candidates come from"
    if "No Link" not in domain.guidelines:
        yield "guidelines.md does not say what No Link means"
    yield from _remarks_on_generation(domain)


def _unchanged(domain: Domain) -> Iterator[str]:
    """Say which texts are still those of the shipped domain from which this one was copied."""
    for model in sorted(path.parent for path in SHIPPED.glob("*/domain.toml")):
        if model == domain.folder:
            continue
        for name in OWN_TEXTS:
            own, theirs = domain.folder / name, model / name
            if own.is_file() and theirs.is_file() and own.read_bytes() == theirs.read_bytes():
                yield f"{name} is unchanged from the domain {model.name}"
        ours, shipped = domain.settings, Domain(model).settings
        for name in OWN_SETTINGS:
            own_value = getattr(ours.generation, name)
            if own_value and own_value == getattr(shipped.generation, name):
                yield f"domain.toml: {name} of [generation] is unchanged from the domain {model.name}"
        if ours.language != shipped.language:
            for table, name in (("sources", "exclude"), ("targets", "exclude"), ("cleaning", "rules")):
                if getattr(getattr(ours, table), name) == getattr(getattr(shipped, table), name):
                    yield f"domain.toml: {name} of [{table}] is unchanged from {model.name}, for English texts"


def _remarks_on_generation(domain: Domain) -> Iterator[str]:
    settings = domain.settings.generation
    if domain.generation_example is None:
        yield "there is no generation.json: the document strategy has no worked example"
    most = round(settings.shape.sentences[1] * (1 - settings.shape.linked))
    if len(set(settings.unlinked_topics)) < most:
        yield f"unlinked_topics has {len(set(settings.unlinked_topics))} topics for up to {most} unlinked sentences"
    said: Sequence[str] = [example.sentence for example in settings.unlinked_examples]
    for text in said:
        if word_count(text) > settings.max_words:
            yield f"unlinked_examples: {text!r} is longer than max_words = {settings.max_words}"
