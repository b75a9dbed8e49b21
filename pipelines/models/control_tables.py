"""Columns of what people decide, and of the control plane as tables for SQL: `ops.*`."""

__all__ = ["DECIDED", "DECISIONS", "TABLES", "WHOLE"]

DECISIONS = {
    "acknowledgements": "consumer TEXT NOT NULL, event_key TEXT NOT NULL, processed_at TEXT NOT NULL,"
    " PRIMARY KEY (consumer, event_key)",
    "answers": "token TEXT PRIMARY KEY, source TEXT NOT NULL, scope TEXT NOT NULL, scope_name TEXT NOT NULL,"
    " parent_key TEXT NOT NULL, parent_kind TEXT NOT NULL, parent_number INTEGER NOT NULL, thread TEXT, event_key TEXT,"
    " said_key TEXT, command_key TEXT, body TEXT NOT NULL, resolves INTEGER NOT NULL, status TEXT NOT NULL,"
    " attempts INTEGER NOT NULL, is_unsure INTEGER NOT NULL, unsure_from TEXT, is_over INTEGER NOT NULL, code TEXT,"
    " error TEXT, planned_at TEXT NOT NULL, attempted_at TEXT, posted_at TEXT, observed_at TEXT, resolved_at TEXT,"
    " remote_id TEXT, url TEXT, author TEXT,"
    " observed_key TEXT",
    "lifecycle": "parent_key TEXT PRIMARY KEY, state TEXT NOT NULL, since_at TEXT NOT NULL, actionable_from TEXT,"
    " revision BIGINT NOT NULL",
    "links": "issue_key TEXT PRIMARY KEY, change_key TEXT NOT NULL, linked_at TEXT NOT NULL",
    # all of these came back from a copy that may not know what was decided since `as_of`
    "restorations": "restored_at TEXT PRIMARY KEY, as_of TEXT NOT NULL",
}
GROWING = {
    "runs": "run_id BIGINT, started_at TIMESTAMPTZ, finished_at TIMESTAMPTZ, status VARCHAR, exit_code INTEGER,"
    " mode VARCHAR, sources VARCHAR, phase VARCHAR, requests BIGINT, not_modified BIGINT, rows_new BIGINT,"
    " rows_replayed BIGINT, packages BIGINT, published_bytes BIGINT, seconds DOUBLE, error VARCHAR,"
    " pid BIGINT, heartbeat_at TIMESTAMPTZ, detail VARCHAR",
    "requests": "run_id BIGINT, source VARCHAR, scope VARCHAR, scope_name VARCHAR, surface VARCHAR, requests BIGINT,"
    " pages BIGINT, fetched BIGINT, new BIGINT, replayed BIGINT, not_modified BIGINT, retries BIGINT, bytes BIGINT,"
    " waited_seconds DOUBLE, lag_seconds DOUBLE",
}
WHOLE = {
    "failures": "source VARCHAR, scope VARCHAR, scope_name VARCHAR, surface VARCHAR, code VARCHAR, message VARCHAR,"
    " first_run_id BIGINT, last_run_id BIGINT, first_at TIMESTAMPTZ, last_at TIMESTAMPTZ, attempts BIGINT,"
    " until_at TIMESTAMPTZ, resolved_at TIMESTAMPTZ",
    "quarantine": "source VARCHAR, key VARCHAR, scope VARCHAR, surface VARCHAR, reason VARCHAR, raw VARCHAR,"
    " first_at TIMESTAMPTZ, last_at TIMESTAMPTZ, attempts BIGINT, retry_at TIMESTAMPTZ, resolved_at TIMESTAMPTZ,"
    " parent_key VARCHAR, let_be_at TIMESTAMPTZ",
    "scopes": "source VARCHAR, scope VARCHAR, scope_name VARCHAR, last_read_at TIMESTAMPTZ, last_new_at TIMESTAMPTZ,"
    " reads BIGINT, new BIGINT",
}
DECIDED = {  # the same for all runners; in full, since a lost control.sqlite comes back from here
    "lifecycle": "parent_key VARCHAR, state VARCHAR, since_at TIMESTAMPTZ, actionable_from TIMESTAMPTZ,"
    " revision BIGINT",
    "links": "issue_key VARCHAR, change_key VARCHAR, linked_at TIMESTAMPTZ",
    "answers": "token VARCHAR, source VARCHAR, scope VARCHAR, scope_name VARCHAR, parent_key VARCHAR,"
    " parent_kind VARCHAR, parent_number BIGINT, thread VARCHAR, event_key VARCHAR, said_key VARCHAR,"
    " command_key VARCHAR, body VARCHAR, resolves BOOLEAN, status VARCHAR, attempts BIGINT, is_unsure BOOLEAN,"
    " unsure_from TIMESTAMPTZ, is_over BOOLEAN, code VARCHAR, error VARCHAR, planned_at TIMESTAMPTZ,"
    " attempted_at TIMESTAMPTZ, posted_at TIMESTAMPTZ, observed_at TIMESTAMPTZ, resolved_at TIMESTAMPTZ,"
    " remote_id VARCHAR, url VARCHAR, author VARCHAR, observed_key VARCHAR",
    "acknowledgements": "consumer VARCHAR, event_key VARCHAR, processed_at TIMESTAMPTZ",
    "restorations": "restored_at TIMESTAMPTZ, as_of TIMESTAMPTZ",
}
CURSORS = (
    "source VARCHAR, surface VARCHAR, scope VARCHAR, scope_name VARCHAR, since TIMESTAMPTZ, newest TIMESTAMPTZ,"
    " is_complete BOOLEAN, state VARCHAR"
)


TABLES = {
    **{name: f"shard VARCHAR, {columns}" for name, columns in {**GROWING, **WHOLE}.items()},
    **DECIDED,
    "cursors": CURSORS,
    "authors": "login VARCHAR",
    "team": "login VARCHAR",
    "settings": "command_prefix VARCHAR, version INTEGER",
}
