"""Where do reviews hurt? `marimo run notebooks/reviews.py`, `marimo edit …`, or `python …` for the numbers alone."""

import marimo

app = marimo.App(width="medium", app_title="Earshot: reviews")


@app.cell
def _():
    import marimo as mo

    from pipelines import charts

    news, clock = charts.clock()
    chosen = charts.Chosen()
    mo.hstack([mo.Html(charts.title("Where reviews hurt")), clock], widths=[1, 0])
    return chosen, charts, mo, news


@app.cell
def _(charts, news):
    news()  # after every publish, from here on
    bounds = charts.bounds("staging.resolutions")
    charts.begin(bounds)
    return (bounds,)


@app.cell
def _(bounds, chosen, charts, mo):
    mo.stop(isinstance(bounds, charts.Nothing))
    places = charts.ask("SELECT scope_name FROM feedback.diff_notes GROUP BY 1 ORDER BY count(*) DESC LIMIT 500")
    scope = chosen.pick("place", [row["scope_name"] for row in places], "all")
    span = chosen.pick("period", charts.PERIODS, first="6 months")
    bots = chosen.bots()
    mo.hstack([scope, span, bots], justify="start", gap=1.5, wrap=True)
    return bots, scope, span


@app.cell
def _(bots, bounds, charts, scope, span):
    _since = charts.period(bounds, span.value).since
    filters = {"since": _since, "scope": scope.value, "until": bounds.until, "bots": bots.value}
    # GitHub does not tell when a thread was resolved: it was when we saw it, at the latest; what was resolved before we
    # looked has no time. On either forge nothing is open on what was merged or closed
    REVIEWS = """
    WITH hidden AS (SELECT DISTINCT author FROM feedback.comments WHERE is_bot AND author IS NOT NULL AND NOT $bots),
    notes AS (
        SELECT * FROM feedback.diff_notes
        WHERE created_at >= $since AND created_at <= $until AND ($scope IS NULL OR scope_name = $scope)
            AND coalesce(author, '') NOT IN (SELECT author FROM hidden)
    ),
    answers AS (
        SELECT thread.thread_id, min(said.created_at) AS answered_at
        FROM feedback.threads AS thread
        INNER JOIN feedback.comments AS said ON said.thread_id = thread.thread_id AND said.author <> thread.opener
        WHERE thread.is_resolvable AND NOT said.is_bot AND NOT said.is_system
        GROUP BY thread.thread_id
    ),
    threads AS (
        SELECT thread.*, parent.title, answered_at, parent.state = 'open' AS is_parent_open,
            least(coalesce(resolved_at, seen_resolved_at), parent.merged_at, parent.closed_at) AS settled_at
        FROM feedback.threads AS thread
        LEFT JOIN answers ON answers.thread_id = thread.thread_id
        LEFT JOIN feedback.parents AS parent ON parent.parent_key = thread.parent_key
        WHERE thread.is_resolvable AND thread.opened_at >= $since AND ($scope IS NULL OR thread.scope_name = $scope)
            AND coalesce(opener, '') NOT IN (SELECT author FROM hidden)
    )
    """
    WAS_OPEN = (  # not said on what was closed already, nor settled nobody knows when
        "coalesce(settled_at >= opened_at, NOT coalesce(is_resolved, false))"
    )
    numbers = charts.ask(f"""{REVIEWS}
    SELECT
        count(*) AS "review threads", (SELECT count(*) FROM notes) AS "notes on diffs",
        count(*) FILTER (is_parent_open AND is_resolved IS NOT TRUE) AS "still open",
        quantile_disc(coalesce(epoch(answered_at) - epoch(opened_at), 'infinity'), 0.5) AS answered,
        quantile_disc(coalesce(epoch(settled_at) - epoch(opened_at), 'infinity'), 0.5) FILTER ({WAS_OPEN}) AS settled
    FROM threads
    """, **filters)[0]  # fmt: skip
    return REVIEWS, WAS_OPEN, filters, numbers


@app.cell
def _(charts, numbers):
    times = {f"half are {name} in": charts.length(numbers[name]) for name in ("answered", "settled")}
    counts = {name: numbers[name] for name in ("review threads", "notes on diffs", "still open")}
    charts.numbers("reviews", {**counts, **times}, "Widen the filters.")
    return


@app.cell
def _(REVIEWS, filters, charts, mo, numbers):
    mo.stop(not numbers["review threads"])
    RANKED = """
    SELECT {0} AS name, source, count(*) AS n, count(DISTINCT author) AS people, count(DISTINCT thread_id) AS threads
    FROM notes GROUP BY name, source ORDER BY n DESC, name LIMIT 12
    """
    files = charts.ask(REVIEWS + RANKED.format("path"), **filters)
    folders = charts.ask(REVIEWS + RANKED.format("coalesce(nullif(parse_dirpath(path), ''), '.')"), **filters)
    about = {"words": "notes on their diffs", "also": ("people", "threads")}
    charts.beside(
        charts.ranked(folders, "name", "Directories", **about), charts.ranked(files, "name", "Files", **about)
    )
    return files, folders


@app.cell
def _(REVIEWS, WAS_OPEN, filters, charts, mo, numbers):
    mo.stop(not numbers["review threads"])

    def lengths(until, where="true"):
        return charts.ask(f"""{REVIEWS}
        SELECT {charts.length_of(f"epoch({until}) - epoch(opened_at)")} AS length, source, count(*) AS n
        FROM threads WHERE {where} GROUP BY ALL
        """, **filters)  # fmt: skip

    answered, settled = lengths("answered_at"), lengths("settled_at", WAS_OPEN)
    first = charts.spread(answered, "Until the first answer", "share of each forge's review threads")
    words = "resolved (as GitLab tells, or when a run saw it), or the change merged or closed"
    charts.beside(first, charts.spread(settled, "Until it was settled", words))
    return answered, settled


@app.cell
def _(REVIEWS, filters, charts, mo, numbers):
    mo.stop(not numbers["review threads"])
    ages = charts.ask(f"""{REVIEWS}
    SELECT {charts.length_of("epoch($until) - epoch(last_at)")} AS length, source, count(*) AS n
    FROM threads WHERE waiting_on IS NOT NULL GROUP BY ALL
    """, **filters)  # fmt: skip
    oldest = charts.ask(f"""{REVIEWS}
    SELECT last_at AS since, waiting_on AS "whose turn",
        source, scope_name, parent_number, title, opening_words, last_words AS "said last", url
    FROM threads WHERE waiting_on IS NOT NULL ORDER BY last_at LIMIT 7
    """, **filters)  # fmt: skip
    age = charts.spread(ages, "Unresolved, by age", "share of each forge's open threads, since the last word")
    longest = charts.table("Open longest", charts.discussions(oldest), "discussion", "Nothing is open.")
    charts.beside(age if ages else "", longest)
    return ages, oldest


@app.cell
def _(REVIEWS, filters, charts, mo, numbers):
    mo.stop(not numbers["review threads"])
    load = charts.ask(f"""{REVIEWS}
    SELECT said.author AS person, said.source, count(*) AS n, count(DISTINCT said.parent_key) AS changes
    FROM feedback.comments AS said
    INNER JOIN feedback.parents AS parent ON parent.parent_key = said.parent_key AND parent.author <> said.author
    WHERE said.created_at >= $since AND ($scope IS NULL OR said.scope_name = $scope) AND NOT said.is_bot
        AND said.parent_kind <> 'issue' AND NOT said.is_system
    GROUP BY said.author, said.source ORDER BY sum(count(*)) OVER (PARTITION BY said.author) DESC, person LIMIT 16
    """, **filters)  # fmt: skip
    charts.ranked(load, "person", "Who reviews", "what each person said on the changes of others", ("changes",))
    return (load,)


if __name__ == "__main__":
    app.run()
