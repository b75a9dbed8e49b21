"""Is the pipeline well? `marimo run notebooks/health.py`, `marimo edit …`, or `python …` for the verdict alone."""

import marimo

app = marimo.App(width="medium", app_title="Earshot: health")


@app.cell
def _():
    import marimo as mo

    from pipelines import charts

    news, clock = charts.clock()
    chosen = charts.Chosen()
    mo.hstack([mo.Html(charts.title("Is the pipeline well?")), clock], widths=[1, 0])
    return chosen, charts, mo, news


@app.cell
def _(charts, news):
    news()  # after every step of a run and every publish, from here on
    control = charts.control()  # control.sqlite itself: always as of now
    held = charts.held()  # as of the last publish
    charts.begin(control)
    return control, held


@app.cell
def _(chosen, control, charts, mo):
    mo.stop(isinstance(control, charts.Nothing))
    EVERY = {"minute": 60, "5 minutes": 300, "hour": 3600, "day": 86_400}
    interval = chosen.pick("a run every", EVERY, first="5 minutes")
    interval
    return EVERY, interval


@app.cell
def _(EVERY, control, held, interval, charts, mo):
    troubles = charts.judge(control, held, EVERY[interval.value])
    told = charts.ledger("""
    SELECT coalesce(max(run_id), 0) AS runs, coalesce(sum(rows_new), 0) AS rows,  -- quiet ones of long ago are folded
        (SELECT coalesce(sum(requests), 0) FROM requests) AS requests,
        (SELECT coalesce(sum(not_modified) * 1.0 / nullif(sum(requests), 0), 0) FROM requests) AS free
    FROM runs
    """)[0]
    running = [run["phase"] or "starting" for run in control.runs if run["status"] == "running"]
    numbers = {
        "runs so far": told["runs"],
        "now": running[0] if running else "at rest",
        "requests": told["requests"],
        "answered 304": f"{told['free']:.0%}",
        "new rows": told["rows"],
        "things to look at": len(troubles),
    }
    SENTENCES = ("to do", "in words")
    verdict = [{"what": each.code, "to do": each.hint, "in words": each.message} for each in troubles]
    mo.vstack(
        [
            charts.numbers("health", numbers),
            mo.Html(charts.table("What is wrong", verdict, "", "Nothing: fresh, whole and quick.", whole=SENTENCES)),
        ],
        gap=1.5,
    )
    return (SENTENCES,)


@app.cell
def _(control, charts, mo):
    mo.stop(isinstance(control, charts.Nothing))
    LAST = """
    WITH last AS (
        SELECT run_id AS run, substr(started_at, 1, 16) AS started, * FROM runs
        WHERE finished_at IS NOT NULL ORDER BY run_id DESC LIMIT 60  -- the run that is not over is left out
    )
    """
    runs = charts.ledger(f"{LAST} SELECT run, started, status AS what, coalesce(seconds, 0) AS n FROM last")
    costs = charts.ledger(f"""{LAST}
    SELECT run, started, 'nothing new (304)' AS what, coalesce(not_modified, 0) AS n FROM last
    UNION ALL SELECT run, started, 'asked and answered', coalesce(requests, 0) - coalesce(not_modified, 0) FROM last
    """)  # fmt: skip
    words = "the last 60 that are over"
    lasted = charts.run_by_run(runs, "How long a run takes", f"seconds; {words}")
    charts.beside(lasted, charts.run_by_run(costs, "What a run asks, and what it is spared", f"requests; {words}"))
    return costs, runs


@app.cell
def _(control, held, charts, mo):
    mo.stop(isinstance(control, charts.Nothing))
    lags = charts.ledger("""
    WITH last AS (
        SELECT source, scope, max(run_id) AS run_id FROM requests WHERE lag_seconds IS NOT NULL GROUP BY source, scope
    )
    SELECT source, scope_name AS scope, round(max(lag_seconds) / 60, 1) AS n
    FROM requests INNER JOIN last USING (source, scope, run_id)
    GROUP BY source, scope ORDER BY n DESC LIMIT 12
    """)
    COMPLETE = """
    SELECT source, scope_name AS "where", count(*) AS counted, sum(remote_count) AS there, sum(held_count) AS here,
        count(*) FILTER (WHERE NOT is_complete AND is_all_that_is_listed IS NOT TRUE) AS incomplete
    FROM ops.completeness GROUP BY source, scope_name ORDER BY incomplete DESC, counted DESC LIMIT 12
    """
    whole = charts.ask(COMPLETE) if held.published else []
    late = charts.ranked(lags, "scope", "How late we heard", "minutes from said to seen, of each place's last news")
    counts = charts.table(
        "Is all of it here? Comments by the source's own counts", whole, otherwise="Nothing was counted yet."
    )
    charts.beside(late if lags else "", counts)
    return lags, whole


@app.cell
def _(SENTENCES, control, charts, mo):
    mo.stop(isinstance(control, charts.Nothing))
    failures = [
        {"where": row["scope_name"], "list": row["surface"], "what": row["code"], "to do": charts.remedy(row),
         "in words": row["message"]}
        for row in control.failures
    ]  # fmt: skip
    mo.Html(charts.table("What fails", failures, "", "Nothing fails.", whole=SENTENCES))
    return (failures,)


if __name__ == "__main__":
    app.run()
