"""Additions to our own Label Studio server: keys, pages and a queue for annotators, access control, Prolific.

It runs in Label Studio's environment, not in ours.
"""

from __future__ import annotations

from pathlib import Path

ENVIRONMENT = {
    "PYTHONPATH": str(Path(__file__).parent),
    "DJANGO_SETTINGS_MODULE": "abcdlink_settings",
    # Seconds after which a task that somebody left open is offered to others; Label Studio's default is one day.
    "TASK_LOCK_TTL": "900",
}
"""Variables of the server's process."""
