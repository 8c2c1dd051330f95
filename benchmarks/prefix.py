"""The order of LLM questions: those about one pair are sent together, so that its documents are read once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from abcdlink.corpus.io import read_corpus
from abcdlink.domain import find_domain
from abcdlink.errors import InputError, ServiceError
from abcdlink.linking.decisions import top_k
from abcdlink.linking.linker import linker_for
from abcdlink.linking.records import Approach, ApproachKind
from abcdlink.llm.client import LLM
from abcdlink.llm.embedded import PROMPT_CACHE, find_weights
from abcdlink.llm.records import Message, Question
from abcdlink.retrieval import get_retriever, rank_corpus
from abcdlink.settings import PROJECT_ROOT, Settings
from benchmarks import Claim, SkippedError, ratio
from services.health import free_port

DOMAIN, PAIRS, PER_PAIR = "reviews", 4, 10
SEED = 13
SHARE = 75
COMMAND = "import sys; from abcdlink.llm import embedded; embedded.PROMPT_CACHE = {}; sys.exit(embedded.main())"
START = 120.0
"""Seconds that a busy machine may take to load the model (3 s on a quiet one)."""


def claims(data: Path) -> Iterator[Claim]:  # noqa: ARG001 - every benchmark is given the real data
    """Ask the embedded LLM 40 listwise questions about 4 pairs in both orders, each time on a fresh server.

    The server keeps prompts in memory, enough for four pairs in any order. What the order is worth with many
    pairs shows on one that keeps only the last prompt, with half of the questions.
    """
    _require_model()
    questions = _questions(PER_PAIR)
    ours, shuffled = _in_both_orders(questions, PROMPT_CACHE)
    what = f"{len(questions)} listwise questions on {PAIRS} pairs"
    yield Claim(
        what=f"{what}: prompt tokens from cache",
        ours=f"{100 * ours.share:.1f} % of {ours.tokens:,}",
        baseline=f"shuffled: {100 * shuffled.share:.1f} %",
        value=100 * ours.share,
        unit="%",
        least=SHARE,
        note=f"embedded LLM, one thread, one slot, {PROMPT_CACHE} MiB for earlier prompts: these {PAIRS} pairs fit",
    )
    yield _wall_time(what, ours, shuffled)
    some = _questions(PER_PAIR // 2)
    yield _wall_time(
        f"{len(some)} of them, the server keeps the last prompt only",
        *_in_both_orders(some, 0),
    )


def _wall_time(what: str, ours: _Cost, shuffled: _Cost) -> Claim:
    return Claim(
        what=f"{what}: wall time",
        ours=f"pair by pair: {ours.seconds:.0f} s ({ours.server:.0f} s CPU of the server)",
        baseline=f"the same questions shuffled: {shuffled.seconds:.0f} s ({shuffled.server:.0f} s CPU)",
        value=ratio(shuffled.seconds, ours.seconds),
    )


class _Cost(NamedTuple):
    """What a row of questions cost: wall seconds, the server's CPU seconds, prompt tokens, their cached share."""

    seconds: float
    server: float
    tokens: int
    share: float


def _require_model() -> None:
    if find_spec("xllamacpp") is None:
        msg = "the embedded LLM is not available: the package xllamacpp is not installed"
        raise SkippedError(msg)
    try:
        find_weights()
    except InputError as error:
        raise SkippedError(str(error)) from None


def _questions(per_pair: int) -> list[Question]:
    """Return the first of what the approach asks of the sample corpus, pair by pair as the product asks it."""
    domain = find_domain(DOMAIN)
    corpus = read_corpus(PROJECT_ROOT / "samples" / DOMAIN).first_pairs(PAIRS)
    cutoff = domain.settings.llm_candidates
    approach = Approach(kind=ApproachKind.LLM, retriever="bm25", cutoff=cutoff, prompt_mode=4)
    offered = top_k(rank_corpus(corpus, get_retriever("bm25")), cutoff)
    linker = linker_for(domain, LLM(), approach)
    return [
        question
        for pair in corpus.pairs
        for question in linker.first_questions(pair, corpus, offered[pair.id])[:per_pair]
    ]


def _in_both_orders(questions: Sequence[Question], prompt_cache: int) -> tuple[_Cost, _Cost]:
    """Ask pair by pair, and shuffled."""
    shuffled = random.Random(SEED).sample(questions, len(questions))
    return _asked(questions, prompt_cache), _asked(shuffled, prompt_cache)


def _asked(questions: Sequence[Question], prompt_cache: int) -> _Cost:
    """Ask a fresh server; no answer is in the cache."""
    port = free_port()
    home = tempfile.mkdtemp(dir=os.environ["ABCDLINK_HOME"])
    llm = LLM(Settings(_env_file=None, llm_port=port, home=Path(home)))
    with _server(port, prompt_cache) as used:
        _wait(llm)
        # What a client learns of a server before its first question is not part of the time.
        schema = questions[0].json_schema
        llm.ask(Question(messages=(Message(role="user", content="Answer."),), json_schema=schema, stage="first"))
        started = time.perf_counter()
        answers = llm.ask_many(questions)
        seconds = time.perf_counter() - started
    usage = llm.spent[questions[0].stage]
    if usage.calls < len(questions) or not all(answer.outcome.answered for answer in answers):
        msg = f"{usage.calls} calls, outcomes {sorted({answer.outcome for answer in answers})}"
        raise AssertionError(msg)
    return _Cost(seconds, used[0], usage.prompt_tokens, usage.cached_share)


@contextmanager
def _server(port: int, prompt_cache: int) -> Iterator[list[float]]:
    """Start the embedded LLM with this many MiB for prompts; once it has ended, the list holds its CPU seconds."""
    command = [sys.executable, "-c", COMMAND.format(prompt_cache), "--port", str(port), "--threads", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    used: list[float] = []
    try:
        yield used
    finally:
        process.send_signal(signal.SIGTERM)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        used.append(usage.ru_utime + usage.ru_stime)


def _wait(llm: LLM) -> None:
    end = time.monotonic() + START
    while True:
        try:
            llm.check()
        except ServiceError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)
        else:
            return
