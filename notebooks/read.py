"""Read a discussion from its first word to its last: `marimo run notebooks/read.py`, then `?thread=…` or the list."""

import marimo

app = marimo.App(width="full", app_title="Earshot: read")


@app.cell
def _():
    import marimo as mo

    from pipelines import charts
    from pipelines.charts import reading

    news, clock = charts.clock()
    chosen = charts.Chosen()
    address = mo.query_params()

    def go(thread):
        address["thread"] = thread

    mo.hstack([mo.Html(charts.title("What was said")), clock], widths=[1, 0])
    return address, charts, chosen, go, mo, news, reading


@app.cell
def _(charts, news):
    news()  # after every publish, from here on
    bounds = charts.bounds("feedback.diff_notes")
    charts.begin(bounds)
    return (bounds,)


@app.cell
def _(bounds, charts, chosen, mo):
    mo.stop(isinstance(bounds, charts.Nothing))
    NAMES = "SELECT {0} AS name FROM feedback.threads WHERE {0} IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC LIMIT 500"
    with charts.asking() as _held:
        _of = {
            column: [row["name"] for row in _held.rows(NAMES.format(column))]
            for column in ("source", "scope_name", "parent_kind", "waiting_on")
        }
    needle = chosen.words("find", 'token rotation, "a phrase", tok*')
    turn = chosen.pick("turn", ["anyone", *_of["waiting_on"]], "all")
    state = chosen.pick("state", ["open", "merged", "closed"], "all")
    kind = chosen.pick("kind", _of["parent_kind"], "all")
    source = chosen.pick("source", _of["source"], "all")
    scope = chosen.pick("place", _of["scope_name"], "all")
    order = chosen.pick("first", ["best or newest", "waits longest"], first="best or newest")
    more = mo.ui.button(value=1, on_click=lambda n: n + 1, label="Show more")
    filters = mo.vstack([needle, mo.hstack([turn, state, kind, source, scope, order], justify="start", wrap=True)])
    return filters, kind, more, needle, order, scope, source, state, turn


@app.cell
def _(bounds, charts, kind, mo, more, needle, order, reading, scope, source, state, turn):
    mo.stop(isinstance(bounds, charts.Nothing))
    hits, otherwise = [], "Nothing matches these filters."
    if _words := needle.value.strip():
        hits, otherwise = charts.hits_of(_words, 200, source=source.value, scope=scope.value, kind=kind.value)
    # which ones first, then all about these few: of a million events, a quarter of the time
    LIST = """
    WITH chosen AS (
        SELECT parent_key, max(last_at) AS last_at, min(last_at) FILTER (waiting_on IS NOT NULL) AS waits_since,
            list_position($found, parent_key) AS rank
        FROM feedback.threads
        WHERE ($source IS NULL OR source = $source) AND ($scope IS NULL OR scope_name = $scope)
            AND ($kind IS NULL OR parent_kind = $kind)
            AND ($turn IS NULL OR waiting_on = $turn OR ($turn = 'anyone' AND waiting_on IS NOT NULL))
            AND ($state IS NULL OR parent_key IN (SELECT parent_key FROM feedback.parents WHERE state = $state))
            AND (NOT $is_search OR parent_key IN (SELECT unnest($found)))
        GROUP BY parent_key
        ORDER BY CASE WHEN $longest THEN waits_since END, rank, last_at DESC, parent_key LIMIT $most
    ),
    told AS (
        SELECT
            parent_key, any_value(source) AS source, any_value(scope_name) AS scope_name,
            any_value(parent_number) AS parent_number, arg_min(opener, opened_at) AS opener,
            arg_min(opening_words, opened_at) AS opening_words, arg_max(last_author, threads.last_at) AS last_author,
            arg_max(last_words, threads.last_at) AS last_words, max(threads.last_at) AS last_at,
            coalesce(list(DISTINCT waiting_on) FILTER (waiting_on IS NOT NULL), []) AS turns
        FROM feedback.threads AS threads
        WHERE parent_key IN (SELECT parent_key FROM chosen) GROUP BY parent_key
    )
    SELECT told.*, parent.title, parent.state
    FROM told INNER JOIN chosen ON chosen.parent_key = told.parent_key
    LEFT JOIN feedback.parents AS parent ON parent.parent_key = told.parent_key
    ORDER BY CASE WHEN $longest THEN waits_since END, rank, chosen.last_at DESC, told.parent_key
    """
    _most = 40 * more.value
    _filters = {"source": source.value, "scope": scope.value, "kind": kind.value, "turn": turn.value}
    _found = {"is_search": bool(_words), "found": [hit.document_key for hit in hits] or [""]}
    _order = {"longest": order.value == "waits longest", "most": _most + 1}
    with charts.asking() as _held:
        rows, known = _held.rows(LIST, {"state": state.value, **_filters, **_found, **_order}), reading.names(_held)
    has_more, rows = len(rows) > _most, rows[:_most]
    return has_more, hits, known, otherwise, rows


@app.cell
def _(filters, go, has_more, hits, known, mo, more, otherwise, reading, rows):
    _found = {hit.document_key: hit for hit in hits}
    _rows = [{**row, "hit": _found.get(row["parent_key"])} for row in rows]
    buttons = reading.openers(_rows, known, go)
    _none = mo.Html(f'<p style="opacity: .68">{otherwise}</p>')
    left = mo.vstack([filters, reading.listed(buttons) if rows else _none, *([more] if has_more else [])])
    return buttons, left


@app.cell
def _(address, mo):
    asked = next(iter(address.get_all("thread")), None)
    earlier = mo.ui.button(value=1, on_click=lambda n: n * 4, label="Show what was said before")
    return asked, earlier


@app.cell
def _(asked, bounds, charts, earlier, mo, reading):
    mo.stop(isinstance(bounds, charts.Nothing))
    PARENT = "SELECT * FROM feedback.parents WHERE parent_key = $parent"
    COUNTS = """
    SELECT
        count(*) FILTER (NOT is_system) AS said, count(*) FILTER (is_system) AS system,
        (
            SELECT coalesce(list(DISTINCT waiting_on) FILTER (waiting_on IS NOT NULL), [])
            FROM feedback.threads WHERE parent_key = $parent
        ) AS turns
    FROM feedback.events WHERE parent_key = $parent AND is_latest
    """
    # of very many: how it began, what was linked to, the newest; of very long ones the beginning
    SAID = """
    WITH said AS (
        SELECT * FROM feedback.events WHERE parent_key = $parent AND is_latest AND NOT is_system
        ORDER BY source || ':' || id = parent_key OR (kind = parent_kind AND parent_number IS NOT NULL) DESC,
            thread_id = $thread DESC, created_at DESC, event_key
        LIMIT $most
    )
    SELECT
        said.* REPLACE (left(said.body, $room) AS body), length(said.body) > $room AS is_cut,
        place.path, place.start_line, place.line, place.side, place.is_outdated, place.diff_hunk,
        place.image_x, place.image_y, place.image_width, place.image_height
    FROM said
    LEFT JOIN (SELECT * FROM feedback.diff_notes WHERE parent_key = $parent) AS place
        ON place.event_key = said.event_key
    ORDER BY said.created_at, said.id, said.event_key
    """
    VERSIONS = """
    SELECT kind, parent_kind, id, title, left(body, $room) AS body, updated_at FROM feedback.events
    WHERE parent_key = $parent AND id IN (SELECT unnest($ids))
    ORDER BY is_latest, updated_at, seen_at, event_key LIMIT 400
    """
    told = None
    with charts.asking() as _held:
        found = reading.which(_held, asked)
        if isinstance(found, reading.Found):
            _of, _room = {"parent": found.parent_key}, {"room": 20_000}
            _said = _held.rows(SAID, {**_of, **_room, "thread": found.thread_id, "most": 100 * earlier.value})
            _said = reading.with_media(_held, found.parent_key, _said)
            _ids = [row["id"] for row in _said if row["is_edit"]]
            told = reading.Told(
                talk=reading.discussions(_held, found.parent_key, _said),
                versions=_held.rows(VERSIONS, {**_of, **_room, "ids": _ids}) if _ids else [],
                parent=next(iter(_held.rows(PARENT, _of)), {}),
                counts=_held.row(COUNTS, _of),
                here=found.thread_id,
                known=reading.names(_held),
            )
    return found, told


@app.cell
def _(charts, earlier, found, left, mo, reading, told):
    _shown = charts.nothing(found) if told is None else reading.page(told)
    _has_more = told is not None and told.counts["said"] > len(told.notes)
    _right = f"{_shown}{earlier.text if _has_more else ''}"
    mo.Html(reading.beside(left.text, _right, "" if told is None else found.parent_key))
    return


if __name__ == "__main__":
    app.run()
