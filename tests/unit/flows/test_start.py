"""What each goal needs: the form of the flow start."""

from __future__ import annotations

from pathlib import Path

import pytest

from abcdlink.candidates.pools import PoolMode
from abcdlink.linking.records import ApproachKind
from abcdlink.settings import get_settings
from flows.bootstrap import job_for
from flows.commands.starting import Goal

RETRIEVERS = (ApproachKind.RETRIEVER, ApproachKind.RETRIEVER)


def test_the_embedded_llm_is_not_used_to_find_links(isolated_home: Path) -> None:
    job, annotation = job_for(Goal.FIND, "corpus", 2)
    assert (job.benchmark.llm, job.shortlist.kinds, annotation.mode) == (None, RETRIEVERS, PoolMode.UNION)


def test_a_configured_llm_proposes_links(isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABCDLINK_LLM_BASE_URL", "http://gpu-host:8000/v1")
    get_settings.cache_clear()
    job, _ = job_for(Goal.FIND, "corpus", 2)
    assert job.benchmark.llm is not None
    assert job.shortlist.kinds == ()


def test_methods_are_compared_with_the_embedded_llm_too(isolated_home: Path) -> None:
    job, annotation = job_for(Goal.COMPARE, "corpus", 3)
    assert job.benchmark.llm is not None
    assert (annotation.mode, annotation.overlap, annotation.batches) == (PoolMode.COMPARISON, 3, 2)
