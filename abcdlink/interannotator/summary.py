"""One summary of all judgments: agreement, and acceptance by method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from abcdlink.interannotator.groups import Group, accepted, by_annotator_pair, by_key, first, grouped, tables_of
from abcdlink.interannotator.measures import (
    ONE_ANNOTATOR,
    ONE_LABEL,
    Acceptance,
    Agreement,
    Measures,
    cohen_kappa,
    gwet_ac1,
    multiple,
    observed_agreement,
    resampled_values,
)
from abcdlink.judgments import BOTH, RANDOM, Judgment, Label
from abcdlink.statistics import RESAMPLES, interval


def agreement(judgments: Sequence[Judgment], overlap: int | None = None) -> Agreement:
    """Summarise judgments. Candidates with fewer than ``overlap`` judgments are counted and left out.

    Args:
        judgments: of any batches; of several by one annotator on one candidate the last stands.
        overlap: judgments that a candidate needs; default ``required_judgments``.
    """
    complete, incomplete = grouped(judgments, overlap)
    methods = by_key(complete, [first(group).method for group in complete])
    batches = by_key(complete, [first(group).batch for group in complete])
    ordered = sorted(methods, key=lambda method: [BOTH, RANDOM].index(method) if method in (BOTH, RANDOM) else -1)
    annotators = tuple(sorted({judgment.annotator for judgment in judgments}))
    overall = measures(complete)
    return Agreement(
        **overall.model_dump(),
        annotators=annotators,
        incomplete=incomplete,
        acceptance={method: _acceptance(methods[method]) for method in ordered},
        aggregates=_aggregates(methods),
        links={method: _links_by_annotator(methods[method], annotators) for method in ordered},
        methods={method: measures(methods[method]) for method in ordered},
        batches={batch: measures(batches[batch]) for batch in sorted(batches)},
        annotator_pairs={
            " and ".join(annotators): overall if part == complete else measures(part)
            for annotators, part in by_annotator_pair(complete).items()
        },
        multiple=multiple(complete) if len(annotators) > 2 else None,  # noqa: PLR2004 - kappa is made for two
    )


def measures(groups: Sequence[Group], resamples: int = RESAMPLES) -> Measures:
    """Measure the agreement on candidates; see ``Measures`` for more than two annotators."""
    labels = [judgment.label is Label.LINK for group in groups for judgment in group.values()]
    prevalence = sum(labels) / len(labels) if labels else None
    by_source = tables_of(groups)
    tables = by_source.sum(axis=0)
    if not len(tables):
        return Measures(judged=len(groups), prevalence=prevalence, note=ONE_ANNOTATOR)
    observed = float(observed_agreement(tables).mean())
    values = resampled_values(by_source, resamples=resamples)
    # Chance correction needs both labels in a table: with one label there is nothing to agree by chance on.
    usable = [table for table in tables if 0 < 2 * table[0] + table[1] + table[2] < 2 * table.sum()]
    known = Measures(
        judged=len(groups), observed=observed, observed_interval=interval(values.observed), prevalence=prevalence
    )
    if not usable:
        return known.model_copy(update={"note": ONE_LABEL})
    return known.model_copy(
        update={
            "kappa": sum(map(cohen_kappa, usable)) / len(usable),
            "interval": interval(values.kappa),
            "ac1": sum(float(gwet_ac1(table)) for table in usable) / len(usable),
            "ac1_interval": interval(values.ac1),
            "note": f"mean over {len(usable)} pairs of annotators" if len(tables) > 1 else "",
        }
    )


UNION = "union"
"""All that either approach proposes."""


def _aggregates(methods: Mapping[str, Sequence[Group]]) -> dict[str, Acceptance]:
    """Return the acceptance of all that each of two approaches proposes, and of what either does."""
    own = [method for method in methods if method not in (BOTH, RANDOM)]
    if len(own) != 2:  # noqa: PLR2004 - two are compared
        return {}
    shared = list(methods.get(BOTH, ()))
    found = {f"{method} with {BOTH}": [*methods[method], *shared] for method in own}
    found[UNION] = [*methods[own[0]], *methods[own[1]], *shared]
    return {name: _acceptance(groups) for name, groups in found.items()}


def _links_by_annotator(groups: Sequence[Group], annotators: Sequence[str]) -> dict[str, int]:
    said = [name for group in groups for name, judgment in group.items() if judgment.label is Label.LINK]
    return {annotator: said.count(annotator) for annotator in annotators}


def _acceptance(groups: Sequence[Group]) -> Acceptance:
    """Count the accepted candidates; interval by Wilson (1927), which is never empty at 0 or 1."""
    from scipy.stats import binomtest

    hits = sum(map(accepted, groups))
    wilson = binomtest(hits, len(groups)).proportion_ci(method="wilson")
    return Acceptance(
        accepted=hits,
        candidates=len(groups),
        rate=hits / len(groups),
        interval=(float(wilson.low), float(wilson.high)),
    )
