"""The reading page, where one runs: the address of a discussion in it."""

from itertools import accumulate
from pathlib import Path
from urllib.parse import quote

from pipelines.ask.format.answer import Refusal
from pipelines.settings import PAGE
from pipelines.warehouse.configured import its_config
from sources.core.config import check_address

__all__ = ["PAGE", "page_of"]

TITLE = b"<title>Earshot: read</title>"
STARTS = (
    "start it and leave it running: `marimo run notebooks/read.py`; elsewhere than there: --page, or [earshot] page"
)
PATIENCE = 2.0  # seconds
ROOM = 200_000  # bytes that a page's title may stand in


def page_of(name: str, page: str | None = None) -> str:
    """By a thread's or parent's whole name, once it is known that the page listens; where it is set to, by default."""
    if page:
        check_address("earshot open", page, "--page")
    page = (page or its_config(Path.cwd()).page).rstrip("/")
    told = _begins(page)
    if told is None:
        raise Refusal("NOT_RUNNING", f"no reading page answers at {page}", STARTS)
    if TITLE not in told:
        raise Refusal("NOT_RUNNING", f"what answers at {page} is another page", STARTS)
    return f"{page}/?thread={quote(name, safe='')}"


def _begins(page: str) -> bytes | None:
    """What is served there, as far as its title; nothing, where nobody answers."""
    import httpx  # only here: other questions need not wait for it

    try:
        with httpx.stream("GET", page, timeout=PATIENCE, trust_env=False) as answer:
            told = b""
            for told in accumulate(answer.iter_bytes()):
                if TITLE in told or len(told) > ROOM:
                    break
            return told
    except httpx.HTTPError:
        return None
