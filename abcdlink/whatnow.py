"""What now: where a run is, whom it waits for, and the next command. The same words on every surface.

Computed from the run's folder alone, so that the command line, a run page and the report say the same of it.
"""

from __future__ import annotations

from datetime import datetime
from string import ascii_uppercase

from abcdlink.boundaries import CORRECTED, SEGMENTATION
from abcdlink.corpus.records import Record
from abcdlink.errors import as_sentences
from abcdlink.feedback.guidelines import domain_has_changed
from abcdlink.going_on import Item, Line, WhatNow
from abcdlink.layout import (
    AGREEMENT,
    BENCHMARK,
    GENERATION,
    GOLD_SLUG,
    JUDGMENTS,
    NATURAL,
    POOL_COUNTS,
    QUALIFY_SLUG,
    REPORT,
    SHORTLIST,
    VALIDATION,
    batch_file,
    batch_of,
    is_feedback,
)
from abcdlink.qualify import QUALIFIED
from abcdlink.stages.batch_preview import preview_of, review_of
from abcdlink.stages.shortlist import is_quick
from abcdlink.store import Store
from abcdlink.waiting import PeopleProgress, Waiting, WaitsFor, all_waiting, people_progress

CANCELLED = "was cancelled"
"""What Prefect and we say of a flow that somebody stopped."""
OF_PEOPLE = {
    "qualify": "Applicants judge the gold pairs",
    GOLD_SLUG: "An expert links the gold pairs",
    "rate": "Raters judge the synthetic documents",
    "exhaustive": "Annotators judge every target sentence of the sample",
    "boundaries": "Somebody checks the sentence boundaries",
    "adjudicate": "An adjudicator decides where annotators differ",
    "coding": "Coders sort wrong predictions into patterns",
}

STAGES = {
    "corpus": f"{NATURAL}/pairs.jsonl",
    "generate": GENERATION,
    "validate": VALIDATION,
    "benchmark": BENCHMARK,
    "shortlist": SHORTLIST,
    "candidates": POOL_COUNTS,
}
"""Stage before annotation -> the file that it ends with."""


class Surroundings(Record):
    """What only the servers know. ``invitation``: link by which people make accounts; ``pages``: of Prefect's UI."""

    invitation: str = ""
    pages: str = ""
    accounts: bool = False
    """Whether accounts may be shown: the report is for others, and has pseudonyms only."""


def what_now(store: Store, around: Surroundings | None = None) -> WhatNow:
    """Return where a run is.

    ``around``: what the servers know; ``None``: for a report that others read, without accounts and invitation.
    """
    over = {WaitsFor.NOTHING}
    if around is None and _all_judged(store):
        over.add(WaitsFor.NOBODY)  # the flow that writes this report
    around = around or Surroundings()
    going_on = [(flow, waiting) for flow, waiting in all_waiting(store) if waiting.kind not in over]
    items = [item_of(store, flow, waiting, around) for flow, waiting in going_on]
    since = [waiting.at for _, waiting in going_on if waiting.at]
    return WhatNow(run=store.key, items=tuple(items) or (_at_rest(store),), since=min(since, default=None))


def item_of(store: Store, flow: str, waiting: Waiting, around: Surroundings) -> Item:
    """Describe what one flow is doing."""
    match waiting.kind:
        case WaitsFor.ANNOTATORS:
            headline, lines = _with_people(store, flow, waiting, around)
        case WaitsFor.COORDINATOR:
            headline, lines = _with_coordinator(store, flow, waiting)
        case WaitsFor.LLM:
            headline = f"The LLM answers a batch of questions on the {waiting.told} pairs"
            lines = [Line(text="The run continues on its own when the batch is done, within a day")]
        case WaitsFor.FIX:
            headline = f"The flow {flow} {CANCELLED if CANCELLED in waiting.told else 'failed'}"
            lines = _how_to_fix(store, flow, waiting.told)
        case _:
            headline = _at_work(store, flow)
            lines = [Line(text=as_sentences(waiting.told) or "Nobody needs to do anything now")]
    if around.pages and waiting.flow_run:
        lines = [*lines, Line(text="Run page", link=f"{around.pages}{waiting.flow_run}")]
    return Item(flow=flow, kind=waiting.kind, headline=headline, lines=tuple(lines))


def _how_to_fix(store: Store, flow: str, told: str) -> list[Line]:
    why = as_sentences(told.rstrip(".")) or "See its log"
    again = "Continue where it stopped" if CANCELLED in told else "Once the cause is fixed, continue where it stopped"
    lines = [Line(text=why), Line(text=again, command=f"abcdlink continue {store.key}")]
    if flow == "start" and not store.exists(STAGES["corpus"]):
        lines.append(Line(text="Or with other settings", command=f"abcdlink start {store.key} --corpus FOLDER"))
    return lines


def _with_people(store: Store, flow: str, waiting: Waiting, around: Surroundings) -> tuple[str, list[Line]]:
    slug, progress = waiting.slug, people_progress(store, waiting.slug)
    if flow == "annotate":
        batches = store.manifest.get("annotation", {}).get("batches", 1)
        batch = f"batch {batch_of(slug)} of {batches}"
        headline = f"Annotators look at {batch} again" if is_feedback(slug) else f"Annotators judge {batch}"
        guidelines = about_guidelines(store, batch_of(slug) + is_feedback(slug))
    else:
        guidelines = []
        headline = OF_PEOPLE.get(slug) or OF_PEOPLE.get(flow, f"People are working on {flow}")
    if progress is None:
        return headline, [Line(text="Their tasks are being pushed to Label Studio")]
    lines = [Line(text=_how_far(progress))]
    behind = [one for one in progress.people if one.open and progress.done < progress.tasks]
    names = [f"{one.account if around.accounts else one.annotator} ({one.open} open)" for one in behind]
    named = [name for name in names if not name.startswith(" ")]
    if named:
        lines.append(Line(text=f"Waiting for {', '.join(named)}"))
    elif not progress.answers:
        lines.append(Line(text="Nobody has started"))
    elif progress.people and not behind and progress.done < progress.tasks:
        lines.append(Line(text="All who have started are done: the rest waits for somebody else"))
    if progress.done < progress.tasks:
        if progress.own_urls:
            own = zip(ascii_uppercase, progress.own_urls, strict=False)
            lines += [Line(text=f"Send this link only to annotator {letter}", link=url) for letter, url in own]
        else:
            lines.append(Line(text="Send this link to them", link=progress.url))
        invite = "Anyone without an account creates one here first"
        if around.invitation:
            lines.append(Line(text=invite, link=around.invitation))
        else:
            lines.append(Line(text=f"{invite}; the link is shown by", command=f"abcdlink status {store.key}"))
    if slug == QUALIFY_SLUG:
        lines.append(Line(text="For Prolific, the study's link", command=f"abcdlink annotators prolific {store.key}"))
    lines += guidelines
    over = "They are done: the run continues on its own within a minute"
    goes_on = "The run continues on its own when they are done" if progress.done < progress.tasks else over
    lines.append(Line(text=f"{goes_on}; to check again", command=f"abcdlink status {store.key}"))
    return headline, lines


def _how_far(progress: PeopleProgress) -> str:
    text = f"{progress.done} of {progress.tasks} tasks done, {progress.answers} of {progress.needed} answers"
    if progress.note:
        text += f"; {progress.note}"
    if progress.deadline:
        text += f"; deadline {_day(progress.deadline)}"
    if end := progress.expected_end:
        text += f"; at this pace they will finish on {_day(end)}"
    return text


def _with_coordinator(store: Store, flow: str, waiting: Waiting) -> tuple[str, list[Line]]:
    key = store.key
    if is_feedback(waiting.slug):
        batch = batch_of(waiting.slug)
        at = "" if batch == 1 else f" --batch {batch}"
        return f"You decide what annotators are told after batch {batch}", [
            Line(
                text="Memos, borderline cases and drafted clarifications",
                command=f"abcdlink feedback show {key}{at}",
            ),
            Line(
                text="Accept the draft, or your own text with --clarifications FILE",
                command=f"abcdlink feedback start {key}",
            ),
            Line(text="Or resume the run in the Prefect UI, where the draft is in a form"),
            *about_guidelines(store, batch),
        ]
    if flow == "annotate":
        return _with_preview(store, batch_of(waiting.slug))
    if flow == "qualify":
        return "You decide which applicants to accept", [
            Line(text="How they judged", command=f"abcdlink qualify show {key}"),
            Line(text="Accept the proposed ones, or others with --accounts", command=f"abcdlink qualify confirm {key}"),
        ]
    return f"The flow {flow} waits for you", [Line(text="Resume it in the Prefect UI")]


def _with_preview(store: Store, batch: int) -> tuple[str, list[Line]]:
    key, preview, review = store.key, preview_of(store, batch), review_of(store, batch)
    lines = []
    if preview:
        size, time = (f"{text[0].upper()}{text[1:]}" for text in (preview.size, preview.time))
        lines = [Line(text=text) for text in (size, time, *preview.notes)]
    if review.problem:
        lines.append(Line(text=f"The filters are unchanged: {review.problem}"))
    lines += about_guidelines(store, batch)
    lines += [
        Line(text="See it as annotators will", command=f"abcdlink annotate preview {key} --open"),
        Line(text="Leave out more or less", command=f"abcdlink annotate preview {key} --min-words N --exclude REGEX"),
        Line(text="Let annotators see it", command=f"abcdlink annotate go {key}"),
        Line(text="Or resume the run in the Prefect UI, where the filters are in a form"),
    ]
    of = store.manifest.get("annotation", {}).get("batches", 1)
    return f"Batch {batch} of {of} waits for your Go", lines


OTHER_GUIDELINES = "The domain's guidelines have changed since batch 1 began, but annotators see those of the run"


def about_guidelines(store: Store, batch: int) -> list[Line]:
    """Say whom a change of the domain's guidelines reaches before ``batch`` is complete."""
    if not domain_has_changed(store):
        return []
    if batch < store.manifest.get("annotation", {}).get("batches", 1):
        how = f"abcdlink feedback start {store.key} --clarifications FILE"
        told = f"{OTHER_GUIDELINES}. What is new can reach them as clarifications after batch {batch}"
        return [Line(text=told, command=how)]
    last = "This is the last batch, which no clarifications follow: tell annotators yourself what is new, for all alike"
    return [Line(text=f"{OTHER_GUIDELINES}. {last}")]


def stages_of(store: Store) -> list[str]:
    """Return the stages of a run before annotation, in their order."""
    skipped = {"generate", "validate", "benchmark"} if is_quick(store.manifest) else set()
    return [name for name in STAGES if name not in skipped]


def _at_work(store: Store, flow: str) -> str:
    stages = stages_of(store)
    stage = next((name for name in stages if not store.exists(STAGES[name])), None)
    if stage is None or flow not in {"start", "bootstrap", *STAGES}:
        return f"The flow {flow} is running"
    return f"The stage {stage} is running (step {stages.index(stage) + 1} of {len(stages)} before annotation)"


def _all_judged(store: Store) -> bool:
    batches = store.manifest.get("annotation", {}).get("batches", 0)
    return batches > 0 and store.exists(batch_file(batches, AGREEMENT))


def _at_rest(store: Store) -> Item:
    """Say what comes next in a run without a flow under way."""
    key = store.key
    if store.exists(JUDGMENTS) and not store.folder.read(JUDGMENTS):
        headline = "Over, but nobody judged anything: the data set is empty"
        lines = [
            Line(text="Ask people again under another run key", command="abcdlink start OTHER-KEY --corpus FOLDER")
        ]
    elif store.exists(JUDGMENTS) and (_all_judged(store) or store.exists(REPORT)):
        headline = "Complete: data set and report are written"
        lines = [
            *_of_labels(store),
            Line(text="Report, with what is left to do", command=f"abcdlink report {key} --open"),
            Line(text="All links, side by side", command=f"abcdlink links {key} --open"),
            Line(text="Data set in another layout", command=f"abcdlink export {key} --format huggingface"),
        ]
    elif store.exists(batch_file(1, AGREEMENT)):
        headline = "Annotation is not running"
        lines = [Line(text="Continue it", command=f"abcdlink annotate start {key}")]
    elif store.exists(POOL_COUNTS):
        headline = "Candidates are ready for annotators"
        lines = [Line(text="Start annotation", command=f"abcdlink annotate start {key}")]
    elif "drop" in store.manifest:
        headline = "Candidates for this data drop are not ready yet"
        lines = [Line(text="Go on with them, unless that is under way", command="abcdlink run drops")]
    elif store.exists(SEGMENTATION):
        headline = "Sentence boundaries are corrected"
        lines = [
            Line(text="What changed, and where the corrected corpus is", command=f"abcdlink boundaries show {key}"),
            Line(text="A job with it", command=f"abcdlink start OTHER-KEY --corpus {store.where(CORRECTED)}"),
        ]
    else:
        done = ["qualification"] if store.exists(QUALIFIED) else []
        done += [name for name in stages_of(store) if store.exists(STAGES[name])]
        headline = f"Nothing is running; done: {', '.join(done)}" if done else "Nothing has started"
        lines = [Line(text="Start, or continue from what is there", command=f"abcdlink start {key} --corpus FOLDER")]
    return Item(flow="", kind=WaitsFor.NOTHING, headline=headline, lines=tuple(lines))


def _of_labels(store: Store) -> list[Line]:
    """Name the command that shows what an audit says of the labels that it was drawn from."""
    plan = store.manifest.get("inputs", {}).get("audit")
    if not plan:
        return []
    command = f"abcdlink labels show {plan['labels_of']} {plan['name']}"
    return [Line(text="Precision and recall of the labels that were judged", command=command)]


def _day(at: datetime) -> str:
    local = at.astimezone()
    return f"{local.day} {local:%B %Y, %H:%M}"
