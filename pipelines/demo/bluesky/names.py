"""How Bluesky names things: DIDs, handles, record keys, content ids and at-uris; and how it reads a claimed date."""

import base64
import hashlib
import json
import re
from datetime import UTC, datetime
from typing import Any

import orjson
from pendulum import DateTime

Json = dict[str, Any]

SORTABLE = "234567abcdefghijklmnopqrstuvwxyz"
HANDLE = re.compile(r"([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)+[a-zA-Z]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?")
DID = re.compile(r"did:[a-z]+:[a-zA-Z0-9._:%-]*[a-zA-Z0-9._-]")
AT_URI = re.compile(r"at://[^/\s]+(/[a-zA-Z0-9.-]+(/[a-zA-Z0-9._~:@!$&%')(*+,;=-]+)?)?")
STRICT_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
INVALID_HANDLE = "handle.invalid"


def did_of(number: int) -> str:
    """24 letters that say nothing about their owner."""
    return "did:plc:" + _base32(hashlib.sha256(f"account {number}".encode()).digest())[:24]


def tid(microseconds: int, clock: int = 0) -> str:
    """A record key that sorts by time."""
    number = microseconds << 10 | clock
    return "".join(SORTABLE[number >> shift & 31] for shift in range(60, -1, -5))


def cid_of(value: Any, codec: int = 0x71) -> str:
    """Real in form and in what it depends on. The digest is of JSON, where Bluesky's is of DAG-CBOR."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return "b" + _base32(bytes([1, codec, 0x12, 0x20]) + hashlib.sha256(text.encode()).digest())


def is_actor(text: str) -> bool:
    return DID.fullmatch(text) is not None if text.startswith("did:") else is_handle(text)


def is_handle(text: str) -> bool:
    return len(text) <= 253 and HANDLE.fullmatch(text) is not None


def is_at_uri(text: str) -> bool:
    match = AT_URI.fullmatch(text)
    return match is not None and is_actor(text.split("/")[2])


def milliseconds(instant: datetime) -> int:
    return int(instant.replace(microsecond=0).timestamp()) * 1000 + instant.microsecond // 1000


def iso(instant: DateTime | int) -> str:
    """As JavaScript writes it: always UTC, always three decimals."""
    at = instant if isinstance(instant, int) else milliseconds(instant)
    whole = datetime.fromtimestamp(at // 1000, UTC).replace(tzinfo=None)
    return f"{whole.isoformat()}.{at % 1000:03}Z"


def claimed_milliseconds(claim: Any) -> int | None:
    """The instant that the AppView makes of a `createdAt`; None where it gives up. No zone counts as UTC."""
    if not isinstance(claim, str) or claim.startswith("000"):
        return None  # so close to year zero is not allowed
    if not STRICT_DATE.fullmatch(claim) and not re.search(r"([+-]\d\d:?\d\d|[a-zA-Z])$", claim[10:]):
        claim += "Z"
    try:
        instant = datetime.fromisoformat(claim)
    except ValueError:
        return None
    return milliseconds(instant if instant.tzinfo else instant.replace(tzinfo=UTC))


def dumps(value: Any) -> bytes:
    """JSON, also of lone surrogates, which are sent as escapes."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()


def _base32(data: bytes) -> str:
    return base64.b32encode(data).decode().lower().rstrip("=")
