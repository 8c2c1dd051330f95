"""One client for every OpenAI-compatible server, and what came of each question."""

from abcdlink.llm.client import LLM
from abcdlink.llm.estimate import Estimate, expected_cost
from abcdlink.llm.records import Answer, Form, Message, Outcome, Question, Usage

__all__ = ["LLM", "Answer", "Estimate", "Form", "Message", "Outcome", "Question", "Usage", "expected_cost"]
