"""Documents, their full text, their embeddings, and how they are searched."""

from pipelines.search.query import search

__all__ = ["search"]
