"""Runs on small Chinese and Hindi corpora, from plain text to candidates, with a scripted LLM."""

# ruff: noqa: E501 - Devanagari is counted by its signs

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from abcdlink.corpus.io import read_corpus, read_corpus_from
from abcdlink.domain import SHIPPED, Domain, find_domain
from abcdlink.evaluation.shortlist import ShortlistRule
from abcdlink.judgments import Pool
from abcdlink.stages.benchmark import run_benchmark
from abcdlink.stages.candidates import PoolPlan, run_candidates
from abcdlink.stages.generate import Generating, plan_generation, run_generation, run_validation
from abcdlink.stages.intake import take_corpus
from abcdlink.stages.plan import BenchmarkPlan
from abcdlink.stages.shortlist import run_shortlist
from abcdlink.store import open_run
from tests.helpers.fake_llm import FakeLLM, Request, Response, says

NEWS = {
    "zh": [
        (
            "三名被困矿工周一被消防员救出。救援工作持续了整整两天。他们的家人在医院里等候消息。",
            "消防队周一救出了三名被困矿工。矿井入口在大雨之后发生坍塌。当地政府将调查事故原因。两天的救援工作现已结束。",
        ),
        (
            "面对腐败指控，市长周五宣布辞职。副市长将暂时接替他的职务。选举定于今年十月举行。",
            "市长因为腐败指控在周五辞职。他否认收受建筑公司的贿赂。十月将举行新的市长选举。城市议会对此表示欢迎。",
        ),
        (
            "维修历时两年，这座大桥重新通车。“我们等得太久了！”他说道。维修费用高达九百万元。",
            "大桥在维修两年之后重新开放通车。九百万元的维修费用由国家承担。第一批车辆清晨驶过大桥。附近居民庆祝了一整天。",
        ),
    ],
    "hi": [
        (
            "दमकल कर्मियों ने सोमवार को तीन खनिकों को बचाया। बचाव का काम पूरे दो दिन चला। उनके परिवार अस्पताल में इंतज़ार कर रहे थे।",
            "सोमवार को तीन खनिकों को दमकल ने खदान से बचाया। भारी बारिश के बाद खदान का रास्ता बंद हो गया था। सरकार इस हादसे की जाँच करेगी। दो दिन का बचाव का काम अब समाप्त हो गया है।",
        ),
        (
            "भ्रष्टाचार के आरोपों के बाद महापौर ने इस्तीफ़ा दे दिया। उप महापौर अब उनका काम संभालेंगे। चुनाव इस साल अक्टूबर में होंगे।",
            "महापौर ने शुक्रवार को भ्रष्टाचार के आरोपों पर इस्तीफ़ा दिया। उन्होंने रिश्वत लेने से साफ़ इनकार किया है। नए महापौर का चुनाव अक्टूबर में होगा। नगर परिषद ने इस फ़ैसले का स्वागत किया।",
        ),
        (
            "दो साल की मरम्मत के बाद पुल फिर से खुल गया। क्या यह पुल अब सुरक्षित है? मरम्मत पर नब्बे लाख रुपये खर्च हुए।",
            "पुल को दो साल की मरम्मत के बाद खोला गया। नब्बे लाख रुपये का खर्च राज्य ने उठाया। पहली गाड़ियाँ सुबह पुल से गुज़रीं। पास के लोगों ने पूरे दिन जश्न मनाया।",
        ),
    ],
}
WRITTEN = {
    "zh": ["有消息称，{}", "记者昨天获悉，{}", "据当地报纸报道，{}"],
    "hi": ["ख़बरों के अनुसार, {}", "संवाददाता ने कल बताया कि {}", "स्थानीय अख़बार लिखता है कि {}"],
}
UNLINKED = {
    "zh": ["小镇广场上的集市每年五月开放。", "昨晚山谷里下了一场小雪。", "老钟楼建于一百多年以前。"],
    "hi": ["हर साल मई में यहाँ मेला लगता है।", "कल रात घाटी में थोड़ी बर्फ़ गिरी।", "पुराना घंटाघर सौ साल से भी पहले बना था।"],
}
Command = Callable[..., tuple[int, str, str]]
NAMES = {"zh": "Chinese", "hi": "Hindi"}


def writer(language: str) -> FakeLLM:
    """Return a server that writes sentences in the language and calls every candidate a link."""
    count = iter(range(10_000))

    def answer(request: Request) -> Response:
        properties = request.schema["properties"]
        if all(kind.get("type") == "boolean" for kind in properties.values()):
            return says(json.dumps(dict.fromkeys(properties, True)))
        asked = json.loads(request.body["messages"][-1]["content"])
        number = next(count) % 3
        linked = asked in "".join(text for pair in NEWS[language] for text in pair)
        text = WRITTEN[language][number].format(asked) if linked else UNLINKED[language][number]
        return says(json.dumps({"sentence": shortened(text, asked) if linked else text}))

    return FakeLLM(answer)


def shortened(text: str, asked: str) -> str:
    """Leave out part of the question, so that the sentence is not a copy of it."""
    middle = asked[3:-3].partition(" ")[2] if " " in asked else asked[len(asked) // 3 :]
    return text.replace(asked, middle if middle.endswith(asked[-1]) else middle + asked[-1])


@pytest.fixture(params=list(NEWS))
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(language: str, monkeypatch: pytest.MonkeyPatch, isolated_home: Path) -> Iterator[FakeLLM]:
    with writer(language) as fake:
        yield fake.use(monkeypatch)


@pytest.fixture
def domain(tmp_path: Path) -> Domain:
    """Return the domain news with short source documents, since the targets here have four sentences."""
    folder = tmp_path / "domains" / "news"
    shutil.copytree(SHIPPED / "news", folder)
    settings = folder / "domain.toml"
    short = "[generation.shape]\nsentences = [5, 5]\nlinked = 0.6\ntargets = 1\nsources = 1\n\n[validation]"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(
        re.sub(r"\[generation\.shape\].*\[validation\]", short, text, flags=re.DOTALL), encoding="utf-8"
    )
    return find_domain(str(folder))


def imported(language: str, tmp_path: Path, command: Command, *options: str) -> tuple[Path, str]:
    """Import the news with the command; returns the corpus folder and the summary."""
    texts, out = tmp_path / "texts", tmp_path / "corpus"
    texts.mkdir(exist_ok=True)
    for number, (source, target) in enumerate(NEWS[language]):
        (texts / f"p{number}.source.txt").write_text(source, encoding="utf-8")
        (texts / f"p{number}.target.txt").write_text(target, encoding="utf-8")
    code, _, err = command("import", "text", texts, "--out", out, *options)
    assert code == 0, err
    return out, err


def test_a_run_goes_from_plain_text_to_candidates(
    language: str, server: FakeLLM, domain: Domain, tmp_path: Path, command: Command
) -> None:
    folder, _ = imported(language, tmp_path, command)
    store = open_run("r")
    take_corpus(store, str(folder), domain)
    assert store.language == language

    generation = run_generation(store, domain, plan_generation(store, Generating()))
    assert (generation.documents, generation.pairs, generation.refused) == (3, 3, 0)
    systems = {request.body["messages"][0]["content"] for request in server.questions}
    assert all(f"Write in {NAMES[language]}." in system for system in systems)
    synthetic = read_corpus_from(store, "synthetic")
    assert all(len(pair.sources_with_links) == 3 for pair in synthetic.pairs)

    run_validation(store, domain)
    run_benchmark(store, domain, BenchmarkPlan(retrievers=("bm25", "jaccard"), learned=(), cutoffs=(1,), rules=()))
    scores = store.read_table("scores.parquet")
    assert (scores[scores["kind"] == "retriever"]["f1"] == 1.0).all()

    run_shortlist(store, ShortlistRule())
    run_candidates(store, domain, PoolPlan())
    natural = read_corpus_from(store, "natural")
    pools = store.read_records("candidates.jsonl", Pool)
    assert len(pools) == sum(len(natural.source_of(pair).sentences) for pair in natural.pairs)
    assert all(pool.candidates for pool in pools)


def test_the_language_is_guessed_shown_and_kept(language: str, tmp_path: Path, command: Command) -> None:
    folder, said = imported(language, tmp_path, command)
    assert f"Language: {NAMES[language]} ({language}), guessed; set it with --language." in said
    assert f"{NAMES[language]} ({language})" in (folder / "preview.html").read_text(encoding="utf-8")
    assert json.loads((folder / "origin.json").read_text(encoding="utf-8"))["language"] == language
    assert [len(document.sentences) for document in read_corpus(str(folder)).documents.values()] == [3, 4] * 3


def test_a_given_language_is_not_guessed(tmp_path: Path, command: Command, domain: Domain) -> None:
    folder, said = imported("hi", tmp_path, command, "--language", "mr")
    assert "Language: Marathi (mr).\n" in said
    store = open_run("r")
    take_corpus(store, str(folder), domain)
    assert store.language == "mr"


def test_without_a_language_in_the_corpora_the_domains_is_used(
    tmp_path: Path, command: Command, domain: Domain
) -> None:
    folder, _ = imported("hi", tmp_path, command)
    (folder / "origin.json").unlink()
    store = open_run("r")
    take_corpus(store, str(folder), domain)
    assert store.language == "en"
