"""The fortnight after the story's end, so that the first demo runs meet real news in threads they know."""

from pipelines.demo.story_cast import CI, DOCS, LANTERN
from pipelines.demo.story_script import (
    Hunk,
    Thread,
    close,
    delete,
    delete_note,
    dismiss,
    edit,
    edit_note,
    issue,
    merge,
    note,
    pull,
    push,
    reply,
    review,
    say,
)

__all__ = ["THREADS"]

CONFIG = Hunk(
    "internal/config/default.go",
    """
@@ -19,4 +19,6 @@ func Default() Config {
     return Config{
         TTL: time.Minute,
+        // measured on forty nodes, see the issue
+        EarlyRefresh: 0.5,
""",
)

THREADS = [
    Thread(
        "tokens", "11-01 13:05",
        say("", "sanvi", """
            @pete-q No, the purge API has its own token, read at start. A fair wish: would you open an issue?
            """),
        say("2h 10m", "pete-q", "#{purge-rotation}"),
    ),
    Thread(
        "purge-rotation", "11-01 15:02",
        issue(LANTERN, "pete-q", "Rotate the purge token too", "Same as upstream tokens, please. From a file."),
        say("50m", "sanvi", """
            Reasonable. The same watcher can be used. One difference: *we* check this token, so during a rotation we
            should accept both for a while.

            /earshot label priority=medium area=purge
            /earshot assign @sanvi
            """),
        say("17h", "kofi", "Both for a while: how long? We would need ten minutes, our purgers are cron jobs."),
        say("2h", "sanvi", "Then it is a setting, with ten minutes as its default. You are my sample of one."),
        say("5d", "pete-q", "Any news?", "any"),
    ),
    Thread(
        "early", "11-01 17:20",
        reply("", "tomasz-w", "zero", "Yes, exactly. I owed you that answer for ten days, sorry."),
        reply("3h", "maya", "default", "What would *you* put there, @odile? You have the nodes, we have a laptop."),
        reply("17h", "odile", "default", """
            0.5. I have tried 0.2, 0.5, 1 and 2 for a day each. Over 0.5 the
            origin notices, under it the visitors do.
            """),
        note("1h", "haruki", CONFIG, """
            Default as measured by @odile. Or should it stay off until 1.1?
            """, "half", lines=2),
        reply("40m", "ines-r", "half", "Off in 1.0, 0.5 in 1.1. I would like 1.0 to surprise nobody."),
        edit_note("2m", "half", "Default as measured by @odile (0.5). Or should it stay off until 1.1?"),
        push("2h", "internal/config/default.go"),
        review("20h", "tomasz-w", "APPROVED", """
            With a TTL of 1 s nothing bad happens, that was my last doubt. For 1.1.
            """),
    ),
    Thread(
        "checklist", "11-02 08:00",
        say("", "ines-r", "Nothing has caught fire. `v1.0.0` is tagged. 🏮🏮🏮", "tagged"),
        say("4m", "maya", "Three years. Thank you, everybody who is in this thread and everybody who only ran it."),
        say("21m", "odile", "I have found something: the release notes say \"2025\"."),
        say("6m", "ines-r", "Of course you have. Fixed."),
        edit("2m", "tagged", """
            Nothing has caught fire. `v1.0.0` is tagged: https://docs.lantern.example/releases/1.0 🏮🏮🏮
            """),
        say("6h", "benji", "My name is in it!!! 🎉"),
        close("5h"),
        say("21h", "odile", """
            For completeness: forty nodes upgraded. No incident. I do not know what to do with my evening.
            """),
    ),
    Thread(
        "http3", "11-02 19:30",
        say("", "maya", """
            @pete-q Sorry for letting you wait. 1.0 is out, so: it is planned as an option for 1.2, on the basis of the
            sketch. If you can test on your lossy links, that would decide a lot.
            """),
        say("9h", "pete-q", "I can. We have two, both terrible."),
    ),
    Thread(
        "purge-202", "11-03 10:12",
        say("", "tomasz-w", """
            @pete-q `lantern key https://edge.example/news/` prints the key; so does the header `X-Lantern-Key` with
            `debug = true`.
            """),
        say("4h", "pete-q", """
            There is a `?utm_source=…` in it. So that is why. Would this be right?

            ```
            /earshot close
            [keys]
            ignore_query = ["utm_*"]
            ```
            """),
        say("35m", "tomasz-w", "Exactly right (the lines for the config, that is)."),
        close("1m"),
    ),
    Thread(
        "versions", "11-03 16:45",
        say("", "odile", "Search too. The switch alone would only show me *where* I do not find it."),
        say("2h", "ines-r", "Understood: one index per version. I will try it with the last two."),
    ),
    Thread(
        "purge-token-file", "11-04 09:10",
        pull(LANTERN, "sanvi", "feature/purge-token-file", "Rotate the purge token from a file", """
            For #{purge-rotation}. Uses the watcher of #{token-files}. Comparison in constant time, as before.
            """, "security"),
        say("9m", CI, "✅ 503 passed, 3 skipped · coverage 84.1 % (+0.1) · race detector clean", app="lantern-ci"),
        review("3h", "tomasz-w", "CHANGES_REQUESTED", "Short and clear. One thing about clocks inline.", "r"),
        note("2m", "tomasz-w", Hunk("internal/purge/auth.go", """
@@ -15,6 +15,17 @@ func (a *auth) allows(token string) bool {
     if subtle.ConstantTimeCompare(token, a.current) == 1 {
         return true
     }
+    if time.Since(a.changed) < a.grace {
+        return subtle.ConstantTimeCompare(token, a.previous) == 1
"""), """
            After a restart `previous` is empty, and so may be `token`: then this compares "" with "" and lets
            everybody in, for ten minutes. Please refuse an empty token before anything else.
            """, "empty", lines=2, under="r"),
        reply("25m", "sanvi", "empty", """
            That would have been *my* headline. Thank you. Fixed, with the test that I should have begun with.
            """),
        push("3m", "internal/purge/auth.go"),
        note("10m", "kofi", CONFIG, "Wrong tab, sorry!", "oops"),
        delete_note("3m", "oops"),
        review("6h", "tomasz-w", "APPROVED", "A restart in the middle of a rotation is now a test. Good."),
        merge("5m", "maya"),
    ),
    Thread(
        "ci-minutes", "11-05 11:15",
        say("", "tomasz-w", """
            @benji It does, but restores an archive of 14,000 files, which is the
            slow part on Windows. Look at `cache: false` first.
            """),
        say("6h", "benji", "Without the cache it takes 31 s instead of 54. The cache was the slow part 🤯"),
        say("20m", "ines-r", "I did not see that coming. Pull request?"),
    ),
    Thread(
        "cache-off", "11-06 07:30",
        pull(LANTERN, "benji", "ci/no-cache", "CI: do not cache Go on Windows, it is faster without",
             "For #{ci-minutes}. 54 s → 31 s, twenty runs each.", "ci"),
        say("11m", CI, """
            ✅ 503 passed, 3 skipped · coverage 84.1 % (±0.0) · windows job: 104 s (before: 131 s)
            """, app="lantern-ci"),
        review("2h", "ines-r", "APPROVED", """
            Fewer lines and faster. The comment with the measurement should stay for ever.
            """),
        merge("3m", "ines-r"),
    ),
    Thread(
        "glossary", "11-06 12:40",
        say("", "maya", """
            @ines-r Whoever wrote the first page in that language. It is arbitrary, and it ends discussions.
            """),
        say("3h", "liu-yan", "好。那我来决定中文 😄"),
    ),
    Thread(
        "attempts", "11-08 18:25",
        issue(LANTERN, "kofi", """
            1.0: `lantern_upstream_seconds` counts requests twice when they are repeated after a 401
            """, """
            During a rotation the metric shows 2 × the requests for a second. The repeated one goes through the same
            counter. Harmless, but my alert did not think so.
            """, "bug", "metrics"),
        say("1h 20m", "haruki", "Which number would you expect: one request, or two with a label `attempt`?"),
        say("30m", "kofi", "Two with a label. Hiding the first would be lying."),
        say("9h", "sanvi", "Seconded. A wave of 401s is something I would want to *see*."),
        say("2d", "haruki", "Done in main, with `attempt=\"1\"` and `attempt=\"2\"`."),
        close("4m"),
    ),
    Thread(
        "versioned-search", "11-10 09:00",
        pull(DOCS, "ines-r", "search/versions", "Search: one index for each of the last two versions",
             "For #{versions}.", draft=True),
        say("7m", CI, "✅ built in 58 s (+17 s) · 0 broken links · axe: 0 violations", app="lantern-ci"),
        note("4h", "freja", Hunk("theme/partials/search.html", """
@@ -4,3 +4,7 @@
 <form role="search">
+  <select name="version">
+    <option>1.0</option>
+    <option>0.10</option>
+  </select>
"""), "A `select` without a label: I hear “combo box, 1.0”. Of what?", "label", lines=4),
        reply("1h", "ines-r", "label", "`aria-label=\"Version of the manual\"`. You are faster than axe."),
        review("20m", "freja", "APPROVED", "With the label it is fine."),
        say("1d", "odile", """
            It finds `cache_dir` in 0.9 and `storage.path` in 1.0. I have waited for this since September.
            """, "finds"),
        merge("2h", "ines-r"),
    ),
    Thread(
        "leak", "11-12 06:50",
        say("", "odile", "RSS on node 17 is at 390 MB.", "scare"),
        say("22m", "kofi", "Heap profile, please! 😨"),
        delete("9m", "scare"),
        say("4m", "odile", """
            Withdrawn. That was another process on the same node. I had read the
            wrong line. It happens to everybody once.
            """),
        say("1h", "maya", "Once. 😌"),
    ),
    Thread(
        "jitter", "11-13 08:20",
        pull(LANTERN, "haruki", "cache/ttl-jitter", "Spread expiry: ±5 % on every TTL", """
            Forty nodes started by the same deploy expire together. A little noise
            on the TTL and they do not. Off for `max-age=0`.
            """, "cache"),
        say("9m", CI, "✅ 511 passed, 3 skipped · coverage 84.3 % (+0.2) · race detector clean", app="lantern-ci"),
        review("1h", "maya", "APPROVED", "Simple. I like it.", "quick"),
        review("3h", "tomasz-w", "CHANGES_REQUESTED", """
            +5 % means serving a response for longer than the origin allowed. Only ever shorter, please: 0 to −5 %.
            """),
        dismiss("8m", "quick"),
        push("1d", "internal/cache/ttl.go"),
        review("2h", "tomasz-w", "APPROVED", "Never longer than promised. Good."),
        review("1h", "maya", "APPROVED", "Slower this time, and still good."),
        merge("5m", "maya"),
    ),
]  # fmt: skip
