"""What annotators are shown: pools of candidates by approach, or candidates that a budget buys."""
