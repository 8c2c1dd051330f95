"""What our own Label Studio server runs with: keys on pages, a page for each annotator, own work only, Prolific.

It runs in Label Studio's environment, not in ours.
"""

from __future__ import annotations

from pathlib import Path

ENVIRONMENT = {"PYTHONPATH": str(Path(__file__).parent), "DJANGO_SETTINGS_MODULE": "abcdlink_settings"}
"""Variables of the server's process."""
