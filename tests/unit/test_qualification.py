"""Applicants: what they are shown, how they are scored, who is proposed, and that what is known of them stays here."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hostile_run import hostile_run
from sklearn.metrics import cohen_kappa_score, precision_score, recall_score
from typer.testing import CliRunner

from abcdlink.candidates import task_key
from abcdlink.cli.app import make_app
from abcdlink.corpus.io import read_corpus
from abcdlink.corpus.records import Corpus, Document, Pair, Sentence
from abcdlink.domain import Domain, find_domain
from abcdlink.errors import InputError
from abcdlink.export import ExportFormat, export_dataset
from abcdlink.folders import LocalFolder
from abcdlink.judgments import Annotator, Candidate, Judgment, Label, Pool
from abcdlink.qualification import (
    Applicant,
    GoldSet,
    add_screening,
    applicants_of,
    confirm,
    proposal,
    qualified_accounts,
    ranked,
    read_screening,
    score_applicants,
    screening_of,
)
from abcdlink.qualification.kept import keep_judgments
from abcdlink.qualification.pair import gold_pair, link_count
from abcdlink.qualification.pools import MOST_CANDIDATES, gold_set
from abcdlink.qualification.prepare import domain_to_begin, prepare
from abcdlink.qualification.records import GOLD
from abcdlink.qualification.table import coordinator_rows
from abcdlink.report import write_report
from abcdlink.settings import get_settings
from abcdlink.store import Store
from labelstudio_config.qualification import MOST_APPLICANTS, qualification_project, qualification_tasks

ACCOUNTS = ("zelda.vole@example.org", "yuri.stoat@example.org", "xena.mole@example.org")
SCREENED = ("Upper Sorbian", "Magister Artium", "87.125", "participant-5f2c9a", "shoe size 43")


@pytest.fixture
def news() -> Domain:
    return find_domain("news")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(LocalFolder(tmp_path / "run"), "run")


def document(name: str, texts: Sequence[str]) -> Document:
    return Document(id=name, sentences=tuple(Sentence(id=f"{name}{n}", text=text) for n, text in enumerate(texts)))


def corpus_of(links: dict[str, tuple[str, ...]] | None, sources: int = 12, targets: int = 20) -> Corpus:
    """A pair whose target sentence t19 repeats the words of t3."""
    texts = [f"Target sentence number {n} of the pair." for n in range(targets - 1)]
    a = document("s", [f"Source sentence number {n} of the pair." for n in range(sources)])
    b = document("t", [*texts, f" {texts[3]} "])
    return Corpus(name="c", documents={"s": a, "t": b}, pairs=[Pair(id="p", source="s", target="t", links=links)])


LINKS = {"s1": ("t3",), "s2": ("t9", "t4"), "s5": ("t1", "t2", "t3"), "s6": ()}


def made(domain: Domain, seed: int = 1, links: dict[str, tuple[str, ...]] | None = None) -> GoldSet:
    corpus = corpus_of(links or LINKS)
    return gold_set(corpus, corpus.pairs[0], domain, "run", seed)


def test_the_pair_with_the_number_of_links_nearest_to_30_is_taken(news: Domain) -> None:
    rules, counts = news.settings.sources, {"few": 8, "near": 27, "over": 34, "many": 90, "none": 0}
    documents = {**corpus_of(None).documents, "short": document("s", ["Photo: a harbour.", "Too short."])}
    pairs = [
        Pair(id=name, source="s", target="t", links={"s0": tuple(f"t{n}" for n in range(count))})
        for name, count in counts.items()
    ]
    # Its 30 links are of sentences that people are not shown.
    hidden = Pair(id="hidden", source="short", target="t", links={"s0": ("t1",) * 15, "s1": ("t1",) * 15})
    pairs = [hidden, *pairs, Pair(id="open", source="s", target="t")]
    corpus = Corpus(name="c", documents=documents, pairs=pairs)
    assert gold_pair(corpus, rules).id == "near"
    assert gold_pair(corpus, rules, links=60).id == "over"
    assert gold_pair(corpus, rules, "few").id == "few"
    assert [link_count(corpus, pair, rules) for pair in pairs] == [0, *counts.values(), 0]
    for name, problem in {"open": "has no gold links", "none": "has no gold links", "lost": "is not there"}.items():
        with pytest.raises(InputError, match=problem):
            gold_pair(corpus, rules, name)
    with pytest.raises(InputError, match="no pair with gold links"):
        gold_pair(corpus.model_copy(update={"pairs": pairs[-1:]}), rules)


@pytest.mark.parametrize("seed", range(5))
def test_a_task_shows_the_gold_targets_among_distractors_that_are_not_as_good(news: Domain, seed: int) -> None:
    gold = made(news, seed)
    texts = {s.id: s.text.strip() for s in gold.corpus.documents["t"].sentences}
    sizes = {len(pool.candidates) for pool in gold.pools}
    assert sizes == {sum(news.settings.pool.model_dump().values())}, "the number of candidates tells"
    for pool in gold.pools:
        methods = {candidate.target: candidate.method for candidate in pool.candidates}
        linked = set(LINKS.get(pool.source, ()))
        assert {target for target, method in methods.items() if method == GOLD} == linked
        assert not {texts[target] for target in methods if target not in linked} & {texts[name] for name in linked}
        assert list(methods) == sorted(methods, key=lambda name: int(name[1:]))
    assert gold.links == 6
    without = [pool for pool in gold.pools if not LINKS.get(pool.source)]
    assert len(without) == 2
    assert gold.pools == made(news, seed).pools


def test_other_seeds_choose_others_and_keys_are_not_those_of_batches(news: Domain) -> None:
    assert len({made(news, seed).pools for seed in range(5)}) == 5
    gold = made(news)
    assert len({pool.key for pool in gold.pools}) == len(gold.pools)
    assert not {pool.key for pool in gold.pools} & {task_key("run", "p", f"s{n}") for n in range(12)}


def test_there_are_never_more_candidates_than_keys(news: Domain) -> None:
    gold = made(news, links={"s1": tuple(f"t{n}" for n in range(14)), "s2": ("t5",)})
    assert {len(pool.candidates) for pool in gold.pools} == {MOST_CANDIDATES}
    first = next(pool for pool in gold.pools if pool.source == "s1")
    assert [c.method for c in first.candidates].count(GOLD) == MOST_CANDIDATES - 1
    assert {c.target for c in first.candidates if c.method != GOLD} <= {f"t{n}" for n in range(14, 19)}


def test_filtered_sources_are_not_asked(news: Domain) -> None:
    corpus = corpus_of(LINKS)
    short = document("s", ["Too short." if n == 1 else f"Source sentence number {n}." for n in range(12)])
    corpus = corpus.model_copy(update={"documents": {**corpus.documents, "s": short}})
    assert "s1" not in {pool.source for pool in gold_set(corpus, corpus.pairs[0], news, "run", 1).pools}
    nothing = corpus_of({"s1": ("t1",)}).model_copy(update={"documents": {**corpus.documents, "s": short}})
    with pytest.raises(InputError, match="leave no source sentence with links"):
        gold_set(nothing, nothing.pairs[0], news, "run", 1)


def test_no_gold_reaches_label_studio(news: Domain) -> None:
    gold = made(news)
    tasks = qualification_tasks("run", gold, news)
    assert set(tasks) == {pool.key for pool in gold.pools}
    blind = gold.model_copy(
        update={
            "corpus": corpus_of(None),
            "pools": tuple(
                pool.model_copy(
                    update={"candidates": tuple(Candidate(target=c.target, method="x") for c in pool.candidates)}
                )
                for pool in gold.pools
            ),
        }
    )
    assert qualification_tasks("run", blind, news) == tasks
    project = qualification_project("run", news)
    assert (project.title, project.overlap) == ("run · qualification", MOST_APPLICANTS)
    sent = json.dumps(tasks) + project.model_dump_json(exclude={"instruction", "label_config"})
    assert not [word for word in (GOLD, "random", '"p"', '"s1"', '"t3"') if word in sent]


def said(pool: Pool, who: str, links: Sequence[str], seconds: float | None = 10.0) -> list[Judgment]:
    return [
        Judgment(
            batch=1,
            pair=pool.pair,
            source=pool.source,
            target=candidate.target,
            method=candidate.method,
            annotator=who,
            label=Label.LINK if candidate.target in links else Label.NO_LINK,
            seconds=seconds,
        )
        for candidate in pool.candidates
    ]


def person(number: int) -> Annotator:
    return Annotator(annotator=f"applicant-{number}", account=ACCOUNTS[number - 1], simulated=False)


@pytest.mark.parametrize("seed", range(8))
def test_scores_are_those_of_scikit_learn(news: Domain, seed: int) -> None:
    pools, chance = made(news).pools, random.Random(seed)
    judgments = [
        judgment
        for number, pool in enumerate(pools)
        for judgment in said(
            pool,
            "applicant-1",
            [c.target for c in pool.candidates if (c.method == GOLD) != (chance.random() < 0.3)],
            float(number),
        )
    ]
    chance.shuffle(judgments)
    (score,) = score_applicants(pools, judgments, [person(1)])
    truth, labels = [j.method == GOLD for j in judgments], [j.label is Label.LINK for j in judgments]
    assert score.kappa == pytest.approx(cohen_kappa_score(truth, labels))
    assert score.precision == pytest.approx(precision_score(truth, labels))
    assert score.recall == pytest.approx(recall_score(truth, labels))
    assert score.observed == pytest.approx(sum(map(bool.__eq__, truth, labels)) / len(truth))
    assert score.judged == len(judgments)
    assert score.seconds == (len(pools) - 1) / 2
    assert score.finished
    low, high = score.interval
    assert low <= score.kappa <= high
    assert low < high


def test_only_who_did_every_task_is_ranked_and_proposed(news: Domain) -> None:
    pools = made(news).pools
    gold = {pool.key: [c.target for c in pool.candidates if c.method == GOLD] for pool in pools}
    perfect_but_late = [j for pool in pools[1:] for j in said(pool, "applicant-1", gold[pool.key])]
    one_mistake = [
        j for n, pool in enumerate(pools) for j in said(pool, "applicant-2", gold[pool.key] if n else ["t0", "t1"])
    ]
    never_a_link = [j for pool in pools for j in said(pool, "applicant-3", [], None)]
    scores = score_applicants(pools, [*perfect_but_late, *one_mistake, *never_a_link], [person(n) for n in (1, 2, 3)])
    late, good, blind = scores
    assert (late.kappa, late.done, late.finished) == (pytest.approx(1), len(pools) - 1, False)
    assert (blind.kappa, blind.recall, blind.precision, blind.seconds) == (pytest.approx(0), 0, None, None)
    assert ranked(scores) == [good, blind, late]
    assert proposal(scores, 3, 0.1) == [good]
    assert proposal(scores, 1, -1) == [good]
    assert proposal(scores, 3, 1.0) == []


def test_one_candidate_missing_is_a_task_not_done_and_nothing_said_is_nothing_scored(news: Domain) -> None:
    pools = made(news).pools
    judgments = [j for pool in pools for j in said(pool, "applicant-1", [])][:-1]
    scores = score_applicants(pools, judgments, [person(1), person(2)])
    assert [one.done for one in scores] == [len(pools) - 1, 0]
    assert scores[1] == Applicant(annotator="applicant-2", simulated=False, tasks=len(pools), done=0, judged=0)


def test_kappa_is_undefined_where_only_one_label_occurs(news: Domain) -> None:
    pools = [pool for pool in made(news).pools if not LINKS.get(pool.source)]
    judgments = [j for pool in pools for j in said(pool, "applicant-1", [])]
    (score,) = score_applicants(pools, judgments, [person(1)])
    assert (score.kappa, score.interval, score.note) == (None, None, "undefined (one label only)")
    assert proposal([score], 1, -1) == []


def test_a_new_run_begins_with_its_qualification(store: Store, news: Domain) -> None:
    with pytest.raises(InputError, match="no domain is named"):
        domain_to_begin(store, "")
    gold = prepare(store, domain_to_begin(store, "news"), "sample", links=9)
    assert gold.corpus.pairs[0].id == "dairy-leak"
    assert gold.corpus.pairs == [p for p in read_corpus(news.sample_folder).pairs if p.id == "dairy-leak"]
    assert prepare(store, news, "sample", links=9) == gold
    assert domain_to_begin(store, "").name == "news"
    with pytest.raises(InputError, match="links=9"):
        prepare(store, news, "sample", links=10)


def applied(store: Store, news: Domain) -> None:
    """Three applicants of a run: the first judges as gold says, the second finds nothing, the third has begun."""
    gold = prepare(store, news, "sample")
    links = {pool.key: [c.target for c in pool.candidates if c.method == GOLD] for pool in gold.pools}
    first = [j for pool in gold.pools for j in said(pool, "applicant-1", links[pool.key])]
    second = [j for pool in gold.pools for j in said(pool, "applicant-2", [])]
    raw = [{"data": {"task_key": pool.key}} for pool in gold.pools]
    begun = [*first, *second, *said(gold.pools[0], "applicant-3", [])]
    keep_judgments(store, [person(n) for n in (1, 2, 3)], begun, [], raw)


def test_the_coordinator_takes_applicants_by_account_or_pseudonym(store: Store, news: Domain) -> None:
    assert qualified_accounts(store) is None
    with pytest.raises(InputError, match="none yet"):
        confirm(store, ["applicant-1"])
    applied(store, news)
    assert confirm(store, [ACCOUNTS[1].upper(), " applicant-1", "applicant-2"]).annotators == (
        *("applicant-2", "applicant-1"),
    )
    assert qualified_accounts(store) == set(ACCOUNTS[:2])
    for names in (["applicant-9"], [], [" "]):
        with pytest.raises(InputError, match="abcdlink qualify show"):
            confirm(store, names)
    assert qualified_accounts(store) == set(ACCOUNTS[:2])


def test_nobody_can_finish_a_task_that_is_gone(store: Store, news: Domain) -> None:
    gold = prepare(store, news, "sample")
    there = gold.pools[1:]
    judgments = [j for pool in there for j in said(pool, "applicant-1", [])]
    keep_judgments(store, [person(1)], judgments, [], [{"data": {"task_key": pool.key}} for pool in there])
    assert applicants_of(store)[0].finished


def screening_file(folder: Path, text: str) -> Path:
    path = folder / "applicants.csv"
    path.write_text(text, encoding="utf-8-sig")
    return path


HEAD = "account,native_language,degree,approval_rate,participant_id,shoes\n"
ROW = f"{ACCOUNTS[0].title()},{','.join(SCREENED)}\n"


def test_screening_fields_are_kept_and_merged(store: Store, tmp_path: Path) -> None:
    rows = read_screening(screening_file(tmp_path, f'{HEAD}{ROW}\n{ACCOUNTS[1]},,"a, b",98 %,,\n'))
    first, second = rows
    assert first.account == ACCOUNTS[0]
    assert (first.native_language, first.degree, first.participant_id) == (*SCREENED[:2], SCREENED[3])
    assert first.approval_rate == 87.125
    assert first.more == {"shoes": SCREENED[4]}
    assert (second.degree, second.approval_rate, second.native_language) == ("a, b", 98, "")
    add_screening(store, rows)
    add_screening(store, read_screening(screening_file(tmp_path, f"account,degree\n{ACCOUNTS[1]},none\n")))
    assert {account: one.degree for account, one in screening_of(store).items()} == {
        ACCOUNTS[0]: SCREENED[1],
        ACCOUNTS[1]: "none",
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{HEAD}nobody,,,,,\n", "line 2: account 'nobody' is not an e-mail address"),
        (f"{HEAD}{ROW}b@c,,,120,,\n", "line 3: approval_rate '120' is not a percentage"),
        (f"{HEAD}b@c,,,high,,\n", "line 2: approval_rate 'high' is not a percentage"),
        (f"{HEAD}{ROW}{ROW}", f"line 3: {ACCOUNTS[0]} stands in the file already"),
        (f"{HEAD}b@c,x\n", "line 2: not as many cells as columns"),
        (f"{HEAD}b@c,,,,,,,\n", "line 2: not as many cells as columns"),
        ("email,degree\nb@c,x\n", "line 1"),
        ("account,degree,degree\nb@c,x,y\n", "line 1"),
        ("", "line 1"),
        (HEAD + "x,,,,,\n" * 9, "and 4 more"),
    ],
)
def test_lines_that_do_not_fit_are_named(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem.replace("(", r"\(")):
        read_screening(screening_file(tmp_path, text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        read_screening(tmp_path / "nothing.csv")


def test_the_coordinator_sees_accounts_and_screening_fields(store: Store, news: Domain, tmp_path: Path) -> None:
    applied(store, news)
    add_screening(store, read_screening(screening_file(tmp_path, HEAD + ROW)))
    best, *rest = coordinator_rows(
        applicants_of(store), ["applicant-1"], [person(n) for n in (1, 2, 3)], screening_of(store)
    )
    assert (best["applicant"], best["proposed"], best["kappa"], best["account"]) == (
        "applicant-1",
        "yes",
        1,
        ACCOUNTS[0],
    )
    assert (best["native language"], best["approval rate"], best["shoes"]) == (SCREENED[0], 87.125, SCREENED[4])
    assert [(row["applicant"], row["proposed"]) for row in rest] == [("applicant-2", ""), ("applicant-3", "")]


@pytest.fixture
def full(tmp_path: Path, news: Domain) -> Store:
    """An annotated run that had a qualification."""
    store = hostile_run(tmp_path)
    applied(store, news)
    add_screening(store, read_screening(screening_file(tmp_path, HEAD + ROW)))
    confirm(store, ["applicant-1"])
    return store


@pytest.mark.parametrize("layout", list(ExportFormat))
def test_no_export_holds_what_is_known_of_applicants(full: Store, tmp_path: Path, layout: ExportFormat) -> None:
    files = export_dataset(full, layout).files
    assert files
    for name in files:
        assert_private(full.folder.read(name), name)


def test_the_report_shows_applicants_by_pseudonym_only(full: Store) -> None:
    write_report(full)
    report = full.folder.read("report.html")
    assert_private(report, "report.html")
    assert b"applicant-1" in report


def assert_private(content: bytes, name: str) -> None:
    for secret in (*SCREENED, *ACCOUNTS):
        assert secret.encode() not in content, f"{name} holds {secret}"


@pytest.fixture
def here(full: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The same run where commands look for it."""
    monkeypatch.setenv("ABCDLINK_RUNS", str(tmp_path))
    get_settings.cache_clear()
    return full


def call(*words: str) -> str:
    result = CliRunner().invoke(make_app(), words)
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_show_prints_the_table(here: Store) -> None:
    shown = json.loads(call("qualify", "show", "hostile", "--json"))
    assert [row["account"] for row in shown["applicants"]] == list(ACCOUNTS)
    assert (shown["proposed"], shown["qualified"]) == (["applicant-1"], ["applicant-1"])
    table = call("qualify", "show", "hostile")
    assert all(account in table for account in ACCOUNTS)


def test_confirm_takes_the_proposal_unless_others_are_named(here: Store) -> None:
    call("qualify", "confirm", "hostile", "--accounts", f"{ACCOUNTS[1]},applicant-3")
    assert qualified_accounts(here) == set(ACCOUNTS[1:])
    call("qualify", "confirm", "hostile")
    assert qualified_accounts(here) == {ACCOUNTS[0]}
    with pytest.raises(InputError, match=r"'nobody@example\.org' is no applicant"):
        call("qualify", "confirm", "hostile", "--accounts", "nobody@example.org")


def test_screening_is_taken_from_a_file(here: Store, tmp_path: Path) -> None:
    call("qualify", "screening", "hostile", str(screening_file(tmp_path, f"account\n{ACCOUNTS[2]}\n")))
    assert set(screening_of(here)) == {ACCOUNTS[0], ACCOUNTS[2]}


def test_only_a_run_that_waits_for_applicants_can_be_closed(here: Store) -> None:
    with pytest.raises(InputError, match="does not wait for applicants"):
        call("qualify", "close", "hostile")
