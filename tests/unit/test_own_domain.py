"""Custom domains: the guide from nothing to candidates, the check of a domain, and untrusted domains."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from abcdlink.domain import SHIPPED, Domain, find_domain
from abcdlink.domain_check import check_domain
from abcdlink.errors import InputError
from abcdlink.judgments import Pool
from abcdlink.settings import get_settings
from abcdlink.store import open_run
from tests import ROOT
from tests.helpers.command_line import call
from tests.helpers.fake_llm import FakeLLM, Request, Response, says

GUIDE = ROOT / "docs" / "domains.md"
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)


def answer(request: Request) -> Response:
    digest = hashlib.sha256(json.dumps(request.body).encode()).hexdigest()
    return says(
        json.dumps({"sentence": f"Since day {digest[:6]} the button {digest[6:9]} does nothing when I press it."})
    )


@pytest.fixture
def llm(monkeypatch: pytest.MonkeyPatch, isolated_home: Path, tmp_path: Path) -> Iterator[FakeLLM]:
    """Run commands in an empty folder with its own home, and a server that writes sentences."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ABCDLINK_HOME", ".abcdlink")
    with FakeLLM(answer) as server:
        yield server.use(monkeypatch)
    get_settings.cache_clear()


def test_the_guide_leads_from_nothing_to_candidates(llm: FakeLLM) -> None:
    given = 0
    for language, file, text in BLOCK.findall(GUIDE.read_text(encoding="utf-8")):
        if file:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(text, encoding="utf-8")
            continue
        assert language == "sh"
        for line in text.splitlines():
            words = shlex.split(line)
            assert words[0] == "abcdlink"
            call(*words[1:])
            given += 1
    assert given == 9
    checked = check_domain(find_domain("tickets"))
    assert checked.faults == ()
    # The guide leaves no text of the template, and its domain passes the check without remarks.
    assert checked.remarks == ()
    store = open_run("tickets-1")
    pools = store.read_records("candidates.jsonl", Pool)
    assert {pool.pair for pool in pools} == {"release-7", "release-8"}
    assert all(pool.candidates for pool in pools)
    assert "Support tickets and changelogs" in store.read_text("report.html")
    assert any("changelog" in request.prompt for request in llm.questions)


@pytest.mark.parametrize("name", ["news", "reviews", "news@paper", "reviews@paper"])
def test_bundled_domains_pass_the_check_without_remarks(name: str, isolated_home: Path) -> None:
    found = check_domain(find_domain(name))
    assert (found.faults, found.remarks) == ((), ())
    assert len(found.prompts) >= 15
    assert all(prompt.tokens > 50 for prompt in found.prompts)
    assert not any("{{" in prompt.text or "{%" in prompt.text for prompt in found.prompts)


@pytest.fixture
def copy(tmp_path: Path, isolated_home: Path) -> Path:
    shutil.copytree(SHIPPED / "reviews", tmp_path / "mine")
    return tmp_path / "mine"


def changed(copy: Path, name: str, old: str, new: str) -> None:
    path = copy / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_leftovers_of_the_template_and_leaks_are_reported(copy: Path) -> None:
    remarks = check_domain(Domain(copy)).remarks
    names = ("guidelines.md", "generate_document.j2", "domain.toml: unlinked_topics of [generation]")
    assert [f"{name} is unchanged from the domain reviews" in remarks for name in names] == [True] * 3
    assert not any("English" in remark for remark in remarks)
    changed(copy, "domain.toml", 'language = "en"', 'language = "el"')
    for name in ("exclude of [sources]", "exclude of [targets]", "rules of [cleaning]"):
        assert f"domain.toml: {name} is unchanged from reviews, for English texts" in check_domain(Domain(copy)).remarks
    changed(copy, "guidelines.md", "## Link", "The candidates come from a retriever, the rest is random.\n\n## Link")
    (copy / "link_description.md").write_text("Same topic.", encoding="utf-8")
    (copy / "examples.jsonl").write_text('{"source": "See Figure 4.", "target": "A curve is shown.", "link": true}\n')
    (copy / "generation.json").unlink()
    changed(copy, "domain.toml", '    "how well the whole paper is written",\n', "")
    changed(copy, "domain.toml", "sentences = [8, 12]", "sentences = [8, 30]")
    said = "\n".join(check_domain(Domain(copy)).remarks)
    assert "unlinked_topics of [generation] is unchanged" not in said
    for part in (
        "guidelines.md mentions 'retriever'",
        "link_description.md has fewer than 20 words",
        "line 1: annotators would not see this source sentence",
        "examples of links and of pairs that do not link",
        "no generation.json",
        "11 topics for up to 16 unlinked sentences",
    ):
        assert part in said


def test_faults_are_named_by_prompt_and_the_command_exits_with_1(
    copy: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    (copy / "generate_linked.j2").write_text("{{ domain.settings.nothing }}", encoding="utf-8")
    (copy / "pairwise_question.j2").write_text("{% if %}", encoding="utf-8")
    (copy / "rating.toml").unlink()
    code, out, _ = command("domain", "check", copy, "--json")
    assert code == 1
    checked = json.loads(out)
    faults = checked["faults"]
    assert [fault.split(":")[0] for fault in faults[:2]] == ["generate a linked sentence", "pairwise, mode 1"]
    assert "has no file" in faults[-1]
    # All other prompts are still rendered.
    assert len(checked["prompts"]) == 3 + 2 + 16 - 1 - 4


ESCAPES = [
    "{{ cycler.__init__.__globals__.os.popen('touch MARK').read() }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ domain.folder.joinpath('MARK').write_text('x') }}",
    "{{ domain.folder.unlink() }}",
    "{{ domain.__init__.__globals__['shutil'].rmtree('MARK') }}",
    "{{ lipsum.__globals__['os'].system('touch MARK') }}",
    "{{ self._TemplateReference__context.environment.loader }}",
    "{{ (namespace.__init__).__globals__ }}",
    "{% set x = domain.settings.model_construct %}{{ x(title='y') }}",
    "{{ domain.render('listwise_question.j2') }}",
    "{{ '{0.__class__.__init__.__globals__}'.format(domain) }}",
    "{{ domain.settings.title | attr('__class__') }}",
    "{% for i in range(10 ** 9) %}{% endfor %}",
    "{% include '../../secrets.env' %}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}{{ os.system('touch MARK') }}",
    "{{ domain.settings.pool.first.__setattr__('x', 1) }}",
    "{% do domain.examples.clear() %}",
    "{{ domain.examples.clear() }}",
    "{{ request.application.__globals__ }}",
]


def test_a_run_finds_its_domain_after_the_home_or_the_checkout_moved(isolated_home: Path) -> None:
    call("init", "mine", "--like", "news")
    for name, folder in (("mine", isolated_home / "domains"), ("news@paper", SHIPPED)):
        before = find_domain(name)
        gone = find_domain(before.reference.replace(str(folder), f"/gone/{folder.name}"))
        assert (gone.folder, gone.label) == (before.folder, name)
    with pytest.raises(InputError, match="no domain '/gone/mine'"):
        find_domain("/gone/mine")


@pytest.mark.parametrize("escape", ESCAPES)
def test_a_template_runs_nothing_and_changes_nothing(copy: Path, escape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copy)
    (copy / "secrets.env").write_text("secret", encoding="utf-8")
    (copy / "generate_linked.j2").write_text(escape, encoding="utf-8")
    before = {path.name: path.read_bytes() for path in copy.iterdir() if path.is_file()}
    domain = Domain(copy)
    examples = list(domain.examples)
    with pytest.raises(InputError, match=r"generate_linked\.j2 of domain 'mine' cannot be used"):
        domain.render("generate_linked.j2", count=1)
    assert {path.name: path.read_bytes() for path in copy.iterdir() if path.is_file()} == before
    assert domain.examples == examples
    assert domain.folder == copy


@pytest.mark.parametrize("name", ["generate_linked.j2", "guidelines.md", "examples.jsonl"])
def test_a_symlink_out_of_the_folder_is_not_followed(copy: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("the password", encoding="utf-8")
    (copy / name).unlink(missing_ok=True)
    (copy / name).symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="link") as refused:
        Domain(copy).render("generate_linked.j2", count=1)
    assert "the password" not in str(refused.value)


def test_macros_and_plain_methods_still_work(copy: Path) -> None:
    text = "{% macro twice(x) %}{{ x.upper() }}{{ x.split()[0] }}{% endmacro %}{{ twice('a b') }}{{ range(3) | list }}"
    (copy / "generate_linked.j2").write_text(text, encoding="utf-8")
    assert Domain(copy).render("generate_linked.j2") == "A Ba[0, 1, 2]"
