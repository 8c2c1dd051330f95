"""A scripted reasoning model that writes whole documents as the generation prompt asks for them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable

from tests.helpers.fake_llm import Request, Response, says

WORDS = [
    *("river", "stone", "cloud", "paper", "garden", "window", "market", "silver"),
    *("winter", "bridge", "music", "letter", "island", "candle", "forest"),
]


def sentence(chance: random.Random) -> str:
    """Return a sentence that shares no run of words with any other."""
    return f"The {' '.join(chance.choices(WORDS, k=12))} {chance.randrange(10**6)} was seen."


def think(request: Request, faulty: Callable[[int, list[dict]], object] = lambda _, given: given) -> Response:
    """Answer as a reasoning model: thoughts with half an object in them, then the answer in a fence."""
    prompt = request.prompt
    low, high = map(int, re.search(r"It has (\d+) to (\d+) sentences", prompt).groups())
    linked = int(re.search(r"About (\d+) of them are linked", prompt)[1])
    found = re.search(r"about (\d+) of these to two or more", prompt)
    several = int(found[1]) if found else 0
    target = json.loads(re.search(r"^Document B:\n(.*)$", prompt, re.MULTILINE)[1])
    chance = random.Random(request.body["seed"])
    given: list[dict] = [{"text": sentence(chance), "targets": None} for _ in range((low + high) // 2)]
    for number, one in enumerate(chance.sample(given, linked)):
        chosen = chance.sample(list(target), 3 if number < several else 1)
        one["targets"] = [int(i) if chance.random() < 0.5 else i for i in chosen]
    answer = faulty(request.body["seed"], given)
    if isinstance(answer, Response):
        return answer
    thoughts = '<think>\nLet me plan. {"sentences": [ ... maybe\nNull for the others.\n</think>\n\n' * 1
    return says(f"{thoughts}```json\n{json.dumps({'sentences': answer}, indent=1)}\n```", tokens=(900, 600))
