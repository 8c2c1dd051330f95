"""Stage audit: a sample of labels becomes its own run, whose judgments measure the quality of the labels."""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import version

from pydantic import Field

from abcdlink.audits import Audit, AuditedCandidate, draw, estimate
from abcdlink.candidates.pools import PoolMode, pools_of
from abcdlink.corpus.io import write_corpus_to
from abcdlink.corpus.records import Record
from abcdlink.domain import domain_of
from abcdlink.errors import InputError, counted
from abcdlink.export.dataset import gather
from abcdlink.judgments import MEANINGS, LabelRule
from abcdlink.labels.records import Labels
from abcdlink.layout import JUDGMENTS, NATURAL, POOL_COUNTS, POOLS, labels_file
from abcdlink.stages.candidates import PoolCounts
from abcdlink.stages.intake import describe_run
from abcdlink.stages.label import LabelRun
from abcdlink.stages.once import is_done
from abcdlink.store import MANIFEST, Store, open_run
from abcdlink.templates import markdown_environment

METHOD = "audit"
AUDIT, CANDIDATES, CARD = "audit.json", "audit.jsonl", "README.md"
MADE = "audits"
"""Section of the manifest: name of labels -> runs that audit them, in the order in which they were made."""


class AuditPlan(Record):
    """Which labelled candidates people judge.

    ``run``: key of the run in which they are judged; ``precision``: target that sets the ``threshold``;
    ``links``: how many candidates reach it; ``expected_below``: sum of the probabilities of the others.
    """

    run: str
    labels_of: str = Field(description="key of the run that holds the labels")
    name: str
    wanted: int
    seed: int
    precision: float
    threshold: float
    links: int
    expected_below: float


def make_audit(
    store: Store, name: str, precision: float = 0.95, wanted: int = 400, key: str = "", seed: int = 13
) -> AuditPlan:
    """Sample candidates for an audit and create a run of one batch in which people judge them.

    About ``wanted`` candidates are sampled, half of them links by the threshold that the target precision sets. An
    empty ``key`` is derived from the run's and the labels' names. All parts of the labels must be finished. Of several
    audits of the same labels, the one made last counts.

    Raises:
        InputError: when parts are unfinished, no threshold reaches the precision, or the new run's key is taken.
    """
    labels = LabelRun(store, name)
    summary = labels.summary(precision)
    if not summary.complete:
        left = summary.parts[1] - summary.parts[0]
        msg = f"{counted(left, 'part')} of the labels {name!r} {'is' if left == 1 else 'are'} unfinished"
        raise InputError(msg, f"finish them first: `abcdlink label {store.key} {summary.corpus} --name {name}`")
    if summary.threshold is None:
        msg = f"no threshold on the labels {name!r} reaches a precision of {precision:g}"
        raise InputError(msg, "audit them for a lower precision with --precision")
    plan = AuditPlan(
        run=key or f"{store.key}-{name}-audit",
        labels_of=store.key,
        name=name,
        wanted=wanted,
        seed=seed,
        precision=precision,
        threshold=summary.threshold,
        links=summary.links,
        expected_below=summary.expected_links - summary.links * (summary.expected_precision or 0.0),
    )
    judged = open_run(plan.run)
    if judged.exists(MANIFEST) and METHOD not in judged.manifest.get("inputs", {}):
        msg = f"the run {plan.run!r} already exists"
        raise InputError(msg, "choose another run key with --as")
    is_made = is_done(judged, METHOD, POOL_COUNTS, plan, "another run key with --as")
    before = store.find_record(labels_file(name, AUDIT), AuditPlan)
    if is_made and before == plan:
        return plan
    # What people may have judged already is never drawn again, even by a later version that would draw otherwise.
    drawn = judged.find_records(CANDIDATES, AuditedCandidate) if is_made else []
    drawn = drawn or draw(labels.tables, plan.threshold, plan.links, wanted, seed)
    made = store.manifest.get(MADE, {}).get(name, [before.run] if before else [])
    store.note_in(MADE, name, [*(run for run in made if run != plan.run), plan.run])
    # The run's own files are written last: once the counts exist, it can be annotated.
    store.write_records(labels_file(name, CANDIDATES), drawn)
    store.write_record(labels_file(name, AUDIT), plan)
    if not is_made:
        judged.write_records(CANDIDATES, drawn)
        _fill(judged, store, labels, drawn)
    return plan


def _fill(judged: Store, store: Store, labels: LabelRun, drawn: list[AuditedCandidate]) -> None:
    """Give the new run its corpus and pools: one batch, one task per source sentence."""
    index = labels.corpus()
    corpus = index.read(index.numbers_of({one.pair for one in drawn}))
    describe_run(judged, domain_of(store))
    judged.note("corpus", {"documents": len(corpus.documents), "pairs": len(corpus.pairs), "language": store.language})
    write_corpus_to(judged, NATURAL, corpus)
    methods: dict[tuple[str, str], dict[str, str]] = {}
    for one in drawn:
        methods.setdefault((one.pair, one.source), {})[one.target] = METHOD
    pools = pools_of(corpus, judged.key, 1, methods)
    judged.write_records(POOLS, pools)
    judged.write_record(POOL_COUNTS, PoolCounts.of(pools, PoolMode.SINGLE))


def read_audit(store: Store, name: str, rule: LabelRule = LabelRule.BOTH) -> tuple[AuditPlan, Audit] | None:
    """Return what the audit's judgments say about the labels; ``None`` if no candidate has a label by them.

    Raises:
        InputError: when too few candidates have been judged, or the rule needs an adjudication that is missing.
    """
    plan = store.find_record(labels_file(name, AUDIT), AuditPlan)
    if plan is None or not open_run(plan.run).exists(JUDGMENTS):
        return None
    dataset = gather(open_run(plan.run), rule, "")
    said = {(one.pair, one.source, one.target): one.link for one in dataset.candidates if one.link is not None}
    if not said:
        return None
    drawn = store.read_records(labels_file(name, CANDIDATES), AuditedCandidate)
    return plan, estimate(drawn, said, plan.threshold, plan.links, plan.expected_below)


def superseded(store: Store, name: str) -> list[str]:
    """Return the runs of earlier audits of these labels, which no longer count."""
    runs: list[str] = store.manifest.get(MADE, {}).get(name, [])
    return runs[:-1]


def _by_other_rules(store: Store, name: str, rule: LabelRule) -> dict[LabelRule, Audit]:
    """Return what the audit says by each other rule that can be applied."""
    others = {}
    for other in LabelRule:
        with suppress(InputError):
            if other is not rule and (found := read_audit(store, name, other)):
                others[other] = found[1]
    return others


def write_card(store: Store, labels: Labels, rule: LabelRule = LabelRule.BOTH) -> str:
    """Write the data card of labels and return its text; errors as ``read_audit``."""
    found = read_audit(store, labels.name, rule)
    dataset = gather(open_run(found[0].run), rule, "") if found else None
    judged = [one for one in dataset.candidates if one.link is not None] if dataset else []
    text = (
        markdown_environment("abcdlink.labels")
        .get_template("card.md.j2")
        .render(
            run=store.key,
            labels=labels,
            plan=store.find_record(labels_file(labels.name, AUDIT), AuditPlan),
            audit=found[1] if found else None,
            superseded=superseded(store, labels.name),
            simulated=bool(dataset and dataset.simulated),
            meanings=MEANINGS,
            rule=rule,
            others=_by_other_rules(store, labels.name, rule) if found else {},
            disputed=sum(len(set(one.judgments.values())) > 1 for one in judged),
            version=version("abcdlink"),
        )
    )
    store.write_text(labels_file(labels.name, CARD), text)
    return text
