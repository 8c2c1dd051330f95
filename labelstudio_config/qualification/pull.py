"""What applicants said becomes judgments under pseudonyms of their own."""

from __future__ import annotations

from collections.abc import Sequence

from abcdlink.judgments import Annotator, Pool
from labelstudio_config.answers import with_pseudonyms
from labelstudio_config.client import Client
from labelstudio_config.linking.pull import judgments_in
from labelstudio_config.pulls import JudgmentsPull
from labelstudio_config.qualification.project import qualification_title
from labelstudio_config.snapshot import Snapshot, read_project

APPLICANT = "applicant"
"""What the pseudonyms of applicants begin with: they are not yet the run's annotators."""


def pull_qualification(
    client: Client, run_key: str, pools: Sequence[Pool], applicants: Sequence[Annotator] = ()
) -> JudgmentsPull:
    """Read the judgments of all applicants so far. Reads only.

    Args:
        client: the server.
        run_key: name of the run.
        pools: the tasks of the gold pair.
        applicants: those who are known, who keep their pseudonyms.

    Raises:
        ServiceError: when there is no such project, or Label Studio does not answer.
    """
    snapshot = read_project(client, qualification_title(run_key), [pool.key for pool in pools])
    return applications_in(snapshot, pools, applicants)


def applications_in(snapshot: Snapshot, pools: Sequence[Pool], applicants: Sequence[Annotator]) -> JudgmentsPull:
    """Read judgments from what lies in Label Studio; for the arguments see ``pull_qualification``."""
    by_key = {pool.key: pool for pool in pools}
    return judgments_in(snapshot, by_key, with_pseudonyms(applicants, snapshot, APPLICANT))
