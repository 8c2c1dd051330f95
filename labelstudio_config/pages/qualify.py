"""Qualification: applicants judge gold pairs on the page of a batch; its tasks have no gold links.

Beforehand, an expert may link these pairs on the page for exhaustive judging.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from abcdlink.domain import Domain
from abcdlink.errors import InputError
from abcdlink.judgments import Annotator, Label, Pool
from abcdlink.layout import GOLD_SLUG, QUALIFY_SLUG
from abcdlink.qualify import JUDGMENTS, keep_judgments, people_of
from abcdlink.qualify.gold import (
    EXPERT_ANOMALIES,
    EXPERT_JUDGMENTS,
    EXPERTS,
    GoldSet,
    expert_corpus,
    expert_sample,
    gold_set_of,
)
from abcdlink.store import Store
from labelstudio_config.answers import with_pseudonyms
from labelstudio_config.pages import (
    Asked,
    JudgmentsPull,
    Page,
    Project,
    exhaustive,
    keep_pull,
    own_title,
    title_of,
)
from labelstudio_config.pages.annotate import batch_project, batch_tasks, judgments_in
from labelstudio_config.snapshot import Snapshot

MOST_APPLICANTS = 50
"""People who can judge each task; Label Studio requires a number."""


def qualification_project(run_key: str, domain: Domain) -> Project:
    """Return the project of a qualification."""
    project = batch_project(run_key, 1, domain, MOST_APPLICANTS)
    return project.model_copy(update={"title": title_of(run_key, "qualification")})


def qualification_tasks(run_key: str, gold: GoldSet, domain: Domain) -> dict[str, dict[str, Any]]:
    """Return task key -> data, in the order in which applicants see the tasks."""
    return batch_tasks(run_key, 1, gold.pools, gold.corpus, domain)


APPLICANT = "applicant"
"""Prefix of applicants' pseudonyms: they are not yet the run's annotators."""


def applications_in(snapshot: Snapshot, pools: Sequence[Pool], applicants: Sequence[Annotator]) -> JudgmentsPull:
    """Read judgments from what is in Label Studio."""
    by_key = {pool.key: pool for pool in pools}
    return judgments_in(snapshot, by_key, with_pseudonyms(applicants, snapshot, APPLICANT))


class QualificationPage(Page):
    """The gold pairs of a run. ``applicants``: how many the run waits for; more may apply."""

    applicants: int
    slug: ClassVar[str] = QUALIFY_SLUG
    last: ClassVar[str] = JUDGMENTS

    def ask(self, store: Store, domain: Domain) -> Asked:
        tasks = qualification_tasks(store.key, gold_set_of(store), domain)
        return Asked(qualification_project(store.key, domain), tasks, needed=self.applicants)

    def keep(self, store: Store, snapshot: Snapshot) -> None:
        result = applications_in(snapshot, gold_set_of(store).pools, people_of(store))
        keep_pull(store, QUALIFY_SLUG, result, snapshot)
        keep_judgments(store, result.annotators, result.judgments)


EXPERT = "expert"
"""Prefix of experts' pseudonyms."""


def gold_project(run_key: str, domain: Domain) -> Project:
    """Return the project in which an expert links gold pairs; its title makes it one account's own."""
    project = exhaustive.exhaustive_project(run_key, domain, domain.guidelines, overlap=1)
    return project.model_copy(update={"title": own_title(title_of(run_key, "gold pair"), 0)})


class GoldPage(Page):
    """The pairs that an expert links: every source sentence against every target sentence."""

    slug: ClassVar[str] = GOLD_SLUG
    last: ClassVar[str] = EXPERT_JUDGMENTS

    def ask(self, store: Store, domain: Domain) -> Asked:
        tasks = exhaustive.exhaustive_tasks(expert_sample(store).sources, expert_corpus(store), domain)
        return Asked(gold_project(store.key, domain), tasks)

    def keep(self, store: Store, snapshot: Snapshot) -> None:
        people = with_pseudonyms(store.find_records(EXPERTS, Annotator), snapshot, EXPERT)
        corpus = expert_corpus(store)
        result = exhaustive.judgments_in(snapshot, expert_sample(store).sources, corpus, people)
        linked = {one.pair for one in result.judgments if one.label is Label.LINK}
        lost = next((pair.id for pair in corpus.pairs if pair.id not in linked), None)
        if lost is not None:  # nothing is kept, so that the run can go on when there are links
            msg = f"no sentence of the pair {lost!r} is linked in the project {title_of(store.key, 'gold pair')!r}"
            raise InputError(msg, f"link some in Label Studio, then `abcdlink continue {store.key}`")
        store.write_records(EXPERTS, result.annotators)
        store.write_json(EXPERT_ANOMALIES, result.anomalies)
        store.write_records(EXPERT_JUDGMENTS, result.judgments)
