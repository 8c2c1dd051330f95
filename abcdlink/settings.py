"""Settings of the machine and its services, read from the environment (prefix ``ABCDLINK_``)."""

from __future__ import annotations

import os
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import Field, PrivateAttr, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from abcdlink.errors import InputError, fault_in

PROJECT_ROOT = Path(__file__).resolve().parent.parent
"""The checkout: shipped domains, deployments and flows are here."""


SECRETS_FILE = "secrets.env"
"""Name of the generated file with passwords and tokens, in the home folder, mode 600."""


class Settings(BaseSettings):
    """What differs between machines. Every field is ``ABCDLINK_<NAME>`` in the environment."""

    model_config = SettingsConfigDict(
        env_prefix="ABCDLINK_", extra="ignore", str_strip_whitespace=True, allow_inf_nan=False
    )

    home: Path = Field(Path(".abcdlink"), description="folder of runs, caches, logs and secrets")
    config: str = Field("", description="settings file; empty: abcdlink.toml in the current folder, else in the home")
    runs: str = Field("", description="where runs are stored: a folder or s3://...; default HOME/runs")
    threads: int = Field(1, ge=1, description="threads of one process for torch and BLAS")
    device: str = Field("auto", description="auto, cpu, cuda or mps")
    hub: Literal["offline", "online"] = Field("offline", description="whether missing models are downloaded")
    runner: Literal["threads", "process", "dask", "ray"] = Field(
        "threads", description="where flows run the parts of a benchmark"
    )
    runner_workers: int = Field(
        0, ge=0, description="parts run at the same time; 0: 1 in threads, else as many processes as cores / threads"
    )
    runner_address: str = Field("", description="Dask scheduler or Ray cluster; empty: one on this machine")

    llm_base_url: str = Field("", description="OpenAI-compatible endpoint; empty: the embedded model")
    llm_engine: Literal["server", "vllm"] = Field(
        "server", description="server: asked over HTTP; vllm: vLLM's offline engine on this machine's GPU"
    )
    llm_serve: str = Field("", description="engine vllm: file of options of `vllm serve`; empty: vLLM's defaults")
    llm_python: str = Field("", description="engine vllm: Python with vLLM; empty: .venv-vllm, as of `make setup-vllm`")
    llm_model: str = Field("smollm2-135m-instruct", description="model name sent with every call")
    llm_api_key: SecretStr = Field(SecretStr("unused"), description="key of the endpoint")
    llm_temperature: float = Field(0.3, ge=0, le=2)
    llm_top_p: float = Field(0.9, gt=0, le=1)
    llm_seed: int = 13
    llm_max_tokens: int = Field(512, ge=1, description="limit of one answer")
    llm_thinking_tokens: int = Field(0, ge=0, description="extra tokens per answer for a reasoning model to think")
    llm_reasoning_effort: str = Field("", description="low, medium, high ...: as the model defines it; sent when set")
    llm_answers: Literal["auto", "json_schema", "json_object", "text"] = Field(
        "auto", description="how the form of answers is asked for; auto: the strictest way the server supports"
    )
    llm_top_logprobs: int = Field(20, ge=1, le=20, description="alternatives at each token, for probabilities")
    llm_extra: str = Field("", description="JSON object of additional request parameters; null removes a default one")
    llm_concurrency: int = Field(4, ge=1, le=256)
    llm_timeout: float = Field(120.0, gt=0, description="seconds for one call")
    llm_price_prompt: float = Field(0.0, ge=0, description="price of 1 million prompt tokens")
    llm_price_cached: float = Field(0.0, ge=0, description="price of 1 million cached prompt tokens")
    llm_price_completion: float = Field(0.0, ge=0, description="price of 1 million completion tokens")
    llm_batch: bool = Field(
        default=False, description="whether flows use the server's Batch API: half the price, answers within a day"
    )
    llm_budget: float = Field(0.0, ge=0, description="the most a run may spend on the LLM; 0: no limit")
    llm_budget_tokens: int = Field(0, ge=0, description="the most tokens a run may use; 0: no limit")

    preview: bool = Field(
        default=True, description="whether a batch waits until the coordinator has looked at it and said Go"
    )
    label_studio_url: str = "http://127.0.0.1:8080"
    public_url: str = Field("", description="address at which annotators elsewhere reach Label Studio: tunnel or proxy")
    label_studio_token: SecretStr = Field(SecretStr(""), description="legacy or personal access token")
    prefect_port: int = Field(4200, ge=1, le=65535, description="port of the local Prefect server")
    prefect_auth: SecretStr = Field(SecretStr(""), description="user:password of the Prefect server's API")
    llm_port: int = Field(8090, ge=1, le=65535, description="port of the embedded LLM")

    drops_source: str = Field("", description="folder or s3:// prefix that is watched for new data")
    drops_run: str = Field("", description="run key whose shortlist serves new data")
    s3_endpoint_url: str = Field("", description="S3 endpoint other than AWS's")

    # Set by ``abcdlink.llm.profiles`` alone.
    _profile: str = PrivateAttr("")
    _table: str = PrivateAttr("")
    _keyless: str = PrivateAttr("")
    _limits: tuple[int, float] = PrivateAttr((0, 0.0))

    @property
    def llm_profile(self) -> str:
        """Name of the LLM profile that these settings hold; empty: the one that ``ABCDLINK_LLM_...`` describes."""
        return self._profile

    @property
    def llm_keyless(self) -> str:
        """Why the profile has no key; empty: it has one, or needs none."""
        return self._keyless

    @property
    def llm_limits(self) -> tuple[int, float]:
        """Tokens and money that this profile may use in one run, beside the limits of the run; 0: no limit."""
        return self._limits

    @property
    def llm_is_embedded(self) -> bool:
        """Whether the small model that comes with abcdlink is asked."""
        return self.llm_engine == "server" and not self.llm_base_url

    @property
    def llm_has_prices(self) -> bool:
        """Whether the price of a token is known."""
        return self.llm_price_prompt + self.llm_price_completion > 0

    def llm_setting(self, name: str) -> str:
        """Return where a person sets one of the ``llm_`` settings, e.g. ``model``, for messages."""
        if not self._table:
            return f"ABCDLINK_LLM_{name.upper()}"
        return f"{'api_key_env' if name == 'api_key' else name} in {self._table}"

    @field_validator("public_url", "label_studio_url", "s3_endpoint_url")
    @classmethod
    def _origin(cls, url: str, info: ValidationInfo) -> str:
        """Take the address of a server; annotators reach Label Studio's pages at its root, so without a path."""
        msg = "must be the address of a server, such as https://annotate.example.org"
        parts = urlsplit(url.strip().rstrip("/"))
        try:
            no_port = parts.port is None and parts.netloc.endswith(":")
        except ValueError:
            raise ValueError(msg) from None
        has_path = info.field_name == "public_url" and (parts.path or parts.query)
        if url.strip() and (parts.scheme not in {"http", "https"} or not parts.hostname or has_path or no_port):
            raise ValueError(msg)
        return parts.geturl()

    @field_validator("runs", "drops_source", "config")
    @classmethod
    def _absolute(cls, place: str) -> str:
        """Make a folder absolute: servers and flows run elsewhere. An address (s3://...) stays as it is."""
        place = place.strip()
        return place if not place or "://" in place else str(Path(place).expanduser().absolute())

    @property
    def runs_root(self) -> str:
        """Where runs are stored: ``runs`` or ``HOME/runs``."""
        return self.runs or str(self.home.resolve() / "runs")

    @property
    def cache_root(self) -> Path:
        """Folder of the LLM answers and sentence embeddings that are kept between runs."""
        return self.home.resolve() / "cache"


@lru_cache
def get_settings() -> Settings:
    """Return the settings of this process; ``get_settings.cache_clear()`` reads them again.

    The environment wins over ``.env`` in the working directory, which wins over
    ``HOME/secrets.env``, the file that ``abcdlink up`` generates once.

    Raises:
        InputError: when a variable does not fit, or ``.env`` sets one that does not exist; names it and the value.
    """
    written = _written()
    home = Path(os.environ.get("ABCDLINK_HOME", written.get("ABCDLINK_HOME") or ".abcdlink"))
    try:
        return Settings(_env_file=env_files(home))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        variable = f"ABCDLINK_{name.upper()}"
        msg = f"{fault_in(error).replace(name, variable, 1)}, not {first['input']!r}"
        raise InputError(msg, f"correct {variable} in the environment, or in .env") from None


def _written() -> dict[str, str | None]:
    """Return the settings in ``.env``, their names in capital letters; ``InputError`` when there is no such setting."""
    written = {name.upper(): value for name, value in dotenv_values(".env").items()}
    known = [f"ABCDLINK_{name.upper()}" for name in Settings.model_fields]
    for name in written:
        if name.startswith("ABCDLINK_") and name not in known:
            msg = f".env sets {name}, but there is no such setting"
            close = get_close_matches(name, known, 1, cutoff=0)[0]
            raise InputError(msg, f"write {close}, or remove the line; names of your own must not begin with ABCDLINK_")
    return written


def env_files(home: Path) -> tuple[Path, Path]:
    """Return the files of variables that are read beside the environment; the last one that has a name wins."""
    return home / SECRETS_FILE, Path(".env")
