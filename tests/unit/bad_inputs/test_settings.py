"""Settings that are refused: the variables, ``abcdlink.toml``, and the files of a domain."""

from __future__ import annotations

import pytest

from abcdlink.domain import SHIPPED
from tests.helpers.bad_input import label

MODEL = '[llm.big]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
TOML = [
    ("[", "cannot be read", "[llm.NAME]"),
    (b"\xff\xfe", "cannot be read", "[llm.NAME]"),
    ("x = 1\n", "has 'x'", "[roles]"),
    ("[LLM.big]\nmodel = 'm'\n", "has 'LLM'", "[roles]"),
    ("llm = 1\n", "llm is not a table", "[llm.NAME]"),
    ("[llm]\nmodel = 'x'\n", "[llm.model] is not a table", "[llm.model]"),
    ("[llm.big]\n", "has no base_url", "base_url ="),
    (MODEL.replace("base_url", "url"), "no setting 'url'", "base_url"),
    (MODEL.replace('model = "m"\n', ""), "has no model", "model ="),
    (MODEL.replace('"m"', '" "'), "has no model", "model ="),
    (MODEL.replace('"m"', "5"), "model must be text, not 5", "correct the file"),
    (MODEL.replace("http://127.0.0.1:9/v1", "no address"), "not a valid URL", "http://HOST:PORT/v1"),
    (MODEL.replace("127.0.0.1", "gpu host"), "not a valid URL", "http://HOST:PORT/v1"),
    (MODEL.replace("127.0.0.1:9", "gpu:99999"), "not a valid URL", "http://HOST:PORT/v1"),
    (MODEL.replace("http:", "ftp:"), "not a valid URL", "http://HOST:PORT/v1"),
    (MODEL + MODEL, "twice", "[llm.NAME]"),
    (MODEL + "base_url = 'x'\n", "cannot be read", "[llm.NAME]"),
    (MODEL + 'api_key = "sk-1"\n', "contains a key", "api_key_env"),
    (MODEL + "api_key_env = 5\n", "api_key_env must be text, not 5", "NAME"),
    (MODEL + "api_key_env = 'A'\napi_key_block = 'b'\n", "both api_key_env and api_key_block", "one of them"),
    (MODEL + "temperature = 9\n", "temperature must be 2 or less, not 9", "correct the file"),
    (MODEL + 'temperature = "hot"\n', "temperature must be a number, not 'hot'", "correct the file"),
    (MODEL + "price_prompt = -1\n", "price_prompt must be 0 or more, not -1", "correct the file"),
    (MODEL + "budget = -5\n", "budget must be 0 or more, not -5", "correct the file"),
    (MODEL + "max_tokens = 0\n", "max_tokens must be 1 or more, not 0", "correct the file"),
    (MODEL + "max_tokens = 1.5\n", "max_tokens must be a whole number, not 1.5", "correct the file"),
    (MODEL + "concurrency = true\n", "concurrency cannot be true or false", "number"),
    (MODEL + "engine = 'ollama'\n", "engine must be 'server' or 'vllm'", "correct the file"),
    (MODEL + "answers = 'xml'\n", "answers must be 'auto'", "correct the file"),
    (MODEL + 'extra = "{"\n', "extra in [llm.big]", "JSON object"),
    (MODEL + "extra = {min_p = nan}\n", "extra cannot be sent as JSON", "finite numbers"),
    (MODEL + "extra = {since = 2026-01-01}\n", "extra cannot be sent as JSON", "finite numbers"),
    (MODEL + """extra = '{"min_p": NaN}'\n""", "NaN is not a number", "JSON object"),
    (MODEL + "timeout = inf\n", "timeout must be a finite number, not inf", "correct the file"),
    (MODEL + "price_prompt = nan\n", "price_prompt must be a finite number, not nan", "correct the file"),
    (MODEL + "batch = 2\n", "batch must be true or false, not 2", "correct the file"),
    (MODEL + "[llm.big.more]\nx = 1\n", "no setting 'more'", "base_url"),
    ("[[llm.big]]\nmodel = 'm'\n", "[llm.big] is not a table", "[llm.big]"),
    ("roles = 1\n", "[roles]: it must be an object", "generator ="),
    (MODEL + "[roles]\ngenerator = 5\n", "generator must be text", "generator ="),
    (MODEL + "extra = 5\n", "extra must be text, not 5", "correct the file"),
    ("[llm.default]\nmodel = 'm'\nbase_url = 'http://x'\n", "'default' is not a valid profile name", "but not default"),
    ("[llm.'a b']\nmodel = 'm'\nbase_url = 'http://x'\n", "'a b' is not a valid profile name", "letters"),
    ("[llm.'a@1+b']\nmodel = 'm'\nbase_url = 'http://x'\n", "'a@1+b' is not a valid profile name", "letters"),
    (MODEL + MODEL.replace("big", "BIG"), "only in case", "another name"),
    (MODEL + "[roles]\ngenerator = 'small'\n", "[roles] names 'small'", "[llm.small]"),
    (MODEL + "[roles]\nlinkers = ['big', 'small']\n", "[roles] names 'small'", "[llm.small]"),
    (MODEL + "[roles]\nlinkers = []\n", "is empty", "once"),
    (MODEL + "[roles]\nlinkers = ['big', 'big']\n", "lists 'big' twice", "once"),
    (MODEL + "[roles]\nlinkers = 'big'\n", "linkers must be a list", "linkers ="),
    (MODEL + "[roles]\nannotator = 'big'\n", "no field annotator", "generator ="),
]
VARIABLES = [
    ("RUNNER", "gpu", "must be 'threads'"),
    ("RUNNER_WORKERS", "-1", "must be 0 or more"),
    ("THREADS", "0", "must be 1 or more"),
    ("THREADS", "x", "must be a whole number"),
    ("HUB", "yes", "must be 'offline' or 'online'"),
    ("LLM_TEMPERATURE", "hot", "must be a number"),
    ("LLM_TEMPERATURE", "3", "must be 2 or less"),
    ("LLM_TOP_P", "0", "must be more than 0"),
    ("LLM_MAX_TOKENS", "-1", "must be 1 or more"),
    ("LLM_ANSWERS", "xml", "must be 'auto'"),
    ("LLM_ENGINE", "ollama", "must be 'server' or 'vllm'"),
    ("LLM_CONCURRENCY", "1000", "must be 256 or less"),
    ("LLM_TIMEOUT", "0", "must be more than 0"),
    ("LLM_TIMEOUT", "inf", "must be a finite number"),
    ("LLM_PRICE_PROMPT", "nan", "must be a finite number"),
    ("LLM_PRICE_PROMPT", "free", "must be a number"),
    ("LLM_BUDGET", "-1", "must be 0 or more"),
    ("LLM_BATCH", "perhaps", "must be true or false"),
    *(
        ("LABEL_STUDIO_URL", address, "must be the address of a server")
        for address in ("127.0.0.1:8080", "http://127.0.0.1:http", "http://", "ftp://127.0.0.1:1", "http://a:")
    ),
    ("PUBLIC_URL", "annotate.example.org", "must be the address of a server"),
    ("PUBLIC_URL", "https://a.example.org/x", "must be the address of a server"),
    ("PREFECT_PORT", "99999", "must be 65535 or less"),
    ("LLM_PORT", "port", "must be a whole number"),
]

OWN = {
    file.name: file.read_text(encoding="utf-8")
    for file in (SHIPPED / "news").iterdir()
    if file.suffix != ".j2" and file.is_file()
}
"""Files of a usable domain."""
SETTINGS = OWN["domain.toml"]
DOMAINS: list[tuple[str, str | bytes | None, str, str]] = [
    ("domain.toml", "", "title is missing", "fix this setting"),
    ("domain.toml", "title = ", "not valid TOML", "line"),
    ("domain.toml", "title = 'x'", "source_name is missing", "fix this setting"),
    ("domain.toml", SETTINGS.encode("utf-16"), "not UTF-8", "UTF-8"),
    ("domain.toml", "nothing = 1\n" + SETTINGS, "no field nothing", "fix this setting"),
    ("domain.toml", SETTINGS + "\n[cleaning2]\n", "no field cleaning2", "fix this setting"),
    ("domain.toml", SETTINGS.replace("title =", "title = ' ' #"), "title must not be empty", "fix this setting"),
    ("domain.toml", SETTINGS.replace("title =", "title = 5 #"), "title must be text", "fix this setting"),
    (
        "domain.toml",
        SETTINGS.replace("question =", "question = '' #"),
        "question must not be empty",
        "fix this setting",
    ),
    ("domain.toml", "setting = 'odd'\n" + SETTINGS, "setting must be 'default' or 'paper'", "fix this setting"),
    ("domain.toml", SETTINGS.replace("overlap =", "overlap = 0 #"), "overlap must be 1 or more", "fix this setting"),
    ("domain.toml", "pool = 3\n" + SETTINGS.replace("[pool]", "[pools]"), "must be an object", "fix this setting"),
    ("domain.toml", SETTINGS.partition("exclude =")[0] + "exclude = ['(']", "not a valid regular expression", "fix"),
    ("link_description.md", None, "has no file", "copy link_description.md"),
    ("link_description.md", " \n", "link_description.md of the domain 'mine' is empty", "domain check"),
    ("link_description.md", b"\xff", "not UTF-8 (byte 0)", "UTF-8"),
    ("link_description.md/x", "", "link_description.md cannot be read", "text file"),
    ("guidelines.md", None, "has no file", "copy guidelines.md"),
    ("guidelines.md", "", "guidelines.md of the domain 'mine' is empty", "domain check"),
    ("examples.jsonl", None, "has no file", "copy examples.jsonl"),
    ("examples.jsonl", "", "has no examples", "write some"),
    ("examples.jsonl", '{"source": "x", "tar', "examples.jsonl, line 1: it is not JSON", "LinkExample"),
    ("examples.jsonl", "[]\n", "line 1: it must be an object", "LinkExample"),
    ("examples.jsonl", '{"source": "a", "target": "b"}\n', "line 1: link is missing", "LinkExample"),
    ("examples.jsonl", '{"source": " ", "target": "b", "link": true}\n', "source must not be empty", "LinkExample"),
    ("generation.json", '{"target": ["a"', "it is not JSON", "remove the file"),
    ("generation.json", "[]", "it must be an object", "remove the file"),
    ("generation.json", '{"target": ["a"], "source": [{"targets": [0]}]}', "source.0.text is missing", "remove"),
    ("generation.json", '{"target": ["a"], "source": [{"text": "b", "targets": [4]}]}', "target sentence 4", "remove"),
    ("generation.json/x", "", "generation.json cannot be read", "text file"),
]


def domain_with(file: str, content: str | bytes | None) -> dict[str, str | bytes]:
    """The files of a domain with one broken, or missing if ``None``."""
    good = {name: text for name, text in OWN.items() if name != file.split("/", maxsplit=1)[0]}
    files: dict[str, str | bytes] = {f"mine/{name}": text for name, text in good.items()}
    return files if content is None else {**files, f"mine/{file}": content}


@pytest.mark.parametrize("row", VARIABLES, ids=label)
def test_a_bad_variable_is_one_clear_message_and_nothing_is_written(refuses, monkeypatch, row):
    name, value, wanted = row
    monkeypatch.setenv(f"ABCDLINK_{name}", value)
    refuses("report x", {}, f"ABCDLINK_{name}", wanted)


def test_a_variable_in_env_that_is_no_setting_is_one_clear_message(refuses):
    refuses(
        "report x", {".env": "ABCDLINK_PUBLIC_ULR=https://a.example.org\n"}, "PUBLIC_ULR", "write ABCDLINK_PUBLIC_URL"
    )


@pytest.mark.parametrize("row", TOML, ids=label)
def test_a_bad_abcdlink_toml_is_one_clear_message_and_nothing_is_written(refuses, row):
    toml, problem, hint = row
    refuses("models", {"abcdlink.toml": toml}, problem, hint)


@pytest.mark.parametrize("row", DOMAINS, ids=label)
def test_a_bad_domain_is_one_clear_message_and_nothing_is_written(refuses, row):
    file, content, problem, hint = row
    refuses("domain check mine", domain_with(file, content), problem, hint)
