"""Takes captions, share lines and other leftovers of a web page out of documents, and never changes a sentence.

Rules of the domain come first. Where suspicious sentences are left, an LLM says which sentences go; documents without
any cost nothing. The result is a corpus whose documents hold some of their sentences, with ids and texts as they were.
"""
