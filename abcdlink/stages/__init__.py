"""The stages of a run: each reads and writes the run's folder, and skips what it already holds."""
