"""Whom to take: the best of those who did every task, above a threshold."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from abcdlink.qualify.records import Applicant


def ranked(applicants: Sequence[Applicant]) -> list[Applicant]:
    """Return those who finished, best kappa first and undefined last, then the others by how far they are.

    Kappas of different numbers of tasks do not compare, so that who has not finished is not ranked.
    """
    return sorted(
        applicants,
        key=lambda one: (not one.finished, -one.done, one.kappa is None, -(one.kappa or 0.0)),
    )


def proposal(
    applicants: Sequence[Applicant], wanted: int, threshold: float, but: Collection[str] = ()
) -> list[Applicant]:
    """Return the best ``wanted`` of those who finished with a kappa of at least ``threshold``; may be fewer.

    ``but``: pseudonyms of those who are not eligible.
    """
    able = [one for one in ranked(applicants) if one.finished and one.annotator not in but]
    return [one for one in able if one.kappa is not None and one.kappa >= threshold][:wanted]
