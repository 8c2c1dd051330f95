"""Settings of our own Label Studio: its own, and our middleware."""

# The second import looks at this half-made module for values of the first.
from label_studio.core.settings.base import *  # noqa: F403
from label_studio.core.settings.label_studio import *  # noqa: F403
from label_studio.core.settings.label_studio import MIDDLEWARE as THEIRS

MIDDLEWARE = [*THEIRS, "abcdlink_guard.OwnWorkOnly", "abcdlink_pages.Pages", "abcdlink_queue.heed_locks"]
