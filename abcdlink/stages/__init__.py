"""The stages of a run: each reads and writes the run's folder, and skips what is already there."""
