"""Settings of our own Label Studio: its defaults, our middleware, and transactions that wait for each other."""

# The second import reads values of the first from this half-loaded module.
from label_studio.core.settings.base import *  # noqa: F403
from label_studio.core.settings.label_studio import *  # noqa: F403
from label_studio.core.settings.label_studio import DATABASES
from label_studio.core.settings.label_studio import MIDDLEWARE as THEIRS

MIDDLEWARE = [*THEIRS, "abcdlink_guard.OwnWorkOnly", "abcdlink_pages.Pages", "abcdlink_queue.heed_locks"]

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # By default, a transaction that reads and then writes fails at once with "database is locked" if another one
    # is writing: two annotators who submit at the same moment would see a server error. This makes it wait (seconds).
    DATABASES["default"]["OPTIONS"] = {"transaction_mode": "IMMEDIATE", "timeout": 20}
