"""`earshot ack` and `list events --unacked-by`: each event once to each consumer."""

import threading
import time

import duckdb

from pipelines.ask.query.acks import acknowledge
from pipelines.state.ledger import Ledger
from tests.asked import Reader


def unacked(reader: Reader, consumer: str, *words: str, limit: int = 9999) -> list[str]:
    rows = reader.data("list", "events", "--unacked-by", consumer, "--limit", str(limit), *words)
    return [row["event_key"] for row in rows]


def test_what_is_acknowledged_is_not_shown_again(own: Reader) -> None:
    """To that consumer; to others it is. Oldest first, and the rest is still counted."""
    every = unacked(own, "bot")
    first = unacked(own, "bot", limit=2)
    rows = own.data("list", "events", "--limit", "9999")
    assert every == [row["event_key"] for row in sorted(rows, key=lambda row: (row["seen_at"], row["event_key"]))]
    assert first == every[:2]
    asked = own.ask("ack", *first, "--as", "bot")
    assert (asked.code, asked.lines) == (0, ["2 acknowledged as bot"])
    assert unacked(own, "bot") == every[2:] and unacked(own, "other") == every
    assert f"(showing 1 of {len(every) - 2:,})" in own.ask("list", "events", "--unacked-by", "bot", "--limit", "1").out


def test_the_second_time_is_told_apart_from_the_first(own: Reader) -> None:
    """New ones and those of before, with their time; a key named twice is one."""
    one, two = unacked(own, "bot", limit=2)
    before = own.data("ack", one, one, "--as", "bot")
    assert before == {"consumer": "bot", "new": [one], "already": []}
    told = own.data("ack", one, two, "--as", "bot")
    assert told["new"] == [two]
    assert [each["event_key"] for each in told["already"]] == [one] and told["already"][0]["processed_at"].endswith("Z")


def test_a_consumer_is_called_the_same_by_both_commands(own: Reader) -> None:
    """Without a name neither does anything: all events would be its own, again and again."""
    key = own.data("list", "events", "--limit", "1")[0]["event_key"]
    for words in (("ack", key, "--as"), ("list", "events", "--unacked-by")):
        told = own.ask(*words, " ")
        assert told.code == 2 and "a consumer needs a name" in told.err
    before = own.json("list", "events", "--unacked-by", "bot")["meta"]["total"]
    assert own.ask("ack", key, "--as", " bot").code == 0
    assert own.json("list", "events", "--unacked-by", "bot ")["meta"]["total"] == before - 1


def test_keys_nobody_has_heard_of_refuse_all(own: Reader) -> None:
    """By name, and nothing is marked."""
    known = unacked(own, "bot", limit=1)[0]
    asked = own.ask("ack", known, "no:such:key", "--as", "bot")
    assert asked.code == 1 and "no such event: no:such:key; nothing was acknowledged" in asked.err
    assert unacked(own, "bot", limit=1) == [known]
    assert (
        own.ask("ack", known).code == 2
        and own.ask("ack", known, "--as", " ").code == 2
        and own.ask("ack", "--as", "x").code == 2
    )


def test_keys_come_from_standard_input_too(own: Reader) -> None:
    """Thousands do not fit a command line."""
    every = unacked(own, "bot")
    told = own.json("ack", "-", "--as", "bot", stdin="\n".join(every) + "\n\n")
    assert len(told["data"]["new"]) == len(every) and unacked(own, "bot") == []
    assert own.ask("list", "events", "--unacked-by", "bot").lines == ["Events (0)", "Nothing matches these filters."]


def test_edits_are_new_events(own: Reader) -> None:
    """Exactly once a version: when its words change it comes again, under its new key."""
    key = unacked(own, "bot", limit=1)[0]
    own.ask("ack", key, "--as", "bot")
    with duckdb.connect(str(own.home.published)) as connection:
        connection.execute(
            "INSERT INTO feedback.events SELECT * REPLACE (? AS event_key, true AS is_edit) FROM feedback.events"
            " WHERE event_key = ?", [f"{key}-edited", key])  # fmt: skip
    assert f"{key}-edited" in unacked(own, "bot") and key not in unacked(own, "bot")


def test_of_many_at_once_one_is_first(own: Reader) -> None:
    """Consumers of one name side by side: every key is new to exactly one of them."""
    keys, won = unacked(own, "bot", limit=200), list[str]()

    def consume() -> None:
        for at in range(0, len(keys), 20):
            won.extend(acknowledge(own.home, "bot", keys[at : at + 20]).new)

    threads = [threading.Thread(target=consume) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == sorted(keys)


def test_it_works_while_a_run_writes_and_the_warehouse_is_made_anew(own: Reader) -> None:
    """A run's transaction makes it wait, no more; a new published file forgets nothing."""
    key = unacked(own, "bot", limit=1)[0]
    with Ledger.open(own.home.control) as ledger:
        ledger.connection.execute("BEGIN IMMEDIATE")
        ledger.state.is_unpublished = True
        release = threading.Timer(0.5, lambda: ledger.connection.execute("COMMIT"))
        release.start()
        started = time.monotonic()
        assert own.data("ack", key, "--as", "bot")["new"] == [key]
        assert time.monotonic() - started >= 0.4
        release.join()
        run_id = ledger.begin("bulk", [])
        assert own.data("ack", key, "--as", "bot")["new"] == []
        ledger.finish(run_id, "done", 0)
    assert unacked(own, "bot", limit=1) != [key]


def test_a_control_plane_that_cannot_be_written_is_named(own: Reader) -> None:
    """No traceback, and nothing is claimed."""
    key = unacked(own, "bot", limit=1)[0]
    own.home.control.write_bytes(b"this is no database, whatever it is called" * 100)
    asked = own.ask("ack", key, "--as", "bot")
    assert asked.code == 1 and "control.sqlite cannot be written" in asked.err
    assert "control.sqlite cannot be read" in own.ask("status").err
    assert "control.sqlite cannot be read" in own.ask("list", "events", "--unacked-by", "bot").err
