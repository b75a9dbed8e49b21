"""Memory of this process, given back where what comes next needs the room."""

import contextlib
import ctypes

__all__ = ["give_back", "keep_little"]

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8


def keep_little() -> None:
    """glibc's: one arena for all threads, large blocks given back at once."""
    with contextlib.suppress(OSError, AttributeError):
        for parameter, value in ((M_ARENA_MAX, 1), (M_TRIM_THRESHOLD, 131072), (M_MMAP_THRESHOLD, 131072)):
            ctypes.CDLL(None).mallopt(parameter, value)


def give_back() -> None:
    """What was freed and is kept for later."""
    with contextlib.suppress(OSError, AttributeError):  # glibc's
        ctypes.CDLL(None).malloc_trim(0)
