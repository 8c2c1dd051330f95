"""The names of a run's files."""

from __future__ import annotations

from urllib.parse import quote

NATURAL = "natural"
TARGETS = "targets"
"""Documents without pairs, for which source documents are generated; where there are none, those of ``natural``."""
SYNTHETIC = "synthetic"

ORIGIN = "origin.json"
"""Beside an imported corpus: its format, and how its text was cut into sentences."""

GENERATION = "generation.json"
VALIDATION = "validation.json"
SCORES = "scores.parquet"
BENCHMARK = "benchmark.json"
CUTOFFS = "cutoffs.json"
"""Approach -> its cutoff by a rule, fitted on all synthetic pairs."""
OVERVIEW = "benchmarks/overview.json"
"""Benchmarks of several corpora side by side."""
SHORTLIST = "shortlist.json"
POOLS = "candidates.jsonl"
POOL_COUNTS = "candidates.json"
ANNOTATORS = "annotators.jsonl"
JUDGMENTS = "judgments.jsonl"
AGREEMENT = "agreement.json"
CHANGED = "changed.json"
"""What is different in Label Studio since a batch was pulled; only there when something is."""
REPORT = "report.html"
SAMPLE = "exhaustive/sample.json"
"""The source sentences whose every target sentence is judged."""
EXHAUSTIVE_JUDGMENTS = "exhaustive/judgments.jsonl"
RECALL = "exhaustive/recall.json"
DISPUTED = "adjudication/disputed.jsonl"
"""Pools of the candidates that an adjudicator is asked to decide."""
ADJUDICATORS = "adjudication/adjudicators.jsonl"
"""Who decides without being one of the annotators."""
ADJUDICATION_ANOMALIES = "adjudication/anomalies.json"
ADJUDICATIONS = "adjudications.jsonl"
CODING = "coding/sample.json"
"""The wrong predictions that are coded, and the patterns to choose from."""
CODERS = "coding/coders.jsonl"
"""Who codes without being one of the annotators."""
CODES = "coding/codes.jsonl"


RESULTS = (GENERATION, VALIDATION, BENCHMARK, CUTOFFS, SHORTLIST, POOL_COUNTS, AGREEMENT, RECALL, SAMPLE)


def is_result(name: str) -> bool:
    """Tell whether a file holds numbers of a stage; files of other JSON are notes that several processes may write."""
    return name.startswith(("decisions/", "rankings/")) or name.endswith(RESULTS)


def safe(name: str) -> str:
    """Return a name (of a retriever, an approach) as one file name."""
    return quote(name, safe="@+")


def rank_plan_file(corpus: str, retriever: str) -> str:
    """Return the file that says how one retriever's work on one corpus is cut into parts."""
    return f"rankings/{corpus}/{safe(retriever)}/plan.json"


def rankings_part(corpus: str, retriever: str, part: int) -> str:
    """Return the file of one part of a retriever's rankings of one corpus."""
    return f"rankings/{corpus}/{safe(retriever)}/part-{part:05d}.parquet"


def model_file(learned: str) -> str:
    """Return the file of a learned linker that was fitted on all synthetic pairs."""
    return f"models/{safe(learned)}.skops"


def labels_file(name: str, file: str) -> str:
    """Return a file of the labels of one corpus that nobody judges."""
    return f"labels/{safe(name)}/{file}"


def decision_part(corpus: str, approach: str, part: int) -> str:
    """Return the file of one part of an approach's decisions on one corpus."""
    return f"decisions/{corpus}/{safe(approach)}/part-{part:05d}.json"


def benchmark_file(corpus: str, name: str) -> str:
    """Return a file of the benchmark of one corpus; those on the synthetic pairs are in the run's folder itself."""
    return name if corpus == SYNTHETIC else f"benchmarks/{corpus}/{name}"


def folds_file(corpus: str) -> str:
    """Return the file that says how the pairs of a corpus are divided into folds, if somebody chose how."""
    return f"benchmarks/{corpus}/folds.json"


def sources_file(corpus: str) -> str:
    """Return the file that says which source sentences of a corpus an LLM is asked about, unless about all."""
    return f"benchmarks/{corpus}/sources.json"


def batch_ticket(corpus: str, profile: str = "") -> str:
    """Return the file that says in which batches an LLM, of a named profile or none, was asked about a corpus."""
    return f"llm/{corpus}-batch{f'-{safe(profile)}' if profile else ''}.json"


def generation_part(part: int) -> str:
    """Return the file of one part of the generated pairs."""
    return f"generated/part-{part:05d}.json"


def second_look_part(part: int) -> str:
    """Return the file of what another model says of one part of the generated pairs."""
    return f"generated/second-look-{part:05d}.json"


DISAGREEMENTS = "generated/disagreements.jsonl"
"""Where the second look at the generated pairs differs from their writer."""


ANNOTATIONS = "annotations.json"
SKIPS = "skips.jsonl"
ANOMALIES = "anomalies.json"
"""Files of one pull, in the folder of its batch or of its kind of project."""

ADJUDICATE_SLUG = "adjudication"
BOUNDARIES_SLUG = "boundaries"
CODING_SLUG = "coding"
EXHAUSTIVE_SLUG = "exhaustive"
QUALIFY_SLUG = "qualification"
GOLD_SLUG = "gold-pair"
RATE_SLUG = "ratings"
"""Names of the projects of which a run has at most one; stored in runs, so they never change."""


def batch_folder(batch: int) -> str:
    """Return the folder of one batch."""
    return f"batches/{batch}"


def batch_file(batch: int, name: str) -> str:
    """Return a file of one batch."""
    return f"{batch_folder(batch)}/{name}"


def batch_slug(batch: int) -> str:
    """Return the name under which the run keeps what it knows of a batch's project."""
    return f"batch-{batch}"


def feedback_slug(batch: int) -> str:
    """Return the name under which the run keeps what it knows of the project of the round after a batch."""
    return f"feedback-{batch}"


def batch_of(slug: str) -> int:
    """Return the number of the batch whose project, or whose round's project, has this slug."""
    return int(slug.rpartition("-")[2])


def is_batch(slug: str) -> bool:
    """Tell whether a slug is that of a batch."""
    return slug.startswith("batch-")


def is_feedback(slug: str) -> bool:
    """Tell whether a slug is that of a feedback round."""
    return slug.startswith("feedback-")


def project_file(slug: str, name: str) -> str:
    """Return a file on one project of Label Studio, e.g. ``batch-1``."""
    return f"label-studio/{slug}/{name}"


WAITING = "waiting"
"""Folder of what each flow waits for."""


def waiting_file(flow: str) -> str:
    """Return the file that says what the run of a flow waits for."""
    return f"{WAITING}/{flow}.json"
