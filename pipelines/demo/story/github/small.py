"""The small pull requests of the ninety days: one remark each, around it the routine that every change goes through."""

from pipelines.demo.story.cast import CI, DEPENDABOT, DOCS, LANTERN
from pipelines.demo.story.github.script import Hunk, Line, Thread, merge, note, pull, push, reply, review, say

__all__ = ["THREADS"]


def checks(when: str, repo: str, number: int) -> Line:
    """What the CI app reports; `number` lets the counts move slowly from one change to the next."""
    if repo == LANTERN:
        passed, coverage = 412 + 4 * number, min(81.4 + number / 10, 96.4)
        report = f"✅ {passed} passed, 3 skipped · coverage {coverage:.1f} % · race detector clean"
    else:
        report = f"✅ built in {36 + number % 7} s · 0 broken links · axe: 0 violations"
    return say(when, CI, report)


def nit(
    number: int, name: str, at: str, opener: Line, author: str, reviewer: str, hunk: Hunk, remark: str, answer: str,
    approval: str, side: str = "RIGHT",
) -> Thread:  # fmt: skip
    """Opened, checked, one remark, answered, pushed, approved, merged."""
    repo = DOCS if hunk.path.startswith(("docs/", "theme/")) else LANTERN
    hours = 1 + number % 5
    return Thread(
        name, at, opener,
        checks("9m", repo, number),
        note(f"{hours}h 12m", reviewer, hunk, remark, "remark", side=side),
        reply(f"{hours}h 40m", author, "remark", answer),
        push("4m", hunk.path),
        review(f"{6 - hours}h 25m", reviewer, "APPROVED", approval),
        merge("7m", reviewer),
    )  # fmt: skip


def smooth(
    number: int, name: str, at: str, repo: str, opener: Line, reviewer: str, approval: str
) -> Thread:  # fmt: skip
    """Opened, checked, approved, merged."""
    return Thread(
        name, at, opener,
        checks("9m", repo, number),
        review(f"{2 + number % 3}h 31m", reviewer, "APPROVED", approval),
        merge("5m", reviewer),
    )  # fmt: skip


def bump(
    number: int, name: str, at: str, repo: str, module: str, old: str, new: str,
    reviewer: str, approval: str,
) -> Thread:  # fmt: skip
    """What dependabot proposes, and what a person says who has read the changelog."""
    text = f"""
        Bumps [{module}](https://{module if "/" in module else "github.com/lantern/" + module}) from {old} to {new}.

        - [Release notes](https://{module if "/" in module else "github.com/lantern/" + module})
        - Compatibility: 97 %

        To be merged once it is approved and the checks are green.
        """
    branch = f"dependabot/{module.rsplit('/')[-1]}-{new}"
    opener = pull(repo, DEPENDABOT, branch, f"Bump {module} from {old} to {new}", text, "dependencies")
    return smooth(number, name, at, repo, opener, reviewer, approval)


THREADS = [
    bump(0, "bump-net", "08-05 04:00", LANTERN, "golang.org/x/net", "0.52.0", "0.53.0", "tomasz-w",
         "HTTP/2 changes only on the server side, read them all. Fine."),
    nit(1, "vary-star", "08-09 09:20",
        pull(LANTERN, "tomasz-w", "fix/vary-star", "Look at each member of Vary",
             "Fixes #{vary}.", "bug"),
        "tomasz-w", "maya", Hunk("internal/cache/vary.go", """
@@ -22,7 +22,9 @@ func cacheable(h http.Header) bool {
-    if h.Get("Vary") == "*" {
-        return false
+    for _, member := range strings.Split(h.Get("Vary"), ",") {
+        if strings.TrimSpace(member) == "*" {
"""), "`h.Get` returns the first `Vary` line only. Two lines are legal: `h.Values`?",
        "They are. `h.Values`, and a test with two lines.", "Three bugs in one header. Typical `Vary`."),
    bump(2, "bump-toml", "08-12 04:00", LANTERN, "github.com/BurntSushi/toml", "1.5.0", "1.6.0", "maya",
         "Better messages for wrong types, we get those for free in `lantern check`. 🎁"),
    smooth(3, "brotli", "08-22 04:30", LANTERN,
           pull(LANTERN, "haruki", "fix/brotli-close", "Close the brotli writer when there is no body",
                "The second half of #{leak}: 4 kB on the C side for every `304` and every `HEAD`.", "bug"),
           "kofi", "Two nodes since five this morning: RSS 212 MB then, 212 MB now."),
    nit(4, "search-dashes", "08-20 08:40",
        pull(DOCS, "ines-r", "fix/search-dashes", "Search: split the query as the index is split",
             "Fixes #{search-swr}."),
        "ines-r", "maya", Hunk("theme/search.js", """
@@ -8,5 +8,5 @@ const index = lunr(function () {
-  const terms = query.toLowerCase();
+  const terms = query.toLowerCase().split(/[-_ ]+/);
"""), "Will `max_upstream` still be found as one word?", """
    Found as two words which must both occur, so yes, and it ranks first.
    """,
        "Tried fifteen settings, found fifteen."),
    bump(5, "bump-mkdocs", "08-26 04:00", DOCS, "mkdocs-material", "9.7.1", "9.7.3", "ines-r",
         "Looked at twelve pages in both modes, nothing moved."),
    nit(6, "purge-sentence", "08-28 10:15",
        pull(DOCS, "benji", "purge-vs-ban", "Say what purge and ban do in one sentence",
             "For #{purge-ban}."),
        "benji", "ines-r", Hunk("docs/purge.md", """
@@ -1,4 +1,6 @@
 # Purge
 
+Purge removes one key now; a ban makes all keys which match invalid, when they are next requested.
"""), """
            Two sentences are easier to read aloud:

            ```suggestion
            **Purge** removes one key, now. A **ban** invalidates every key that matches, the next time it is asked for.
            ```
            """, "Taken! I read both aloud and yours wins 😄", "The page had waited for this sentence for four years."),
    smooth(7, "share-delete", "08-30 18:00", LANTERN,
           pull(LANTERN, "maya", "windows/share-delete", "Windows: open the index with FILE_SHARE_DELETE",
                "For #{windows}, tried by @old-otter on four machines.", "windows"),
           "old-otter", "Renamed, deleted, restored, all while it ran. Works on 10, 11 and both servers."),
    nit(8, "unknown-keys", "09-02 08:30",
        pull(LANTERN, "maya", "fix/unknown-keys", "Config: old names warn, unknown names fail",
             "For #{cache-dir}. Goes into 0.10.1 today."),
        "maya", "ines-r", Hunk("internal/config/keys.go", """
@@ -61,6 +61,12 @@ func (d *decoder) finish() error {
+    for _, key := range d.unknown {
+        return fmt.Errorf("unknown key %q, did you mean %q?", key, nearest(key, known))
+    }
"""), "This reports the first unknown key only. Whoever has five typos has to start five times.",
        "`errors.Join` and all five at once.", """
            Tested with @odile's config. It says exactly what would have saved that morning.
            """),
    smooth(9, "renamed-keys", "09-02 13:00", DOCS,
           pull(DOCS, "ines-r", "upgrade/0.10", "Upgrade page: renamed keys come first",
                "After #{cache-dir}. One table, old and new name."),
           "maya", "First things first, at last."),
    bump(10, "bump-xsync", "09-02 04:00", LANTERN, "golang.org/x/sync", "0.19.0", "0.20.0", "haruki",
         "We use `errgroup` only, which did not change."),
    nit(11, "listener", "09-07 10:30",
        pull(LANTERN, "tomasz-w", "fix/test-listener", "Tests: hand over the open listener",
             "The rest of #{flaky}, as @old-otter suggests.", "flaky"),
        "tomasz-w", "old-otter", Hunk("internal/purge/server_test.go", """
@@ -17,9 +17,6 @@ func startNode(t *testing.T) *Node {
-    l, _ := net.Listen("tcp", "127.0.0.1:0")
-    addr := l.Addr().String()
-    l.Close()
"""), "You also swallowed the error of `Listen` here. On Windows with a firewall that is where it fails first.",
        "`t.Fatal` now. You really do read to the last line.", "Forty runs on four machines, no failure.", side="LEFT"),
    bump(12, "bump-prom", "09-11 04:00", LANTERN, "github.com/prometheus/client_golang", "1.23.2", "1.24.0", "kofi",
         "The native histogram API is stable now. Good timing, see #{buckets}."),
    nit(13, "inline-code", "09-09 08:00",
        pull(DOCS, "ines-r", "theme/contrast", "Dark mode: inline code with 6.1 : 1",
             "For #{contrast}, and a check in CI.", "accessibility"),
        "ines-r", "freja", Hunk("theme/dark.css", """
@@ -31,3 +31,3 @@
 code {
-  color: #6b7280;
+  color: #9ca3af;
"""), "Links inside code inherit this colour and lose their underline. Could they keep it?",
        """
            They could, and do now. Colour alone was never enough, I know.
            """, "Heard from my friend: “no longer a rectangle”."),
    nit(14, "histograms", "09-11 09:50",
        pull(LANTERN, "haruki", "metrics/native", "Metrics: native histograms, and classic buckets up to 60 s",
             "For #{buckets}.", "metrics"),
        "haruki", "kofi", Hunk("internal/metrics/upstream.go", """
@@ -12,5 +12,7 @@ var upstreamSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
-    Buckets: prometheus.DefBuckets,
+    Buckets: []float64{.005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
+    NativeHistogramBucketFactor: 1.1,
"""), "Dropping the 25 ms bucket breaks everybody's dashboards who computes a 25 ms SLO. We do.",
        "Back in. I had counted buckets instead of users.", """
            Our slowest origin is proud of its 41 s, and now everybody can see it.
            """),
    nit(15, "normalise", "09-17 08:15",
        pull(LANTERN, "haruki", "fix/hex-case", "Cache keys: percent-encoding in upper case",
             "For #{urls}. パスそのものは変えません。Paths stay as they are.", "i18n"),
        "haruki", "tomasz-w", Hunk("internal/cache/key.go", """
@@ -40,4 +40,12 @@ func (k *Keys) For(r *http.Request) string {
+    for i := 0; i < len(p)-2; i++ {
+        if p[i] == '%' {
+            p[i+1], p[i+2] = upper(p[i+1]), upper(p[i+2])
"""), "`%zz` is not an escape. Do we leave it alone?", """
    We do now, with a fuzz test: normalising twice must equal normalising once.
    """,
        "The fuzzer ran for an hour and is bored."),
    smooth(16, "soak-job", "09-18 12:10", LANTERN,
           pull(LANTERN, "tomasz-w", "ci/soak", "CI: a nightly soak run with clients that hang up",
                """
                    Six hours, and at the end as many goroutines as at the start. It would
                    have caught #{leak} in 2024.
                    """, "ci"),
           "kofi", "I broke it on purpose (put the early `return` back): red after nine minutes."),
    bump(17, "bump-sqlite", "09-23 04:00", LANTERN, "modernc.org/sqlite", "1.41.0", "1.42.1", "tomasz-w",
         "Index opens, old index opens, fsync behaviour unchanged. I checked the last one twice."),
    smooth(18, "go-125", "09-24 09:30", LANTERN,
           pull(LANTERN, "tomasz-w", "chore/go-1.25", "Require Go 1.25",
                "For #{go-version}. Removes eleven build tags.", "release"),
           "ines-r", "Notes are updated, Debian backports mentioned. −214 lines, my favourite kind."),
    bump(19, "bump-brotli", "10-07 04:00", LANTERN, "github.com/google/brotli", "1.1.0", "1.2.0", "haruki",
         "Checked `Close` first, of course. Still frees everything."),
    nit(20, "joined", "10-05 13:20",
        pull(LANTERN, "haruki", "metrics/joined", "Metrics: count requests which joined a flight",
             "What @tomasz-w wished for in #{single-flight}.", "metrics"),
        "haruki", "tomasz-w", Hunk("internal/cache/flight.go", """
@@ -21,6 +21,7 @@ func (g *Group) Do(ctx context.Context, key string, fetch Fetch) (*Response, err
     if f, ok := g.flights[key]; ok {
         g.mu.Unlock()
+        joined.WithLabelValues(key).Inc()
"""), "A label per key is a metric per URL. Prometheus will not forgive us.",
        """
            No label then: a plain counter. I was thinking of one hot key and forgot about the cold million.
            """, "Now @odile's heartbeat would be one line in a graph."),
    smooth(21, "windows-notes", "10-13 11:00", DOCS,
           pull(DOCS, "ines-r", "windows-notes", "Windows: notes on file sharing modes",
                "Rescued from a branch before it went. For #{farewell}."),
           "maya", "Kept word for word, that is right. Thank you, otter."),
    bump(22, "bump-jieba", "10-14 04:00", DOCS, "jieba", "0.42.1", "0.43.0", "liu-yan",
         "搜索结果没有变化。Same results for forty words."),
    nit(23, "upgrade-1", "10-27 09:45",
        pull(DOCS, "ines-r", "upgrade/1.0", "Upgrade page for 1.0", """
            Breaking changes first, in their own section, each with the line to change.
            """),
        "ines-r", "odile", Hunk("docs/upgrade/1.0.md", """
@@ -0,0 +1,9 @@
+# Upgrade to 1.0
+
+## What breaks
+
+Nothing, if you run 0.10.3 without warnings.
"""), "How do I see that I run without warnings? On forty nodes, without reading forty logs?",
        """
            `lantern check --strict` exits with 1 on any warning. Added as the first step.
            """, "I have nothing to add. It worries me a little."),
]  # fmt: skip
