"""Coding: people say which pattern they see in a wrong prediction, each in their own project.

They see what annotators said about the candidate, never which method was wrong: codes are compared between methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from abcdlink.coding import OTHER, Code, Coding, CodingPattern, WrongPrediction
from abcdlink.corpus.io import read_corpus_from
from abcdlink.corpus.records import Corpus
from abcdlink.domain import Domain
from abcdlink.evaluation.errors import ErrorKind
from abcdlink.feedback.guidelines import newest_guidelines
from abcdlink.judgments import Annotator
from abcdlink.layout import ANOMALIES, CODERS, CODES, CODING_SLUG, NATURAL
from abcdlink.stages.annotate import annotators_of
from abcdlink.stages.coding import coding_of, keep_codes, overlap_of
from abcdlink.store import Store
from labelstudio_config.answers import read_answers, with_pseudonyms
from labelstudio_config.pages import (
    NO_KEY,
    Asked,
    Page,
    Project,
    Pull,
    document_html,
    keep_pull,
    project_of,
    shown,
    text_html,
    title_of,
)
from labelstudio_config.snapshot import Snapshot

HIDDEN = ("doc_a_name", "doc_a_html", "doc_b_name", "doc_b_html", "patterns", "progress")

WRONG = {
    ErrorKind.FALSE_LINK: "Wrong link: a program proposed this sentence, but people say it is not a link. "
    "What misled the program?",
    ErrorKind.MISSED_LINK: "Missed link: people say this sentence is a link, but a program did not propose it. "
    "What hid it?",
}
KEYS = "123456789"
"""Keys of the first patterns."""
CODER = "coder"
"""Prefix of the pseudonyms of coders who are not annotators of the run."""
PATTERN, WHICH, COMMENT = "pattern", "which", "comment"
"""Names in the label config."""
OTHER_ID = "pattern-other"
"""The value with which the page asks which other pattern it is."""


def coding_tasks(coding: Coding, corpus: Corpus, domain: Domain) -> dict[str, dict[str, Any]]:
    """Return task key -> data, in the order of the documents."""
    pairs, names = {pair.id: pair for pair in corpus.pairs}, domain.settings
    patterns = [_choice(number, one) for number, one in enumerate(coding.patterns)]
    tasks = {}
    for number, error in enumerate(coding.errors, start=1):
        source, target = corpus.source_of(pairs[error.pair]), corpus.target_of(pairs[error.pair])
        tasks[error.key] = {
            "progress": f"{number} of {len(coding.errors)}",
            "wrong": WRONG[error.kind],
            "source_text": shown(source.text_of(error.source)),
            "candidate": shown(target.text_of(error.target)),
            "doc_a_name": f"Document A: {names.source_name}",
            "doc_b_name": f"Document B: {names.target_name}",
            "doc_a_html": document_html(source, {error.source: ""}),
            "doc_b_html": document_html(target, {error.target: ""}),
            "patterns": patterns,
        }
    return tasks


def _choice(number: int, pattern: CodingPattern) -> dict[str, str]:
    key = KEYS[number] if number < len(KEYS) else ""
    meaning = f": {text_html(pattern.meaning)}" if pattern.meaning else ""
    html = f"<b>{key}</b> <b>{text_html(pattern.name)}</b>{meaning}"
    value = OTHER_ID if pattern.name == OTHER else pattern_id(number)
    return {"value": value, "html": html, "hotkey": key or NO_KEY}


def pattern_id(number: int) -> str:
    """Return a pattern's value in answers: its name may contain what Label Studio takes for a variable."""
    return f"pattern-{number + 1}"


HOW_TO = """# Say why a program was wrong

- You see two sentences, highlighted in their documents, and whether a program **proposed** a link that people reject or
  **missed** one. Read the text around both sentences, then choose the one pattern that best explains the mistake:
  if several fit, choose the one without which the mistake would not have happened.
- You are not told which program it was. Others do the same work independently: do not discuss cases before everyone
  has finished.
- If you choose *other*, say which.
- With the keyboard: the number of the pattern, then **Ctrl + Enter** to submit.

Below are the guidelines that the annotators had.

---

"""


def coding_project(run_key: str, domain: Domain, guidelines: str) -> Project:
    """Return the project of one coder; ``guidelines``: Markdown, those of the annotators."""
    about = f"{domain.settings.title}. Why is this prediction wrong?"
    return project_of("coding", title_of(run_key, "coding"), about, HOW_TO + guidelines, 1, HIDDEN)


class CodingPull(Pull):
    """The codes. ``annotators``: the coders who are not annotators of batches."""

    codes: list[Code]


def codes_in(
    snapshot: Snapshot,
    errors: Sequence[WrongPrediction],
    patterns: Sequence[CodingPattern],
    annotators: Sequence[Annotator],
    coders: Sequence[Annotator],
) -> CodingPull:
    """Read codes from what is in Label Studio."""
    at_work = {person.account for person in annotators}
    known = [*annotators, *(person for person in coders if person.account not in at_work)]
    answers = read_answers(snapshot, [one.key for one in errors], with_pseudonyms(known, snapshot, CODER))
    names = {OTHER_ID: OTHER, **{pattern_id(number): one.name for number, one in enumerate(patterns)}}
    codes, anomalies = [], [*answers.anomalies]
    for who, answer in answers.newest:
        chosen = answer.given.choices.get(PATTERN, [])
        if len(chosen) == 1 and chosen[0] in names:
            comment = "\n".join(filter(None, map(answer.given.texts.get, (WHICH, COMMENT))))
            codes.append(Code(key=answer.key, coder=who, pattern=names[chosen[0]], comment=comment))
            if codes[-1].pattern == OTHER and not comment:
                anomalies.append(f"{who} chose {OTHER!r} for the task {answer.key} and did not say what in the comment")
        else:
            anomalies.append(f"{who} gave {chosen} for the task {answer.key}, which is not one of the patterns")
    return CodingPull(
        codes=codes,
        annotators=[person for person in answers.annotators if person.account not in at_work],
        anomalies=anomalies,
    )


class CodingPage(Page):
    """The sampled wrong predictions of a run; each coder has their own project."""

    slug: ClassVar[str] = CODING_SLUG
    last: ClassVar[str] = CODES

    def ask(self, store: Store, domain: Domain) -> Asked:
        tasks = coding_tasks(coding_of(store), read_corpus_from(store, NATURAL), domain)
        project = coding_project(store.key, domain, newest_guidelines(store, domain.guidelines))
        coders = overlap_of(store)
        return Asked(project, tasks, needed=coders, projects=coders)

    def keep(self, store: Store, snapshot: Snapshot) -> None:
        coding = coding_of(store)
        people = annotators_of(store), store.find_records(CODERS, Annotator)
        result = codes_in(snapshot, coding.errors, coding.patterns, *people)
        keep_pull(store, CODING_SLUG, result, snapshot)
        keep_codes(store, result.codes, result.annotators)

    def keep_unasked(self, store: Store) -> None:
        store.write_json(f"{CODING_SLUG}/{ANOMALIES}", [])
        keep_codes(store, [], [])
