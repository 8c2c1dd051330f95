"""vLLM's offline engine as a separate program: reads files of chat completions, writes files of replies.

Runs in an environment with vLLM but without abcdlink: ``python engine.py --config SERVE.yaml``, with the
options of ``vllm serve``. Each line on stdin is ``{"requests": FILE, "replies": FILE}``; when the replies
are written, the line ``{"replies": FILE}`` goes to stdout. Before the first one, ``{"ready": true}`` does. The program
ends when stdin closes, so it never outlives the program that started it.

Requests and replies have the form of OpenAI's chat completions, one JSON object a line; a request that does not fit the
model's context gets the error that vLLM's own server gives.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import Any

OURS = {"model", "messages", "max_completion_tokens", "response_format", "logprobs", "top_logprobs"}
TEMPLATE = ("reasoning_effort", "chat_template_kwargs")


def main() -> None:
    """Serve until stdin ends."""
    told = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what vLLM prints is log
    from vllm import LLM
    from vllm.engine.arg_utils import EngineArgs
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    options = make_arg_parser(FlexibleArgumentParser()).parse_args(sys.argv[1:])
    llm = LLM.from_engine_args(EngineArgs.from_cli_args(options))
    work: queue.Queue[dict[str, str]] = queue.Queue()
    threading.Thread(target=_listen, args=(work,), daemon=True).start()
    told.write(json.dumps({"ready": True}) + "\n")
    while True:
        job = work.get()
        requests = [json.loads(line) for line in Path(job["requests"]).read_text("utf-8").split("\n") if line]
        lines = "".join(json.dumps(reply) + "\n" for reply in answer(llm, requests))
        unfinished = Path(f"{job['replies']}.part")
        unfinished.write_text(lines, "utf-8")
        unfinished.rename(job["replies"])
        told.write(json.dumps({"replies": job["replies"]}) + "\n")


def _listen(work: queue.Queue[dict[str, str]]) -> None:
    for line in sys.stdin:
        work.put(json.loads(line))
    os.killpg(0, signal.SIGKILL)  # vLLM's own processes too


def answer(llm: Any, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:  # noqa: ANN401 - vllm.LLM
    """Return a reply to each request; all that can be answered are one batch."""
    longest = llm.model_config.max_model_len
    replies: list[dict[str, Any]] = [{} for _ in requests]
    prompts, parameters, places = [], [], []
    for place, request in enumerate(requests):
        try:
            tokens, sampling = _prompt_of(llm, request), _sampling_of(request)
        except (TypeError, ValueError) as error:
            replies[place] = {"error": {"code": 400, "message": f"{type(error).__name__}: {error}"}}
            continue
        if len(tokens) + sampling.max_tokens > longest:
            said = (
                f"This model's maximum context length is {longest} tokens, and {len(tokens)} of the prompt and "
                f"{sampling.max_tokens} of the answer are more"
            )
            replies[place] = {"error": {"code": 400, "message": said}}
            continue
        prompts.append({"prompt_token_ids": tokens})
        parameters.append(sampling)
        places.append(place)
    outputs = llm.generate(prompts, parameters, use_tqdm=False) if prompts else []
    for place, output in zip(places, outputs, strict=True):
        replies[place] = _reply_of(output)
    return replies


def _prompt_of(llm: Any, request: dict[str, Any]) -> list[int]:  # noqa: ANN401
    effort = {"reasoning_effort": request["reasoning_effort"]} if "reasoning_effort" in request else {}
    return list(
        llm.get_tokenizer().apply_chat_template(
            request["messages"],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=False,
            **{**effort, **request.get("chat_template_kwargs", {})},
        )
    )


def _sampling_of(request: dict[str, Any]) -> Any:  # noqa: ANN401 - vllm.SamplingParams
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    form = request.get("response_format", {})
    held = None
    if form.get("type") == "json_schema":
        held = StructuredOutputsParams(json=form["json_schema"]["schema"])
    elif form.get("type") == "json_object":
        held = StructuredOutputsParams(json_object=True)
    others = {name: value for name, value in request.items() if name not in OURS and name not in TEMPLATE}
    return SamplingParams(
        max_tokens=request["max_completion_tokens"],
        logprobs=request.get("top_logprobs") if request.get("logprobs") else None,
        structured_outputs=held,
        **others,
    )


def _reply_of(output: Any) -> dict[str, Any]:  # noqa: ANN401 - vllm.RequestOutput
    written = output.outputs[0]
    usage = {
        "prompt_tokens": len(output.prompt_token_ids),
        "completion_tokens": len(written.token_ids),
        "prompt_tokens_details": {"cached_tokens": output.num_cached_tokens or 0},
    }
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": written.text},
        "finish_reason": written.finish_reason,
        "logprobs": _logprobs_of(written),
    }
    return {"object": "chat.completion", "choices": [choice], "usage": usage}


def _logprobs_of(written: Any) -> dict[str, Any] | None:  # noqa: ANN401 - vllm.CompletionOutput
    if written.logprobs is None:
        return None
    content = []
    for token, alternatives in zip(written.token_ids, written.logprobs, strict=True):
        listed = sorted(alternatives.values(), key=lambda other: other.rank or 0)
        content.append({**_token(alternatives[token]), "top_logprobs": [_token(other) for other in listed]})
    return {"content": content}


def _token(one: Any) -> dict[str, Any]:  # noqa: ANN401 - vllm.logprobs.Logprob
    text = one.decoded_token or ""
    # A probability of 0 has no logarithm in JSON.
    return {"token": text, "bytes": list(text.encode(errors="replace")), "logprob": max(one.logprob, -9999.0)}


if __name__ == "__main__":
    main()
