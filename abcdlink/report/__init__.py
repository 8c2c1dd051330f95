"""One self-contained HTML file that shows a run."""

from abcdlink.report.page import write_report

__all__ = ["write_report"]
