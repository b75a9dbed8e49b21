"""Whose certificates are believed: read once a process, not by each client (it takes 25 ms)."""

import ssl
from functools import cache

import httpx

__all__ = ["trusted"]


@cache
def trusted() -> ssl.SSLContext:
    return httpx.create_ssl_context()
