"""Applicants: what they see, how they are scored, and who is proposed and accepted."""

from __future__ import annotations

import json
import random
from collections.abc import Collection
from pathlib import Path

import pytest
from sklearn.metrics import cohen_kappa_score, precision_score, recall_score

from abcdlink.candidates.pools import task_key
from abcdlink.corpus.io import read_corpus
from abcdlink.corpus.records import Corpus, Pair
from abcdlink.domain import Domain, find_domain
from abcdlink.errors import InputError
from abcdlink.exhaustive import EXHAUSTIVE, NO_BATCH
from abcdlink.folders import LocalFolder
from abcdlink.judgments import Candidate, Judgment, Label
from abcdlink.layout import ANNOTATIONS, GOLD_SLUG, QUALIFY_SLUG
from abcdlink.qualify import (
    Applicant,
    applicants_of,
    confirm,
    keep_judgments,
    proposal,
    qualified_accounts,
    ranked,
    score_applicants,
)
from abcdlink.qualify.gold import (
    EXPERT_JUDGMENTS,
    GOLD,
    MOST_CANDIDATES,
    domain_to_begin,
    expert_corpus,
    expert_sample,
    gold_pairs,
    gold_set,
    gold_set_of,
    link_count,
    prepare,
    prepare_expert,
)
from abcdlink.source_sample import Source
from abcdlink.store import Store, open_run
from labelstudio_config.pages.annotate import candidate_id
from labelstudio_config.pages.exhaustive import ALL_TICKED, NO_LINK
from labelstudio_config.pages.qualify import MOST_APPLICANTS, GoldPage, qualification_project, qualification_tasks
from labelstudio_config.projects import look_now
from tasks.projects import pull, push
from tests.helpers.applicants import ACCOUNTS, LINKS, applied, corpus_of, document, made, person, said
from tests.helpers.builders import judgment
from tests.helpers.fake_label_studio import ADA, FakeLabelStudio, serve


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(LocalFolder(tmp_path / "run"), "run")


def test_the_pair_with_nearest_to_30_links_is_taken(news: Domain) -> None:
    rules, counts = news.settings.sources, {"few": 8, "near": 27, "over": 34, "many": 90, "none": 0}
    documents = {**corpus_of(None).documents, "short": document("s", ["Photo: a harbour.", "Too short."])}
    pairs = [
        Pair(id=name, source="s", target="t", links={"s0": tuple(f"t{n}" for n in range(count))})
        for name, count in counts.items()
    ]
    # Its 30 links belong to sentences that people do not see.
    hidden = Pair(id="hidden", source="short", target="t", links={"s0": ("t1",) * 15, "s1": ("t1",) * 15})
    pairs = [hidden, *pairs, Pair(id="open", source="s", target="t")]
    corpus = Corpus(name="c", documents=documents, pairs=pairs)
    assert [pair.id for pair in gold_pairs(corpus, rules)] == ["near"]
    assert [pair.id for pair in gold_pairs(corpus, rules, links=60)] == ["over"]
    assert [pair.id for pair in gold_pairs(corpus, rules, ["many", "few", "many"])] == ["many", "few"]
    assert [link_count(corpus, pair, rules) for pair in pairs] == [0, *counts.values(), 0]
    for name, problem in {
        "open": "no gold links for the pair",
        "none": "no gold links",
        "lost": "no pair 'lost'",
    }.items():
        with pytest.raises(InputError, match=problem):
            gold_pairs(corpus, rules, ["few", name])
    with pytest.raises(InputError, match="no pair with gold links"):
        gold_pairs(corpus.model_copy(update={"pairs": pairs[-1:]}), rules)


@pytest.mark.parametrize("seed", range(5))
def test_a_task_shows_gold_targets_among_worse_distractors(news: Domain, seed: int) -> None:
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


def test_other_seeds_choose_other_tasks_and_keys_differ_from_batches(news: Domain) -> None:
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


def test_filtered_sources_are_not_shown(news: Domain) -> None:
    corpus = corpus_of(LINKS)
    short = document("s", ["Too short." if n == 1 else f"Source sentence number {n}." for n in range(12)], "s{n}")
    corpus = corpus.model_copy(update={"documents": {**corpus.documents, "s": short}})
    assert "s1" not in {pool.source for pool in gold_set(corpus, corpus.pairs[:1], news, "run", 1).pools}
    nothing = corpus_of({"s1": ("t1",)}).model_copy(update={"documents": {**corpus.documents, "s": short}})
    with pytest.raises(InputError, match="leave no source sentence with links"):
        gold_set(nothing, nothing.pairs, news, "run", 1)


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


@pytest.mark.parametrize("seed", range(8))
def test_scores_match_scikit_learn(news: Domain, seed: int) -> None:
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


def test_only_applicants_who_did_every_task_are_ranked_and_proposed(news: Domain) -> None:
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


def test_a_missing_candidate_leaves_the_task_undone_and_no_answers_give_no_score(news: Domain) -> None:
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


def test_a_new_run_can_begin_with_a_qualification(store: Store, news: Domain) -> None:
    with pytest.raises(InputError, match="no domain is named"):
        domain_to_begin(store, "")
    gold = prepare(store, domain_to_begin(store, "news"), "sample", links=9)
    assert gold.corpus.pairs[0].id == "dairy-leak"
    assert gold.corpus.pairs == [p for p in read_corpus(news.sample_folder).pairs if p.id == "dairy-leak"]
    assert prepare(store, news, "sample", links=9) == gold
    assert domain_to_begin(store, "").name == "news"
    with pytest.raises(InputError, match="links=9"):
        prepare(store, news, "sample", links=10)


def test_what_a_qualification_refuses_leaves_the_run_free_for_other_settings(store: Store, news: Domain) -> None:
    with pytest.raises(InputError, match="no pair 'typo'"):
        prepare(store, news, "sample", ["typo"])
    assert prepare(store, news, "sample", links=9).corpus.pairs[0].id == "dairy-leak"
    for name in ("other", "typo"):  # what was done keeps its settings
        with pytest.raises(InputError, match="other settings"):
            prepare(store, news, "sample", [name])
    assert store.manifest["inputs"]["qualification"]["links"] == 9
    name = gold_set_of(store).corpus.pairs[0].id
    with pytest.raises(InputError, match="no pair 'typo'"):
        prepare_expert(store, news, "sample", ["typo"])
    assert prepare_expert(store, news, "sample", [name]).sources


def test_several_gold_pairs_make_one_qualification(store: Store, news: Domain) -> None:
    names = [pair.id for pair in read_corpus(news.sample_folder).pairs if pair.sources_with_links][:2]
    gold = prepare(store, news, "sample", names[::-1])
    assert [pair.id for pair in gold.corpus.pairs] == names[::-1]
    assert gold_set_of(store) == gold == prepare(store, news, "sample", names[::-1])
    alone = [gold_set(gold.corpus, [pair], news, "run", 13).pools for pair in gold.corpus.pairs]
    assert gold.pools == (*alone[0], *alone[1])
    tasks = qualification_tasks("run", gold, news)
    assert len(tasks) == len(gold.pools)
    links = {pool.key: [c.target for c in pool.candidates if c.method == GOLD] for pool in gold.pools}
    # Perfect answers on the first pair alone are not enough.
    judgments = [j for pool in alone[0] for j in said(pool, "applicant-1", links[pool.key])]
    (half,) = score_applicants(gold.pools, judgments, [person(1)])
    assert (half.done, half.finished) == (len(alone[0]), False)


def judged_by_an_expert(store: Store, links: Collection[Source], missing: Collection[Source] = ()) -> None:
    """Answer the expert's tasks except the missing ones; every linked source gets its first target."""
    corpus = expert_corpus(store)
    targets = {pair.id: [s.id for s in corpus.target_of(pair).sentences] for pair in corpus.pairs}
    judgments = [
        judgment(
            (at.pair, at.source, target),
            "expert-1",
            at.at in links and target == targets[at.pair][0],
            batch=NO_BATCH,
            method=EXHAUSTIVE,
        )
        for at in expert_sample(store).sources
        if at.at not in missing
        for target in targets[at.pair]
    ]
    store.write_records(EXPERT_JUDGMENTS, judgments)


def test_an_experts_links_replace_the_gold_of_the_corpus(store: Store, news: Domain) -> None:
    name = next(pair.id for pair in read_corpus(news.sample_folder).pairs if pair.sources_with_links)
    for names, problem in {(): "no pair is named", ("lost",): "no pair 'lost'"}.items():
        with pytest.raises(InputError, match=problem):
            prepare_expert(Store(LocalFolder(Path(store.where(f"no-{len(names)}"))), "other"), news, "sample", names)
    sources = [one.at for one in prepare_expert(store, news, "sample", [name]).sources]
    assert prepare_expert(store, news, "sample", [name]).sources == expert_sample(store).sources
    assert all(pair.links is None for pair in expert_corpus(store).pairs)
    with pytest.raises(InputError, match="run the stage 'qualify' first with `abcdlink qualify start "):
        prepare(store, news, "sample", [name], expert=True)
    linked, missing = sources[:3], sources[3:]
    judged_by_an_expert(store, linked, missing[:-2])
    gold = prepare(store, news, "sample", [name], expert=True)
    shown = {(pool.pair, pool.source) for pool in gold.pools}
    assert gold.links == len(linked)
    assert {(p.pair, p.source) for p in gold.pools if any(c.method == GOLD for c in p.candidates)} == set(linked)
    # Sources the expert did not reach may have links: they are not shown as sources without any.
    assert shown - set(linked) <= set(missing[-2:])
    assert gold_set_of(store) == gold == prepare(store, news, "sample", [name], expert=True)


def test_a_run_continues_once_the_expert_finds_a_link(monkeypatch: pytest.MonkeyPatch, isolated_home: object) -> None:
    server, store = serve(monkeypatch), open_run("gold")
    name = read_corpus(find_domain("news").sample_folder).pairs[0].id
    (first, *_) = keys = [one.key for one in prepare_expert(store, find_domain("news"), "sample", [name]).sources]
    push.fn("gold", "news", GoldPage())
    for key in keys:
        tick(server, key, [])
    look_now(store, GOLD_SLUG)
    with pytest.raises(InputError, match=f"no sentence of the pair '{name}' is linked"):
        pull.fn("gold", GoldPage())
    assert not GoldPage().is_pulled(store)
    target = expert_corpus(store).target_of(expert_corpus(store).pairs[0]).sentences[0].id
    tick(server, first, [candidate_id(first, target)])
    look_now(store, GOLD_SLUG)
    pull.fn("gold", GoldPage())
    assert sum(one.label is Label.LINK for one in store.read_records(EXPERT_JUDGMENTS, Judgment)) == 1
    assert prepare(store, find_domain("news"), "sample", [name], expert=True).links == 1


def tick(server: FakeLabelStudio, key: str, targets: list[str]) -> None:
    """Tick target sentences of one task and confirm."""
    number = server.answer(key, ADA, skipped=True)
    (answer,) = [one for one in server.task(key)["annotations"] if one["id"] == number]
    chosen = {"links": targets, "done": [ALL_TICKED if targets else NO_LINK]}
    answer["was_cancelled"] = False
    answer["result"] = [{"from_name": name, "value": {"choices": values}} for name, values in chosen.items() if values]


def test_the_coordinator_accepts_applicants_by_account_or_pseudonym(store: Store, news: Domain) -> None:
    assert qualified_accounts(store) is None
    with pytest.raises(InputError, match="nobody has applied"):
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


def test_a_deleted_task_cannot_be_finished(store: Store, news: Domain) -> None:
    gold = prepare(store, news, "sample")
    there = gold.pools[1:]
    judgments = [j for pool in there for j in said(pool, "applicant-1", [])]
    store.write_json(f"{QUALIFY_SLUG}/{ANNOTATIONS}", [{"data": {"task_key": pool.key}} for pool in there])
    keep_judgments(store, [person(1)], judgments)
    assert applicants_of(store)[0].finished
