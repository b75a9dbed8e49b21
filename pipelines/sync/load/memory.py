"""Memory of this process, given back where what comes next needs the room."""

import contextlib
import ctypes
import gc

__all__ = ["give_back", "keep_little"]

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
MOST = 32 * 2**20  # glibc's own


def keep_little() -> None:
    """glibc's: one arena for all threads.

    Blocks are given back where we say so, not each by itself: to have them cleared again and again by the kernel made a
    checkpoint half as slow again, and spared nothing.
    """
    with contextlib.suppress(OSError, AttributeError):
        for parameter, value in ((M_ARENA_MAX, 1), (M_TRIM_THRESHOLD, MOST), (M_MMAP_THRESHOLD, MOST)):
            ctypes.CDLL(None).mallopt(parameter, value)


def give_back() -> None:
    """What was freed and is kept for later, and what only rings still hold."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # glibc's
        ctypes.CDLL(None).malloc_trim(0)
