"""Strict values, keys that never change, text that can be stored anywhere."""

import pendulum
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sources.core.values import COUNT, TEXT, Table, Unreadable, event_key, instant, integer, text, version


@pytest.mark.parametrize("value", [
    "2026-01-02", "2026-01-02T03:04:05", "2026-13-02T00:00:00Z", "2026-02-30T00:00:00Z", "0000-01-01T00:00:00Z", "now",
    "", None, 5, True, ["2026-01-02T03:04:05Z"], "2026-01-02T03:04:05Z\n", "２０２６-01-02T03:04:05Z",
])  # fmt: skip
def test_what_is_not_an_instant_is_unreadable(value: object) -> None:
    """Guessing a zone or a day would hide somebody's bug."""
    with pytest.raises(Unreadable):
        instant(value)


def test_instants_are_compared_as_instants() -> None:
    """As text, `…00Z` sorts after `…00.500Z`; and zones differ."""
    assert instant("2026-01-02T03:04:00Z") < instant("2026-01-02T03:04:00.500Z")
    assert instant("2026-01-02T03:04:05+02:00") == pendulum.datetime(2026, 1, 2, 1, 4, 5)


@pytest.mark.parametrize("value", ["5", 5.0, True, None, 2**63, -(2**63) - 1])
def test_ids_are_whole_numbers_that_a_column_can_hold(value: object) -> None:
    """A string id or one beyond 64 bits goes to quarantine, not into a column as something else."""
    with pytest.raises(Unreadable):
        integer(value)


@given(st.text(st.characters(), max_size=50))
def test_any_text_becomes_storable_and_nothing_else_changes(value: str) -> None:
    """NUL bytes and lone surrogates are what Postgres and Arrow refuse."""
    stored = text(value)
    stored.encode("utf-8")
    assert "\x00" not in stored
    assert stored == value or any(c == "\x00" or "\ud800" <= c <= "\udfff" for c in value)


def test_two_edits_in_one_second_are_two_versions() -> None:
    """updated_at alone cannot tell them apart."""
    moment = pendulum.datetime(2026, 1, 2, 3, 4, 5)
    assert version(moment, "a") != version(moment, "b")
    assert version(moment, "a") == version(moment, "a") == "20260102T030405Z-358fb4802e"


def test_keys_of_today_are_keys_of_tomorrow() -> None:
    """Consumers remember them: this literal must never change."""
    assert (
        event_key("github", "issue_comment", "1001", 7, "20260102T030405Z-ab")
        == "github:issue_comment:1001:7:20260102T030405Z-ab"
    )
    assert event_key("bluesky", "post", "did:plc:abc", "at://x", "v").count(":") == 4


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), min_size=2, max_size=2, unique=True))
def test_keys_of_different_things_differ(parts: list[tuple[str, str]]) -> None:
    """Colons inside parts are encoded, so no two things share a key."""
    (a, b), (c, d) = parts
    assert event_key("s", "k", a, b, "v") != event_key("s", "k", c, d, "v")


def test_a_key_comes_once_in_a_package() -> None:
    """insert-only does not dedupe within a package: a row met twice would stay twice for ever."""
    table = Table("t", ("id",), {"id": COUNT, "words": TEXT}, keeps="versions")
    assert [*table.unique([{"id": 1, "words": "a"}, {"id": 2, "words": "b"}, {"id": 1, "words": "c"}]).values()] == [
        {"id": 1, "words": "c"}, {"id": 2, "words": "b"},
    ]  # fmt: skip
