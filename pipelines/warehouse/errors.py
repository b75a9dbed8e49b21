"""What can go wrong with wherever rows and models live."""

__all__ = ["LandingError", "Locked", "PublishError", "Unavailable"]


class Locked(Exception):
    """Another run holds the lock."""


class LandingError(Exception):
    """Rows could not be loaded; nothing of them counts, the next run reads them again."""

    is_torn = False  # some of a package's tables may have been loaded, and others not


class PublishError(Exception):
    """Readers could not be given the new state; they keep the old one, the next run publishes."""


class Unavailable(Exception):
    """What people decide cannot be read or written now; the message holds no password."""
