"""Cohen's kappa of a CSV with one row per candidate and one column per annotator."""

import sys

import abcdlink

result = abcdlink.agreement(sys.argv[1])
print(f"kappa {result.kappa:.3f}, 95 % interval {result.interval}, on {result.judged} candidates")
for method, acceptance in result.acceptance.items():
    print(f"{method}: {acceptance.accepted} of {acceptance.candidates} accepted")
