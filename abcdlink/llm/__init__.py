"""One client for every OpenAI-compatible server, and what came of each question."""
