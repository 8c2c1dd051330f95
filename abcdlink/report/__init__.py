"""One self-contained HTML file that shows a run."""
