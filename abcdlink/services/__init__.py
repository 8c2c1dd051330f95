"""The servers of one machine: start, stop, look, check."""
