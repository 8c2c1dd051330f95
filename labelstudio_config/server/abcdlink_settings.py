"""Settings of our own Label Studio: its own, our middleware, and transactions that wait for each other."""

# The second import looks at this half-made module for values of the first.
from label_studio.core.settings.base import *  # noqa: F403
from label_studio.core.settings.label_studio import *  # noqa: F403
from label_studio.core.settings.label_studio import DATABASES
from label_studio.core.settings.label_studio import MIDDLEWARE as THEIRS

MIDDLEWARE = [*THEIRS, "abcdlink_guard.OwnWorkOnly", "abcdlink_pages.Pages", "abcdlink_queue.heed_locks"]

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # By default, a transaction that has read and then writes fails at once with "database is locked" when another one
    # is writing: two annotators who submit at the same moment would see a server error. These wait, in seconds.
    DATABASES["default"]["OPTIONS"] = {"transaction_mode": "IMMEDIATE", "timeout": 20}
