"""One client for every OpenAI-compatible server, and what came of each question."""

from abcdlink.llm.client import LLM
from abcdlink.llm.records import Answer, Message, Outcome, Question, Usage

__all__ = ["LLM", "Answer", "Message", "Outcome", "Question", "Usage"]
