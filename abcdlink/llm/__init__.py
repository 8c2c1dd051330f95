"""One client for every OpenAI-compatible server, and the outcome of each question."""
