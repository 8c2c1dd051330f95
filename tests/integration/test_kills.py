"""The kill matrix: any process dies, or the machine sleeps, at any moment of a job, and the job ends right.

A job goes all the way from documents to a data set: generation, benchmark, candidates, a batch for two annotators,
and the report. Its moments are the boundaries of its steps, as the run's folder shows them, and random ones in between.

The short form strikes one job four times. ``make chaos`` (``ABCDLINK_CHAOS=1``) runs the whole matrix, including the
promised times, and writes it to ``build/chaos.md``; ``ABCDLINK_CHAOS_ROWS`` (separated by `;`) and
``ABCDLINK_CHAOS_JOBS`` select a part of it.
"""

from __future__ import annotations

import os
import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from abcdlink.corpus.io import write_corpus
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.errors import AbcdlinkError
from abcdlink.judgments import Judgment, Pool
from abcdlink.layout import BENCHMARK, GENERATION, JUDGMENTS, POOLS, REPORT, SHORTLIST, VALIDATION, batch_slug
from abcdlink.store import MANIFEST, Store
from labelstudio_config.client import connect
from labelstudio_config.run import is_pushed, read_pushed
from labelstudio_config.simulate import simulate_batch
from services.state import status
from tests.helpers.builders import corpus, document
from tests.helpers.labels import PROBABLE
from tests.helpers.machine import Machine, running_machine
from tests.helpers.waiting import LONG, until

TABLE = Path("build/chaos.md")
SLUG = batch_slug(1)
SEED = 13
RANDOM_MOMENTS = 10
STRIKES = 4
"""Per job: a flow whose process died is restarted this often."""
JOBS = int(os.environ.get("ABCDLINK_CHAOS_JOBS") or 1000)
"""Most jobs per row; each is struck at different moments."""
PROMISED_SECONDS = 90.0
"""From the moment at which everything is back until the run continues; asserted only in the long form."""
DEAD_SECONDS = 240.0
UNSEEN = {"worker and flow", "flow asleep", "machine asleep"}
"""The same if nobody sees the process of a run die: 150 s without a sign of life come first."""
LIMIT = 900.0
POLL = 0.05 if LONG else 0.2

STEPS: dict[str, Callable[[Machine, Store], bool]] = {
    "begun": lambda _, store: store.exists(MANIFEST),
    "generated": lambda _, store: store.exists(GENERATION),
    "validated": lambda _, store: store.exists(VALIDATION),
    "benchmarked": lambda _, store: store.exists(BENCHMARK),
    "shortlisted": lambda _, store: store.exists(SHORTLIST),
    "candidates": lambda _, store: store.exists(POOLS),
    "pushed": lambda _, store: is_pushed(store, SLUG),
    "waiting": lambda machine, store: machine.state("annotate", store.key) == "Suspended",
    "annotated": lambda _, store: store.key in ANNOTATED,
    "pulled": lambda _, store: store.exists(JUDGMENTS),
    "reported": lambda _, store: store.exists(REPORT),
    "completed": lambda machine, store: machine.state("annotate", store.key) == "Completed",
}
"""Step of a job -> whether its result exists."""

ROWS: dict[str, Callable[[Machine], float]] = {
    "flow": Machine.kill_flow,
    "worker": Machine.kill_worker,
    "worker and flow": Machine.kill_worker_tree,
    "Prefect server": Machine.kill_prefect,
    "Label Studio": Machine.kill_label_studio,
    "LLM": Machine.restart_llm,
    "everything, started again": Machine.cut_the_power,
    "down and up": Machine.stop_and_start,
    "flow asleep": Machine.let_flow_sleep,
    "machine asleep": Machine.sleep,
}
ASKED_ROWS = [row for row in os.environ.get("ABCDLINK_CHAOS_ROWS", "").split(";") if row] or list(ROWS)
ANNOTATED: set[str] = set()
"""Runs whose annotators are done."""


@dataclass(frozen=True)
class Moment:
    """When to strike: so far (0 to 1) from the end of one step of a job to the end of the next."""

    step: str
    share: float = 0.0


@dataclass
class Strike:
    """One strike, and how many seconds later than undisturbed the next step ended, without those of a pause."""

    row: str
    moment: Moment
    late: float = 0.0


@dataclass
class Job:
    """The outcome of a job."""

    strikes: list[Strike]
    seconds: dict[str, float] = field(default_factory=dict)
    """Step -> seconds since the end of the previous step."""
    asked: int = 0
    again: int = 0
    """Questions that the LLM was asked a second time."""
    tasks: int = 0
    doubled_tasks: int = 0
    answers: int = 0
    doubled_answers: int = 0
    counted: int = 0
    wanted: int = 0


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with running_machine(tmp_path_factory.mktemp("machine")) as made:
        yield made


def own_corpus(key: str) -> Corpus:
    """Make documents that no other run has, so that no question about them is in the cache."""
    texts = [f"On day {n} of {key} the {what}." for n, what in enumerate(("bridge fell", "mayor spoke", "rain came"))]
    pairs, documents = [], []
    for number in range(3):
        source, target = (document(f"{side}-{number}", [f"{text} ({number})" for text in texts]) for side in "st")
        links = {one.id: (one.id,) for one in source.sentences}
        pairs.append(Pair(id=f"pair-{number}", source=source.id, target=target.id, links=links))
        documents += [source, target]
    return corpus(pairs, *documents)


def do_job(machine: Machine, key: str, plan: Sequence[Strike], usual: dict[str, float]) -> Job:
    """Do a whole job and strike it as planned; ``usual``: seconds of each step of an undisturbed one."""
    folder = machine.home.parent / key
    write_corpus(own_corpus(key), folder)
    parameters = {
        "run": key,
        "corpus": str(folder),
        "benchmark": {"retrievers": ["bm25"], "learned": [PROBABLE], "cutoffs": [1, 2]},
        "annotation": {"batches": 1, "overlap": 2, "preview": False},
    }
    asked_before = len(machine.questions())
    machine.start("bootstrap/bootstrap", parameters)
    people = threading.Thread(target=annotate, args=(machine, key), daemon=True)
    job, store, due = Job(list(plan)), machine.store(key), {one.moment.step: one for one in plan}
    last, away, struck, names = time.monotonic(), 0.0, None, list(STEPS)
    for place, step in enumerate(names):
        wait_for(machine, store, step)
        now = time.monotonic()
        job.seconds[step] = now - last - away
        if struck:
            struck.late = max(0.0, job.seconds[step] - usual.get(step, 0.0))
        last, away, struck = now, 0.0, due.get(step)
        if step == "waiting":
            people.start()
        if struck and place + 1 < len(names):
            time.sleep(struck.moment.share * usual.get(names[place + 1], 3.0))
            away = ROWS[struck.row](machine)
    people.join(LIMIT)
    wait_until_ready(machine)
    count(machine, store, machine.questions()[asked_before:], job)
    return job


def annotate(machine: Machine, key: str) -> None:
    """Let two people do the batch, who try again while Label Studio is away."""
    while True:
        try:
            simulate_batch(machine.store(key), machine.settings.label_studio_url, machine.token, 1)
        except (httpx.HTTPError, AbcdlinkError):
            time.sleep(1)
        else:
            ANNOTATED.add(key)
            return


def wait_for(machine: Machine, store: Store, step: str) -> None:
    deadline = time.monotonic() + LIMIT
    while not STEPS[step](machine, store):
        if time.monotonic() > deadline:
            states = {flow: machine.state(flow, store.key) for flow in ("bootstrap", "annotate")}
            pytest.fail(f"{store.key} did not reach {step!r} in {LIMIT:.0f} s: {states}")
        time.sleep(POLL)


def count(machine: Machine, store: Store, questions: Sequence[str], job: Job) -> None:
    """Count what the servers saw, and what the run made of it."""
    job.asked, job.again = len(questions), len(questions) - len(set(questions))
    client = connect(machine.settings.label_studio_url, machine.token)
    tasks: Counter[tuple[int, str]] = Counter()
    answers: Counter[tuple[int, str, int]] = Counter()
    for project in read_pushed(store, SLUG).projects:
        for task in client.tasks(project.project_id):
            at = (project.project_id, str(task["data"]["task_key"]))
            tasks[at] += 1
            answers.update((*at, int(one["completed_by"])) for one in task["annotations"])
    pools = store.read_records(POOLS, Pool)
    job.tasks, job.doubled_tasks = tasks.total(), tasks.total() - len(tasks)
    job.answers, job.doubled_answers = answers.total(), answers.total() - len(answers)
    job.counted = len(store.read_records(JUDGMENTS, Judgment))
    job.wanted = 2 * sum(len(pool.candidates) for pool in pools)
    assert len(tasks) == len(answers) == 2 * len(pools)


def assert_right(job: Job) -> None:
    assert job.doubled_tasks == 0
    assert job.doubled_answers == 0
    assert job.counted == job.wanted
    # Questions pending when the client or the LLM died are asked again: their answers never arrived.
    assert job.again <= UNDER_WAY * len(job.strikes)
    assert job.asked > job.again


UNDER_WAY = 4
"""Most pending questions of one process."""


def wait_until_ready(machine: Machine) -> None:
    ready = dict.fromkeys(("prefect", "label-studio", "worker", "watcher"), "ready")
    until(
        lambda: {one.name: one.state for one in status(machine.settings).services if one.managed} == ready,
        str(ready),
        poll=1,
    )


@pytest.mark.skipif(LONG, reason="the long form has this in it")
def test_a_job_ends_right_though_every_part_is_killed(machine: Machine) -> None:
    plan = [
        Strike("flow", Moment("begun", 0.5)),
        Strike("LLM", Moment("validated", 0.3)),
        Strike("Prefect server", Moment("benchmarked")),
        Strike("worker", Moment("candidates", 0.5)),
        Strike("Label Studio", Moment("waiting", 0.5)),
        Strike("everything, started again", Moment("annotated", 0.5)),
    ]
    job = do_job(machine, "struck", plan, {})
    print(job)  # noqa: T201 - shown when it fails
    assert_right(job)


# --- the long form -----------------------------------------------------------------------------


@pytest.mark.skipif(not LONG, reason="`make chaos`")
@pytest.mark.timeout(0)
def test_the_whole_matrix(machine: Machine) -> None:
    usual = do_job(machine, "undisturbed", [], {})
    assert_right(usual)
    assert usual.again == 0
    jobs, faults = [("nothing", usual)], []
    for row in ASKED_ROWS:
        chance = random.Random(f"{SEED} {row}")
        moments = moments_of_a_job(chance)
        parts = -(-len(moments) // STRIKES)
        for number in chance.sample(range(parts), min(parts, JOBS)):
            key = f"{row.replace(' ', '-').replace(',', '').lower()}-{number}"
            plan = [Strike(row, moment) for moment in moments[number::parts]]
            try:
                job = do_job(machine, key, plan, usual.seconds)
                print(f"{key}: {job}")  # noqa: T201 - hours pass
                jobs.append((row, job))
                assert_right(job)
                most = DEAD_SECONDS if row in UNSEEN else PROMISED_SECONDS
                assert all(strike.late <= most for strike in job.strikes)
            except (AssertionError, AbcdlinkError, pytest.fail.Exception) as error:
                faults.append(f"{key}: {plan}: {error}")
                machine.stop_and_start()
            TABLE.parent.mkdir(exist_ok=True)
            TABLE.write_text("\n".join([table(jobs), *faults]) + "\n", encoding="utf-8")
    assert not faults, "\n".join(faults)


def moments_of_a_job(chance: random.Random) -> list[Moment]:
    """Return the boundary of each step and random moments, in the order of a job."""
    steps = list(STEPS)[:-1]
    moments = [Moment(step) for step in steps]
    moments += [Moment(chance.choice(steps), round(chance.random(), 2)) for _ in range(RANDOM_MOMENTS)]
    return sorted(moments, key=lambda moment: (steps.index(moment.step), moment.share))


def table(jobs: Sequence[tuple[str, Job]]) -> str:
    """Return the matrix as Markdown."""
    heads = (
        "what was struck",
        "strikes",
        "jobs",
        "questions, asked again",
        "tasks, doubled",
        "answers, doubled",
        "judgments, wanted",
        "seconds late: median, most",
        "latest at",
    )
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in dict.fromkeys(name for name, _ in jobs):
        mine = [job for name, job in jobs if name == row]
        strikes = sorted((one for job in mine for one in job.strikes), key=lambda one: one.late)
        late = f"{statistics.median(one.late for one in strikes):.0f}, {strikes[-1].late:.0f}" if strikes else "–"
        latest = f"{strikes[-1].moment.step} + {strikes[-1].moment.share:.0%}" if strikes else "–"

        def total(name: str, mine: Sequence[Job] = mine) -> int:
            return sum(getattr(job, name) for job in mine)

        cells = (
            row,
            len(strikes),
            len(mine),
            f"{total('asked')}, {total('again')}",
            f"{total('tasks')}, {total('doubled_tasks')}",
            f"{total('answers')}, {total('doubled_answers')}",
            f"{total('counted')}, {total('wanted')}",
            late,
            latest,
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"
