"""What can go wrong with wherever rows and models live."""

__all__ = ["LandingError", "Locked", "PublishError"]


class Locked(Exception):
    """Another run holds the lock."""


class LandingError(Exception):
    """Rows could not be loaded; nothing of them counts, the next run reads them again."""


class PublishError(Exception):
    """Readers could not be given the new state; they keep the old one, the next run publishes."""
