"""Speed and scale, as ratios to named baselines measured in the same run: ``make bench``."""
