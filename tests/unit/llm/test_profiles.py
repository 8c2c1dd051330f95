"""LLM profiles: the settings file, roles, and keeping models apart."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.errors import BudgetError, InputError, ServiceError
from abcdlink.llm.client import LLM
from abcdlink.llm.profiles import DEFAULTS, NAME, TAKEN, is_same_model, linkers, names, profile, profiles
from abcdlink.llm.records import Outcome
from abcdlink.settings import Settings, get_settings
from tests.helpers.fake_llm import FakeLLM, says
from tests.helpers.homes import configure
from tests.helpers.llm_batch import KEY, YES_NO, question

NO_YES = '{"11": false, "4": true}'
SERVER = 'base_url = "http://gpu:8000/v1"\nmodel = "m"\n'


@pytest.fixture
def write(isolated_home):
    """Write the settings file."""

    def write(text):
        isolated_home.mkdir(exist_ok=True)
        (isolated_home / "abcdlink.toml").write_text(text)
        return isolated_home / "abcdlink.toml"

    return write


def test_without_a_file_there_is_one_profile_from_the_environment(monkeypatch):
    configure(monkeypatch, llm_model="mine")
    assert (names(), linkers(), profiles().file) == (("default",), ("default",), "")
    assert profile().llm_model == profile("generator").llm_model == profile("cleaner").llm_model == "mine"
    assert profile().llm_profile == ""


def test_a_profile_has_its_own_settings_and_nothing_from_the_environments_model(write, monkeypatch):
    others = {"llm_model": "other", "llm_api_key": KEY, "llm_price_prompt": 7, "llm_extra": '{"top_k": 1}'}
    configure(monkeypatch, **others, llm_budget_tokens=1000)
    write(f"[llm.phi-4]\n{SERVER}temperature = 0.1\n[llm.phi-4.extra]\ntop_k = 20\n")
    found = profile("phi-4")
    assert (found.llm_profile, found.llm_model, found.llm_base_url) == ("phi-4", "m", "http://gpu:8000/v1")
    assert (found.llm_temperature, found.llm_price_prompt, found.llm_extra) == (0.1, 0, '{"top_k": 20}')
    assert found.llm_api_key.get_secret_value() == "unused"
    assert (found.llm_budget_tokens, found.home) == (1000, get_settings().home), "what concerns the whole run is kept"
    assert get_settings().llm_model == "other"


def test_profiles_have_roles(write):
    write(f"""
        [llm.a]
        {SERVER}
        [llm.b]
        {SERVER}
        [roles]
        generator = "b"
        linkers = ["a", "default"]
        """)
    assert (profile("generator").llm_profile, profile("cleaner").llm_profile) == ("b", "")
    assert (linkers(), names()) == (("a", "default"), ("default", "a", "b"))


def test_a_key_in_the_file_is_refused_and_not_shown(write):
    write(f'[llm.a]\n{SERVER}api_key = "{KEY}"')
    with pytest.raises(InputError, match=r"\[llm.a\] contains a key") as wrong:
        profiles()
    assert KEY not in str(wrong.value)


def test_an_unknown_profile_is_refused_and_the_known_ones_are_named(write):
    write(f"[llm.phi-4]\n{SERVER}")
    with pytest.raises(InputError, match=r"'phi': there is no such LLM profile.*use one of default, phi-4"):
        profile("phi")


def test_two_files_or_a_missing_file_are_refused(write, monkeypatch, tmp_path):
    write("")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "abcdlink.toml").write_text(f"[llm.b]\n{SERVER}")
    with pytest.raises(InputError, match="two settings files"):
        profiles()
    configure(monkeypatch, config=tmp_path / "abcdlink.toml")
    assert names() == ("default", "b")
    configure(monkeypatch, config="nowhere.toml")
    with pytest.raises(InputError, match="which is not a file"):
        profiles()


def test_a_changed_file_is_read_again(write):
    write(f"[llm.a]\n{SERVER}")
    assert names() == ("default", "a")
    write(f"[llm.other]\n{SERVER}")
    assert names() == ("default", "other")


@given(name=st.text(st.characters(codec="utf-8"), max_size=50))
def test_any_name_is_either_a_profile_or_refused(name, tmp_path_factory):
    file = tmp_path_factory.mktemp("home") / "abcdlink.toml"
    quoted = "".join(f"\\U{ord(letter):08x}" for letter in name)
    file.write_text(f'[llm."{quoted}"]\n{SERVER}', "utf-8")
    assert list(tomllib.loads(file.read_text("utf-8"))["llm"]) == [name]
    with pytest.MonkeyPatch.context() as patch:
        configure(patch, config=file)
        if NAME.fullmatch(name) and name not in TAKEN:
            assert names() == ("default", name)
            assert profile(name).llm_profile == name
        else:
            with pytest.raises(InputError, match="is not a valid profile name"):
                names()


def test_every_llm_setting_can_be_in_a_table(write):
    values = {"base_url": "http://x/v1", "model": "m", "api_key_env": "X", "budget": 2.5, "budget_tokens": 7}
    defaults = {name: value for name, value in DEFAULTS.items() if name not in {"api_key", *values}}
    lines = [
        f"{name} = {value!r}".replace("True", "true").replace("False", "false") for name, value in defaults.items()
    ]
    write("[llm.a]\n" + "\n".join([*lines, *(f"{name} = {value!r}" for name, value in values.items())]))
    assert profile("a").llm_limits == (7, 2.5)
    assert {f"llm_{name}" for name in DEFAULTS} < set(Settings.model_fields)


def test_keys_come_from_the_environment_or_files_and_missing_ones_are_reported_on_use(
    write, monkeypatch, isolated_home
):
    with FakeLLM(says(YES_NO), key=KEY) as server:
        write(f'[llm.a]\nbase_url = "{server.base_url}"\nmodel = "fake-model"\napi_key_env = "THE_KEY"')
        llm = LLM(profile("a"))
        with pytest.raises(ServiceError, match="'a' has no key: the environment variable THE_KEY"):
            llm.check()
        (isolated_home / "secrets.env").write_text(f"THE_KEY={KEY}\n")
        LLM(profile("a")).check()
        (isolated_home / "secrets.env").write_text("THE_KEY=wrong-wrong-wrong\n")
        monkeypatch.setenv("THE_KEY", KEY)
        assert LLM(profile("a")).ask(question()).outcome is Outcome.OK
        assert KEY not in repr(profile("a")) + str(LLM(profile("a")).describe())


def test_profiles_of_one_model_name_keep_separate_answers(write, isolated_home):
    yes, no = says(YES_NO), says(NO_YES)
    with FakeLLM(yes) as one, FakeLLM(no) as other:
        write(
            "\n".join(
                f'[llm.{name}]\nbase_url = "{server.base_url}"\nmodel = "fake-model"'
                for name, server in {"full": one, "small": other}.items()
            )
        )
        for _ in range(2):
            values = [LLM(profile(name)).ask(question()).value for name in ("full", "small")]
            assert values == [{"11": True, "4": False}, {"11": False, "4": True}]
        assert [len(server.questions) for server in (one, other)] == [1, 1]
        assert LLM(profile("full")).describe()["profile"] == "full"


def test_a_profile_has_a_budget_of_its_own_within_that_of_the_run(write, monkeypatch):
    with FakeLLM(says(YES_NO)) as server:
        both = f'base_url = "{server.base_url}"\nmodel = "fake-model"\n'
        write(f"[llm.small]\n{both}budget_tokens = 600\n[llm.large]\n{both}")
        configure(monkeypatch, llm_budget_tokens="1400")
        small, large = (LLM(profile(name), account="run") for name in ("small", "large"))
        with pytest.raises(BudgetError) as own:
            small.ask_many([question(str(number)) for number in range(20)])
        assert "budget_tokens in [llm.small]" in own.value.hint
        assert small.budget.sums()[0].tokens <= 600
        with pytest.raises(BudgetError, match="of 1400 tokens used") as of_run:
            large.ask_many([question(str(number)) for number in range(20)])
        assert "ABCDLINK_LLM_BUDGET_TOKENS" in of_run.value.hint
        spent = large.budget.sums()[0].tokens
        assert small.budget.sums()[0].tokens == spent <= 1400, "the account of the run has both"
        LLM(profile("large"), account="run2").ask(question("elsewhere"))
        assert large.budget.sums()[0].tokens == spent, "a run whose name begins alike has its own account"


def test_a_limit_in_money_needs_the_prices_of_this_profile(write, monkeypatch):
    configure(monkeypatch, llm_budget="5", llm_price_prompt="1")
    write(f"[llm.a]\n{SERVER}[llm.b]\n{SERVER}price_prompt = 2\n")
    LLM(profile("b"))
    with pytest.raises(InputError, match=r"set price_prompt in \[llm.a\]"):
        LLM(profile("a"))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("gpt-4o", "openai/gpt-4o", True),
        ("Qwen/Qwen2.5-32B", "qwen2.5-32b", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("m", "m", True),
    ],
)
def test_different_names_of_one_model_are_recognised(one, other, same):
    assert is_same_model(one, other) is same
    assert is_same_model(other, one) is same


def test_the_form_offers_and_accepts_the_profiles(write):
    from flows.parameters import LLMParameters

    write(f"[llm.phi-4]\n{SERVER}")
    assert LLMParameters.model_json_schema()["properties"]["models"]["items"]["enum"] == ["default", "phi-4"]
    plan = LLMParameters(models=("phi-4",)).plan()
    assert plan
    assert [one.name for one in plan.approaches(("bm25",), (3,))] == ["bm25@3+phi-4-listwise-4"]
