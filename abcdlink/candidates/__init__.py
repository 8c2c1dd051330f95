"""What annotators see: pools of candidates by approach, or candidates that a budget buys."""
