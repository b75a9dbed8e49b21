"""What are people saying? `marimo run notebooks/feedback.py`, `marimo edit …`, or `python …` for the numbers alone."""

import marimo

app = marimo.App(width="medium", app_title="Earshot: feedback")


@app.cell
def _():
    import marimo as mo

    from pipelines import charts

    news, clock = charts.clock()
    chosen = charts.Chosen()
    mo.hstack([mo.Html(charts.title("What people are saying")), clock], widths=[1, 0])
    return chosen, charts, mo, news


@app.cell
def _(charts, news):
    news()  # after every publish, from here on
    bounds = charts.bounds()
    charts.begin(bounds)
    return (bounds,)


@app.cell
def _(bounds, chosen, charts, mo):
    mo.stop(isinstance(bounds, charts.Nothing))
    NAMES = "SELECT {0} AS name FROM feedback.comments WHERE NOT is_system AND {0} IS NOT NULL GROUP BY 1"

    def names(column):
        return [row["name"] for row in charts.ask(f"{NAMES.format(column)} ORDER BY count(*) DESC LIMIT 500")]

    source = chosen.pick("source", names("source"), "all")
    scope = chosen.pick("place", names("scope_name"), "all")
    author = chosen.pick("author", names("author"), "everybody")
    span = chosen.pick("period", charts.PERIODS, first="6 months")
    colour = chosen.pick("colour", ["source", "kind"], first="source")
    bots = chosen.bots()
    mo.hstack([source, scope, author, span, colour, bots], justify="start", gap=1.5, wrap=True)
    return author, bots, colour, scope, source, span


@app.cell
def _(author, bots, bounds, charts, scope, source, span):
    period = charts.period(bounds, span.value)
    only = {"since": period.since, "source": source.value, "scope": scope.value, "author": author.value}
    filters = {**only, "bots": bots.value}
    SAID = """
    WITH said AS (
        SELECT * FROM feedback.comments
        WHERE NOT is_system AND created_at >= $since AND ($source IS NULL OR source = $source)
            AND ($scope IS NULL OR scope_name = $scope) AND ($author IS NULL OR author = $author)
            AND ($bots OR NOT is_bot)
    ),
    discussed AS (
        SELECT thread.*, parent.title FROM feedback.threads AS thread
        LEFT JOIN feedback.parents AS parent ON parent.parent_key = thread.parent_key
        WHERE thread_id IN (SELECT thread_id FROM said)
    )
    """
    numbers = charts.ask(f"""{SAID}
    SELECT
        count(*) AS "things said", count(DISTINCT author) AS "people", count(DISTINCT scope_name) AS "places",
        (SELECT count(*) FROM discussed) AS "discussions",
        (SELECT count(*) FROM discussed WHERE waiting_on = 'team') AS "wait for the team"
    FROM said
    """, **filters)[0]  # fmt: skip
    return SAID, filters, numbers, only, period


@app.cell
def _(charts, numbers):
    charts.numbers("feedback", numbers, "Widen the filters.")
    return


@app.cell
def _(SAID, colour, filters, charts, mo, numbers, period):
    mo.stop(not numbers["things said"])
    steps = charts.ask(f"""{SAID}
    SELECT CAST(date_trunc($step, created_at) AS DATE) AS day, replace({colour.value}, '_', ' ') AS {colour.value},
        count(*) AS n
    FROM said WHERE created_at < $until GROUP BY ALL ORDER BY day
    """, **filters, step=period.step, until=period.until)  # fmt: skip
    kinds = charts.ask(f"""{SAID}
    SELECT replace(kind, '_', ' ') AS kind, source, count(*) AS n FROM said GROUP BY ALL ORDER BY n DESC
    """, **filters)  # fmt: skip
    words = f"a bar a {period.step}; the last {period.step} is not over and left out"
    bars = charts.over_time(steps, period.step, colour.value, "How much is said", words, height=24 * max(8, len(kinds)))
    charts.beside(bars, charts.ranked(kinds, "kind", "What it is"), (1.7, 1))
    return kinds, steps


@app.cell
def _(SAID, filters, charts, mo, numbers):
    mo.stop(not numbers["things said"])
    WAITING = f"""{SAID},
    waiting AS (
        SELECT said.thread_id, any_value(thread.source) AS source, any_value(waiting_on) AS waiting_on,
            any_value(thread.url) AS url, max(said.created_at) AS since,
            arg_max(said.author, said.created_at) AS who, arg_max(said.body, said.created_at) AS words
        FROM discussed AS thread
        INNER JOIN feedback.comments AS said ON said.thread_id = thread.thread_id AND (NOT said.is_bot OR said.is_own)
        WHERE waiting_on IS NOT NULL AND NOT said.is_system AND said.kind <> 'repost' GROUP BY said.thread_id
    )
    """
    turns = charts.ask(f"""{WAITING}
    SELECT waiting_on AS person, source, count(*) AS n, count(DISTINCT who) AS "people waiting"
    FROM waiting GROUP BY waiting_on, source
    ORDER BY sum(count(*)) OVER (PARTITION BY waiting_on) DESC, person LIMIT 12
    """, **filters)  # fmt: skip
    waiting = charts.ask(f"""{WAITING}
    SELECT since, who, waiting.waiting_on AS "waits for",
        discussed.source, scope_name, parent_number, title, opening_words, words AS "with these words", waiting.url
    FROM waiting INNER JOIN discussed USING (thread_id) ORDER BY since LIMIT 10
    """, **filters)  # fmt: skip
    longest = charts.table("Who waits longest, for whom", charts.discussions(waiting), "discussion", "Nobody waits.")
    whose = charts.ranked(turns, "person", "Whose turn it is", "open discussions", ("people waiting",))
    charts.beside(whose if turns else "", longest, (1, 1.3))
    return turns, waiting


@app.cell
def _(SAID, filters, charts, mo, numbers):
    mo.stop(not numbers["things said"])
    active = charts.ask(f"""{SAID},
    busiest AS (
        SELECT thread_id, count(*) AS said, count(DISTINCT author) AS people, max(created_at) AS "last"
        FROM said GROUP BY thread_id
    )
    SELECT busiest.said, people, "last", waiting_on AS "whose turn",
        source, scope_name, parent_number, title, opening_words, url
    FROM busiest INNER JOIN discussed USING (thread_id)
    ORDER BY busiest.said DESC, "last" DESC LIMIT 8
    """, **filters)  # fmt: skip
    mo.Html(charts.table("Most active discussions", charts.discussions(active), "discussion"))
    return (active,)


@app.cell
def _(chosen, mo, numbers):
    mo.stop(not numbers["things said"])
    needle = chosen.words("find", 'token rotation, "a phrase", the beginning of a word: tok*')
    needle
    return (needle,)


@app.cell
def _(SAID, filters, charts, mo, needle, numbers, only):
    mo.stop(not numbers["things said"])
    if _words := needle.value.strip():
        found, _none = charts.find(_words, **only)
        _table = charts.table("The best first", found, "discussion", _none)
    else:
        found = charts.ask(f"""{SAID}
        SELECT created_at AS said, source, author AS "by", nullif(scope_name, author) AS "where",
            coalesce(title || ': ', '') || body AS words, url
        FROM said ORDER BY created_at DESC LIMIT 25
        """, **filters)  # fmt: skip
        _table = charts.table("Newest first", found, "words")
    mo.Html(_table)
    return (found,)


if __name__ == "__main__":
    app.run()
