"""The main threads of lantern/lantern, in the order in which they were opened."""

from pipelines.demo.story.cast import CI, LANTERN
from pipelines.demo.story.github.script import (
    Hunk,
    Thread,
    close,
    delete,
    delete_note,
    delete_opener,
    dismiss,
    edit,
    edit_note,
    edit_opener,
    edit_review,
    issue,
    label,
    leave,
    merge,
    note,
    pull,
    push,
    reopen,
    reply,
    review,
    say,
)

__all__ = ["THREADS"]

FLIGHT = Hunk(
    "internal/cache/flight.go",
    """
@@ -0,0 +1,64 @@
+package cache
+
+// flight is one fetch that several requests wait for.
+type flight struct {
+    done chan struct{}
+    resp *Response
+    err  error
+}
+
+// Do calls fetch once per key, however many callers ask at the same time.
+func (g *Group) Do(key string, fetch func() (*Response, error)) (*Response, error) {
+    g.mu.Lock()
+    if f, ok := g.flights[key]; ok {
+        g.mu.Unlock()
+        <-f.done
+        return f.resp, f.err
+    }
""",
)
FLIGHT_END = Hunk(
    "internal/cache/flight.go",
    FLIGHT.diff.rstrip("\n")
    + """
+    f := &flight{done: make(chan struct{})}
+    g.flights[key] = f
+    g.mu.Unlock()
+
+    f.resp, f.err = fetch()
+    close(f.done)
+
+    g.mu.Lock()
+    delete(g.flights, key)
+    g.mu.Unlock()
""",
)
HANDLER = Hunk(
    "internal/proxy/handler.go",
    """
@@ -88,14 +88,19 @@ func (h *Handler) serveMiss(w http.ResponseWriter, r *http.Request) {
     key := h.keys.For(r)
-    resp, err := h.upstream.RoundTrip(r)
""",
)
FLIGHT_TEST = Hunk(
    "internal/cache/flight_test.go",
    """
@@ -0,0 +1,41 @@
+package cache
+
+func TestGroupFetchesOnce(t *testing.T) {
+    var calls atomic.Int32
+    g := NewGroup()
+    for range 50 {
+        go g.Do("k", func() (*Response, error) {
+            calls.Add(1)
+            time.Sleep(20 * time.Millisecond)
""",
)
BODY = Hunk(
    "internal/proxy/stream.go",
    """
@@ -41,11 +41,16 @@ func (s *streamer) copy(dst http.ResponseWriter, src *http.Response) error {
     buf := s.pool.Get().([]byte)
     defer s.pool.Put(buf)
 
-    _, err := io.CopyBuffer(dst, src.Body, buf)
-    if err != nil {
-        return err // the client went away
-    }
-    return src.Body.Close()
+    defer src.Body.Close()
+    if _, err := io.CopyBuffer(dst, src.Body, buf); err != nil {
+        return err // the client went away
+    }
""",
)
TOKEN_FILE = Hunk(
    "internal/upstream/token.go",
    """
@@ -12,6 +12,38 @@ type Token struct {
     value string
 }
 
+// watch rereads the file when its modification time moves.
+func (t *Token) watch(path string, every time.Duration) {
+    for range time.Tick(every) {
+        b, err := os.ReadFile(path)
+        if err != nil {
+            log.Printf("token %s: %v", path, err)
+            continue
+        }
+        t.value = string(b)
+    }
+}
""",
)
TOKEN_RETRY = Hunk(
    "internal/upstream/transport.go",
    """
@@ -57,8 +57,15 @@ func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
     resp, err := t.next.RoundTrip(r)
+    if resp != nil && resp.StatusCode == http.StatusUnauthorized {
+        // the old token may just have been revoked: once more with the new one
+        t.token.Reload()
+        return t.next.RoundTrip(t.authorized(r))
+    }
""",
)
TOKEN_OLD = Hunk(
    "internal/upstream/transport.go",
    """
@@ -21,9 +21,7 @@ func newTransport(cfg Config) *transport {
     return &transport{
         next: http.DefaultTransport,
-        // TODO: rotate
-        token: os.Getenv("LANTERN_UPSTREAM_TOKEN"),
""",
)
CONFIG_ERROR = Hunk(
    "cmd/lantern/check.go",
    """
@@ -30,7 +30,13 @@ func check(path string) error {
     cfg, err := config.Parse(f)
     if err != nil {
-        return fmt.Errorf("config invalid")
+        var syntax *config.SyntaxError
+        if errors.As(err, &syntax) {
+            return fmt.Errorf("Error in line %d of your config: %v!", syntax.Line, err)
+        }
+        return fmt.Errorf("config invalid: " + err.Error())
""",
)
CONFIG_TEST = Hunk(
    "cmd/lantern/check_test.go",
    """
@@ -0,0 +1,22 @@
+package main
+
+func TestCheckNamesTheLine(t *testing.T) {
+    err := check("testdata/bad.toml")
+    if !strings.Contains(err.Error(), "line 7") {
+        t.Fatal(err)
""",
)
PURGE_TEST = Hunk(
    "internal/purge/fanout_test.go",
    """
@@ -52,10 +52,12 @@ func TestPurgeFanout(t *testing.T) {
     bus.Publish(Purge{Key: "/a"})
-    time.Sleep(50 * time.Millisecond)
""",
)
PURGE_FIX = Hunk(
    "internal/purge/fanout.go",
    """
@@ -33,7 +33,9 @@ func (b *Bus) Publish(p Purge) {
     for _, s := range b.subscribers {
-        go s.deliver(p)
+        b.pending.Add(1)
+        go func() { defer b.pending.Done(); s.deliver(p) }()
""",
)
ESCAPE = Hunk(
    "internal/accesslog/format.go",
    """
@@ -19,6 +19,19 @@ func (f *formatter) field(b *bytes.Buffer, s string) {
     b.WriteByte('"')
-    b.WriteString(s)
+    for _, r := range s {
+        if r < 0x20 || r == 0x7f {
+            fmt.Fprintf(b, `\\x%02x`, r)
+            continue
+        }
+        b.WriteRune(r)
+    }
""",
)
RANGE = Hunk(
    "internal/cache/range.go",
    """
@@ -14,6 +14,11 @@ func sliceable(e *Entry, r *http.Request) bool {
+    // A range counts bytes of the representation that was sent (RFC 9110, 14.2)
+    if e.Header.Get("Content-Encoding") != negotiate(r) {
+        return false
+    }
""",
)
XFETCH = Hunk(
    "internal/cache/refresh.go",
    """
@@ -0,0 +1,29 @@
+package cache
+
+// early tells whether this request should refresh the entry before it expires.
+func (e *Entry) early(now time.Time, beta float64) bool {
+    gap := e.fetchTook.Seconds() * beta * -math.Log(rand.Float64())
+    return now.Add(time.Duration(gap) * time.Second).After(e.expires)
""",
)
HTTP3 = Hunk(
    "internal/upstream/quic.go",
    """
@@ -0,0 +1,118 @@
+package upstream
+
+import "github.com/quic-go/quic-go/http3"
+
+func newQUIC(cfg Config) http.RoundTripper {
+    return &http3.Transport{TLSClientConfig: cfg.TLS}
""",
)

THREADS = [
    Thread(
        "checklist", "08-03 08:10",
        issue(LANTERN, "ines-r", "Release 1.0: checklist", """
            What has to be true before we tag 1.0. I keep this list current, discussion goes into the linked issues.

            - [ ] no thundering herd on expiry
            - [ ] memory is flat over a week
            - [ ] upstream tokens rotate without a restart
            - [ ] the access log is safe to read in a terminal
            - [ ] every code sample of the manual works with a keyboard and a screen reader

            Target: ninety days from now.
            """, "release"),
        say("2h 5m", "maya", "Love the list. Can we keep it at five? Everything else is 1.1."),
        say("1h 20m", "tomasz-w", """
            Agreed, with one condition: `main` stays green for seven days before the tag. A release that starts with
            "rerun the flaky job" is not one.
            """),
        say("9d 1h", CI, """
            **Weekly report** · 2026-08-12

            | suite | runs | failed |
            |---|---|---|
            | unit | 61 | 2 |
            | race | 61 | 3 |
            | soak (6 h) | 7 | 0 |

            All failures are `TestPurgeFanout`.
            """),
        say("14d", "ines-r", """
            Week 4: the herd (#{stampede}) and the log (#{escape}) are done, tokens (#{tokens}) are on `main`, the leak
            (#{leak}) has lost its second suspect. Nobody has touched the docs yet.
            """),
        say("33d 4h", "ines-r", """
            /earshot label priority=high
            /earshot milestone 1.0
            /earshot assign @tomasz-w @maya

            Five weeks left, four of five done. The open one is the manual.
            """),
        say("18d", "maya", "The code tabs landed. That was the fifth ✅ Shall we?"),
        say("40m", "ines-r", "After the soak run. Seven green days end on Friday, then I tag.", "tag"),
        say("6d 20h", "ines-r", "Tagged `v1.0.0-rc.1`. If nothing catches fire by Monday it becomes 1.0. 🏮"),
        say("3h", "odile", "I will find something."),
    ),
    Thread(
        "stampede", "08-04 06:52",
        issue(LANTERN, "odile", "Thundering herd: 2,300 identical upstream requests when one hot key expires", """
            Our front page has a TTL of 60 s. Every 60 s the origin gets between 1,800 and 2,300 requests for the
            same URL within 200 ms, then silence. The origin team calls it "the heartbeat". I call it a bug.

            lantern 0.9.2, 40 nodes, about 12k req/s each. Config: nothing special.

            ```
            06:41:00.013 MISS / upstream=184ms
            06:41:00.013 MISS / upstream=191ms
            06:41:00.014 MISS / upstream=190ms
            … 2,311 lines …
            ```

            I was under the impression that a *cache* is supposed to prevent this.
            """, "bug"),
        say("1h 31m", "maya", """
            That is a fair description of a cache stampede, and yes, it is ours to fix. Thank you for the log.

            /earshot label priority=high area=cache
            /earshot assign @tomasz-w

            Two questions so that we fix the right thing: does the origin send `stale-while-revalidate`? And is it
            one key or many at the same second?
            """, "triage"),
        say("26m", "odile", """
            > does the origin send `stale-while-revalidate`?

            No, and I cannot make them. One key matters, about 30 others do it politely.
            """),
        say("3h 44m", "tomasz-w", """
            There are three different cures and people mix them up, so let me name them:

            1. **Collapse**: one fetch per key at a time, the others wait for it. That is what
               [singleflight](https://pkg.go.dev/golang.org/x/sync/singleflight) does.
            2. **Serve stale** while one request refreshes: [RFC 5861](https://www.rfc-editor.org/rfc/rfc5861).
            3. **Refresh early**, with a probability that grows towards expiry:
               [Vattani, Chierichetti, Lowenstein](https://cseweb.ucsd.edu/~avattani/papers/cache_stampede.pdf).

            1 is the floor and needs no setting. 2 and 3 are policy. I would do 1 for 1.0 and leave 3 for afterwards.
            """, "plan"),
        say("9h 12m", "haruki", """
            I measured 1 on a laptop: 50 clients, one key, origin sleeps 200 ms.

            | | upstream requests | p99 |
            |---|---|---|
            | 0.9.2 | 50 | 214 ms |
            | collapsed | 1 | 209 ms |

            The waiting requests lose nothing, since they would have waited for the origin anyway. I can open a pull
            request this week.
            """),
        say("40m", "maya", "Please do! 🙌 Smallest thing that works, then we argue about it in review."),
        say("1d 2h", "sanvi", """
            One thing to keep in mind with collapsing: everybody who waits gets *the same* response. If the key does not
            contain what makes responses private (cookie, `Authorization`), collapsing hands one visitor's page to
            another. Today that bug would need a cacheable response; with collapsing it needs only bad timing.
            """, "private"),
        say("1h 8m", "tomasz-w", """
            Correct, and it is the best argument for not collapsing before we know that the response may be shared.
            RFC 9111 section 4 has the wording: https://www.rfc-editor.org/rfc/rfc9111.html#section-4
            """),
        edit("11m", "plan", """
            There are three different cures and people mix them up, so let me name them:

            1. **Collapse**: one fetch per key at a time, the others wait for it. That is what
               [singleflight](https://pkg.go.dev/golang.org/x/sync/singleflight) does. *Only for responses that may be
               shared, see @sanvi below.*
            2. **Serve stale** while one request refreshes: [RFC 5861](https://www.rfc-editor.org/rfc/rfc5861).
            3. **Refresh early**, with a probability that grows towards expiry:
               [Vattani, Chierichetti, Lowenstein](https://cseweb.ucsd.edu/~avattani/papers/cache_stampede.pdf).

            1 is the floor and needs no setting. 2 and 3 are policy. I would do 1 for 1.0 and leave 3 for afterwards.
            """),
        say("6d 5h", "pete-q", "Any update?"),
        say("2h", "haruki", "#{single-flight} is in review. The hard part was not the code."),
        say("16d", "odile", """
            Ran the nightly on four nodes for three days. Upstream requests for `/` went from 2,300 to 4 per minute, one
            for each node. The origin team asked whether we had an outage.

            So: it works. I have no further complaints *on this topic*.
            """),
        say("22m", "maya", "I am going to print that and put it on the wall."),
        close("2d 3h"),
        say("15d 7h", "kofi", """
          For people who find this later: we wrote up our before and after, with graphs:
          https://blog.harbour-gazette.example/2026/09/one-request-per-minute
            """),
        say("28d 2h", "haruki", """
            きれいなグラフですね。ありがとう! I saw these graphs only today, thank you. The next step is #{early}.
            """),
    ),
    Thread(
        "vary", "08-04 15:20",
        issue(LANTERN, "pete-q", "`Vary: *` is cached?", "Seems to be. Should it?"),
        say("55m", "tomasz-w", """
            It should not. `Vary: *` means that no request can ever match
            (https://www.rfc-editor.org/rfc/rfc9111.html#section-4.1). Can you show me the response headers?
            """),
        say("1d 3h", "pete-q", """
            ```
            HTTP/1.1 200 OK
            Cache-Control: max-age=300
            Vary: Accept-Encoding, *
            ```
            """),
        say("2h", "tomasz-w", """
            There: we compare the whole value with `*` instead of looking at each member. Good catch.
            """),
        label("1m", "bug", "good first issue"),
        close("4d"),
    ),
    Thread(
        "check", "08-05 09:30",
        issue(LANTERN, "maya", "`lantern check` should say which line of the config is wrong", """
            Today:

            ```
            $ lantern check lantern.toml
            config invalid
            ```

            That is not help, that is a verdict. The parser knows the line. Good for a first contribution: one file, one
            test, and we are glad to answer questions.
            """, "good first issue", "cli"),
        say("1d 8h", "benji", """
            Hi! 👋 I have never contributed to anything before. Is this still free? I read `cmd/lantern/check.go` and I
            *think* I understand it.
            """),
        say("1h 15m", "maya", """
            It is yours, welcome! 🏮 To try your change: `go run ./cmd/lantern check testdata/bad.toml`.

            If you like, you can claim it with the bot. Writing this claims nothing, since it stands in a fence:

            ```
            /earshot assign @benji
            ```
            """),
        say("20m", "benji", "/earshot assign @benji"),
        say("5m", "benji", "It worked!! 🎉🎉"),
        close("6d 12h"),
    ),
    Thread(
        "spam", "08-06 02:14",
        issue(LANTERN, "seo-rocket-88", "BEST proxy 2026 100% free backlinks", """
            Visit our site for the best **proxy list**, limited offer: https://proxy-rocket.example/?ref=88
            """),
        delete_opener("5h"),
    ),
    Thread(
        "single-flight", "08-07 10:05",
        pull(LANTERN, "haruki", "feature/single-flight", "Collapse concurrent misses for one key", """
            Part one of #{stampede}. When several requests miss the same key, one of them fetches and the others wait.

            Not `x/sync/singleflight`, because a waiting request must be able to give up when *its* client goes away.
            Benchmark (M2, 50 clients, origin 200 ms):

            ```
            name          old          new
            UpstreamReqs  50.0 ± 0%    1.0 ± 0%
            P99           214ms ± 2%   209ms ± 1%
            ```
            """, "cache"),
        say("9m", CI, "✅ 412 passed, 3 skipped · coverage 81.4 % (+0.2) · race detector clean"),
        review("4h 20m", "tomasz-w", "CHANGES_REQUESTED", """
            The idea is right and the file is short, which I like. Three things block me: a panic in `fetch` hangs
            everybody for ever, a waiting client cannot leave, and private responses are collapsed. Details inline.
            """, "first"),
        note("1m", "tomasz-w", FLIGHT, """
            This waits without looking at the request's context. If the client hangs up we keep a goroutine until the
            origin answers. Pass the context and select on both:

            ```suggestion
                    g.mu.Unlock()
                    select {
                    case <-f.done:
                        return f.resp, f.err
                    case <-ctx.Done():
                        return nil, ctx.Err()
                    }
            ```
            """, "context", lines=3, under="first"),
        note("2m", "tomasz-w", FLIGHT_END, """
            If `fetch` panics, `done` is never closed and every later request for this key waits for ever. `close` and
            `delete` belong into a `defer`, in the right order: delete first, then close. Otherwise a request
            between the two joins a flight that has already landed.
            """, "panic", lines=6, under="first"),
        note("3m", "tomasz-w", HANDLER, """
            This line was the only place that copied `r.Context()` into the upstream request. What does it now?
            """, "removed", side="LEFT", under="first"),
        note("2m", "tomasz-w", FLIGHT_TEST, """
            A sleep in a test is a bet. Since 1.25 there is [testing/synctest](https://go.dev/blog/synctest), where
            time only moves when everybody waits.
            """, "sleep", under="first"),
        reply("5h 2m", "haruki", "context", """
            You are right. I had thought that the upstream timeout was enough, it is not.
            """),
        reply("4m", "haruki", "panic", """
            なるほど。 I wrote the `defer` version first and then "simplified" it. Will restore.
            """),
        reply("6m", "haruki", "removed", "Nothing. Good eye, that is a bug. Fixed in the next push, with a test."),
        reply("14m", "tomasz-w", "removed", "Thank you. It was the `-` side of the diff that gave it away."),
        reply("2m", "haruki", "sleep", "TIL. Does CI run 1.25 already?"),
        reply("7m", "tomasz-w", "sleep", "Since June."),
        review("13h", "sanvi", "COMMENTED", """
            From the security side only: collapse must not happen before we know that the response may be shared. I
            would accept either of two rules.

            1. Collapse only requests without `Cookie` and `Authorization`.
            2. Collapse, but let the waiting requests go on their own when the answer turns out to be `private`.

            2 is nicer for the origin, 1 is easier to get right.
            """, "security"),
        say("3h", "haruki", """
            > 1. Collapse only requests without `Cookie` and `Authorization`.

            That would be nearly nobody, most visitors have a consent cookie. I will try 2: the flight carries a
            flag, and the waiting ones take off again if it says private.
            """),
        push("1d 4h", "internal/cache/flight.go", "internal/cache/flight_test.go"),
        say("8m", CI, """
            ❌ 1 failed, 414 passed, 3 skipped · `TestPurgeFanout` (known flake, retried: ✅)
            """),
        say("4m", "haruki", """
            Pushed: context, `defer`, shared-only. The test uses synctest now and takes 0.00 s instead of 0.4.
            """, "pushed"),
        edit("3m", "pushed", """
            Pushed: context, `defer`, shared-only, and the upstream context that I had dropped. The test uses
            synctest now and takes 0.00 s instead of 0.4.
            """),
        reply("1h", "tomasz-w", "panic", "Delete, then close, both deferred. 👍"),
        note("5m", "tomasz-w", Hunk("internal/cache/flight.go", """
@@ -0,0 +1,81 @@
+package cache
+
+// flight is one fetch that several requests wait for.
+type flight struct {
+    done   chan struct{}
+    resp   *Response
+    err    error
+    shared bool // may everybody who waits have it?
"""), """
            Small: a name that answers a question wants to sound like one.

            ```suggestion
                isShared bool // may everybody who waits have it?
            ```
            """, "name"),
        reply("30m", "haruki", "name", "ok"),
        note("20m", "kofi", HANDLER, "Oops, wrong pull request, sorry.", "oops", side="LEFT"),
        delete_note("4m", "oops"),
        review("2h", "maya", "APPROVED", "Reads like a story now. Lovely.", "maya-first"),
        push("16h", "internal/cache/flight.go"),
        say("7m", CI, "✅ 418 passed, 3 skipped · coverage 81.9 % (+0.7) · race detector clean"),
        note("1h", "sanvi", Hunk("internal/cache/flight.go", """
@@ -0,0 +1,88 @@
+package cache
+
+func shareable(r *http.Response) bool {
+    return !strings.Contains(r.Header.Get("Cache-Control"), "private")
"""), """
            `Cache-Control: max-age=60` + `Set-Cookie` passes this. So does `no-store`. There is already
            `policy.Shareable(resp)` which gets all of it right: please call that one instead.
            """, "policy"),
        reply("25m", "haruki", "policy", "I did not know it. Much better."),
        dismiss("12m", "maya-first"),
        say("1m", "maya", """
            Dismissed my own approval: I had not seen what @sanvi saw. Looking again after the next push.
            """),
        push("5h", "internal/cache/flight.go"),
        reply("40m", "sanvi", "policy", "Thank you. Nothing left from my side."),
        review("15m", "tomasz-w", "APPROVED", """
            All three points are done, and each has a test that fails without it. I tried.

            One thought for later, not for this change: we could export how many requests joined a flight. It would
            have made the first report much shorter.
            """),
        review("1h", "maya", "APPROVED", "Now with my glasses on. 🏮"),
        merge("6m", "maya"),
        say("3d", "odile", "Which release is this in?"),
        say("2h", "ines-r", "0.10.0, on 1 September. The nightly image has it today."),
    ),
    Thread(
        "leak", "08-10 07:40",
        issue(LANTERN, "kofi", "Memory grows by about 90 MB a day until the node is killed", """
            0.9.2 on Debian 13, 8 GB, cache on disk. RSS after a restart is 210 MB, after a week 840 MB, then the
            OOM killer has an opinion. Heap profile says 160 MB in use, so it is not the Go heap alone.

            ```
            goroutine profile: total 31877
            31210 @ 0x43a8ce 0x44b0d6 0x6f1a25 0x6f1a0c
            #   net/http.(*persistConn).readLoop+0x...
            ```

            31 thousand goroutines on a node that serves 900 clients. They look like connections nobody closed.
            """, "bug"),
        say("1h 2m", "tomasz-w", """
            Goroutines that never end are better than a mystery. Which traffic? Anything with big bodies?
            """),
        say("50m", "kofi", """
            Mostly images, some video. Growth follows traffic: flat at night, steep at noon.

            I can run anything you want on one node. 👷
            """),
        say("22m", "tomasz-w", """
            Then please:

            1. `curl -s localhost:6060/debug/pprof/goroutine?debug=2 | grep -c readLoop`, every five minutes
            2. the number of clients that hang up early (`499` in the access log), every five minutes

            If 1 grows as fast as 2 sums up, we have it.
            """),
        say("1d 5h", "kofi", """
            | hour | 499s, summed | readLoops |
            |---|---|---|
            | 08 | 1,204 | 1,260 |
            | 10 | 3,377 | 3,391 |
            | 12 | 6,920 | 6,944 |
            | 14 | 9,015 | 9,102 |

            That is not a correlation, that is the same number.
            """, "table"),
        say("14m", "maya", "What a beautiful table. Terrible, but beautiful."),
        say("40m", "tomasz-w", """
            So: a client hangs up, we stop copying, and nobody closes the upstream body. In `stream.go` the `Close`
            stands after the `return err`. It has been there since 0.3.

            @kofi, would you like to fix it? You have earned it.

            /earshot label priority=high area=proxy
            """),
        say("3h", "kofi", "With pleasure: #{body-leak}"),
        say("2d", "odile", """
            Since 0.3. *Two years.* I have had a cron job that restarts these nodes
            every Sunday for two years and I thought it was us.
            """),
        say("1h 30m", "maya", "I am sorry, @odile. It was us. Please keep the cron job one more week."),
        say("7d 2h", "kofi", """
            After the fix: goroutines flat at 1,100. But RSS still grows, slower: about 12 MB a day. Heap in use
            does *not* grow. Reopening the hunt.
            """),
        say("2h 40m", "haruki", """
            Heap in use flat + RSS growing = either memory that the runtime keeps, or memory that is not Go's. The
            [GC guide](https://go.dev/doc/gc-guide) has a section on it. Do you set `GOMEMLIMIT`? And do you use the
            `brotli` build? That one is C.
            """),
        say("45m", "kofi", "Brotli build, yes. No `GOMEMLIMIT`."),
        say("1d 1h", "haruki", """
            Found it, I believe. `brotli.Writer.Close` frees the C side, and we do not call it when the response has
            no body (`304`, `HEAD`). 4 kB each. With your traffic:

            ```
            304 per day   ≈ 3,050
            lost per day  ≈ 3,050 × 4 kB ≈ 12 MB
            ```
            """),
        say("18m", "kofi", "12 MB!! 🎯 To the megabyte. ありがとう 🙏"),
        say("5h", "tomasz-w", """
            Filed as a separate change (#{brotli}). I also want a soak test in CI, so that this cannot come back:
            six hours of hang-ups, and the number of goroutines must be what it was.
            """),
        say("12d 3h", "kofi", "Ten days on the nightly: RSS 214 MB, 213 MB, 215 MB. Flat. Closing. 🥂"),
        close("1m"),
        say("2d 20h", "odile", "Cron job removed. I slept through a Sunday."),
    ),
    Thread(
        "flaky", "08-11 09:15",
        issue(LANTERN, "tomasz-w", "TestPurgeFanout fails about once in forty runs", """
            ```
            --- FAIL: TestPurgeFanout (0.05s)
                fanout_test.go:55: subscriber 3 did not see /a
            ```

            Only with `-race`, only on CI. It has been retried away since spring. I would like to stop doing that:
            either the test is wrong or purging is.
            """, "flaky", "ci"),
        say("2h", CI, "Seen in 3 of the last 61 runs: 4117, 4131, 4156."),
        say("1h", "maya", "My money is on the test. It sleeps 50 ms and hopes."),
        say("35m", "tomasz-w", "Mine too, but I have been wrong about that before."),
        say("2d 2h", "tomasz-w", """
            I was wrong. With 500 subscribers `Publish` returns before the last goroutine has even started, and a
            `Close` right after it drops the purge. In production that is: **a node that restarts during a purge
            keeps the old page.**

            So the flake was the only one telling the truth.
            """),
        say("30m", "odile", "Ah. That is what happened on 2 July. I was told it was DNS."),
        say("4h", "maya", "Fix is #{purge-fix}."),
        close("6d"),
        say("17d", CI, "Seen again in run 4402 on `windows-latest`."),
        reopen("1h"),
        say("3m", "tomasz-w", """
            Different message this time: `bind: address already in use`. That is the test's port, not the bus.

            @old-otter, you know Windows better than any of us. Is there a reason why port 0 would not work there?
            """),
        say("9h", "old-otter", """
            There is none, port 0 works. But the test asks for port 0, closes the listener, and binds the same
            number again. Windows keeps it for a moment. Hand over the open listener instead.
            """),
        say("1h 5m", "tomasz-w", "Exactly that. Three lines. Thank you."),
        close("1d"),
    ),
    Thread(
        "tokens", "08-12 11:00",
        issue(LANTERN, "sanvi", "Rotate upstream tokens without a restart", """
            Lantern reads `LANTERN_UPSTREAM_TOKEN` once, at start. To rotate a token one has to restart every node,
            so nobody rotates. Proposal:

            1. `token_file = "/run/secrets/upstream"` next to the variable; the file is read again when it changes.
            2. On a `401` from upstream: read the file once more and retry once, since the file may be newer than we
               know.
            3. Two tokens may be valid at a time: the new one is used, the old one is never tried again.
            4. The token never appears in a log, an error or a panic. `fmt.Sprintf("%v", cfg)` included.

            Background: https://cheatsheetseries.owasp.org/cheatsheets/Secrets_Management_Cheat_Sheet.html
            """, "security", "enhancement"),
        say("2h 10m", "maya", "Yes to all four. Is there a reason for a file and not for SIGHUP?"),
        say("31m", "sanvi", """
            Kubernetes and systemd both *put files*. A signal needs somebody who sends it, and permission to send it.
            """),
        say("1d", "kofi", """
            From operations: Kubernetes replaces the file by switching a symlink (`..data`). Whoever watches the
            file by inode watches the old one for ever. Please poll, or watch the directory.
            """, "symlink"),
        say("20m", "sanvi", "Good point. Polling every few seconds is enough, this is not a race."),
        say("3h 15m", "tomasz-w", """
            What happens to requests in flight when the token changes? They carry the old one. If the old one is
            revoked at the same moment they get a 401 and, by rule 2, one retry. That is fine for GET. **It is not
            fine for POST**, whose body has been sent already.
            """),
        say("48m", "sanvi", """
            Then rule 2 becomes: retry once *if the request can be repeated*; otherwise hand the 401 to the client.
            Revoking the old token late is the operator's job, and the manual should say how late (#{token-docs}).
            """),
        say("2d", "pete-q", "Will there be Vault support?"),
        say("5h", "sanvi", """
            Not in Lantern. Vault's agent can write the token into a file, and then it is rule 1.

            > /earshot label wontfix

            (That quote is from a bot test of mine and means nothing here.)
            """),
        say("5d", "sanvi", "Implementation: #{token-files}. Review by somebody who is *not* security, please."),
        say("24d", "kofi", """
            In production on all nodes since Monday. Rotated twice, nobody noticed. That is the best I can say.
            """),
        close("2h"),
        say("9d 4h", "pete-q", "Does this work for the purge API's token too?", "purge-token"),
    ),
    Thread(
        "body-leak", "08-11 17:30",
        pull(LANTERN, "kofi", "fix/body-leak", "Close the upstream body when the client hangs up", """
            Fixes the first half of #{leak}. `Close` stood behind the early return, so every client that went away
            left one connection and two goroutines behind.
            """, "bug"),
        say("8m", CI, "✅ 412 passed, 3 skipped · coverage 81.4 % (±0.0) · race detector clean"),
        note("1h", "tomasz-w", BODY, """
            Right. One thing: closing without draining means that the connection cannot be reused. For small rests
            it is cheaper to read on: `io.CopyN(io.Discard, src.Body, 64<<10)` before the `Close`.
            """, "drain", lines=4),
        reply("40m", "kofi", "drain", "Measured: 64 kB keeps 71 % of the connections alive, 256 kB 73 %. 64 it is."),
        reply("12m", "tomasz-w", "drain", "I did not expect numbers within the hour. 🙇"),
        note("5m", "maya", BODY, """
            Could we have a test which fails without this? Even an ugly one.
            """, "test", whole_file=True),
        reply("5h", "kofi", "test", """
            Here is an ugly one: 100 clients hang up, then `runtime.NumGoroutine()` must come down again.
            """),
        push("3m", "internal/proxy/stream.go"),
        say("9m", CI, "✅ 413 passed, 3 skipped · coverage 81.5 % (+0.1) · race detector clean"),
        review("2h", "tomasz-w", "APPROVED", """
            Two years old and seven lines long. Thank you for the patience, and for the tables.
            """),
        merge("4m", "tomasz-w"),
    ),
    Thread(
        "config-line", "08-12 17:45",
        pull(LANTERN, "benji", "check-line-number", "lantern check: name the line (my first PR!)", """
            Closes #{check}. Hope I did this right 😅

            Before: `config invalid`

            After: `Error in line 7 of your config: unknown key "tll"!`
            """),
        say("10m", CI, """
            ❌ lint: `cmd/lantern/check.go:36` error strings should not be capitalized (ST1005)
            """),
        say("4m", "benji", "Oh no. Is that bad? What is ST1005?"),
        review("50m", "maya", "CHANGES_REQUESTED", """
            Not bad at all! This does what it says, and the hard part (finding `SyntaxError`) is done. Two small
            things inline, then it goes in. 🏮
            """, "r"),
        note("2m", "maya", CONFIG_ERROR, """
            Error strings get wrapped by others, that is why Go likes them in lower case and without punctuation at
            the end:

            ```suggestion
                        return fmt.Errorf("%s:%d: %w", path, syntax.Line, err)
                    }
                    return fmt.Errorf("%s: %w", path, err)
            ```

            With `path:line` most editors make it clickable.
            """, "wording", lines=3, under="r"),
        note("3m", "maya", CONFIG_TEST, """
            If `err` is nil this panics instead of failing. Check it first?
            """, "nil", under="r"),
        reply("1h", "benji", "wording", """
            Clickable!! I pressed *Commit suggestion* and it just worked. That is magic ✨
            """),
        reply("3m", "benji", "nil", "Ahh, yes. Fixed. Is it okay to use `t.Fatal` there?"),
        reply("20m", "maya", "nil", "It is what it is for."),
        push("10m", "cmd/lantern/check.go", "cmd/lantern/check_test.go"),
        say("9m", CI, "✅ 413 passed, 3 skipped · coverage 81.6 % (+0.2) · race detector clean"),
        note("2h", "tomasz-w", Hunk("cmd/lantern/check_test.go", """
@@ -0,0 +1,26 @@
+package main
+
+func TestCheckNamesTheLine(t *testing.T) {
+    err := check("testdata/bad.toml")
+    if err == nil {
+        t.Fatal("a bad config passed")
"""), "“A bad config passed” is the best failure message of this repository. No change needed.", "praise"),
        reply("15m", "benji", "praise", "🥹"),
        review("1h", "maya", "APPROVED", "Welcome to the list of contributors!"),
        merge("2m", "maya"),
        say("30m", "benji", "Best evening ever. What can I do next?"),
        say("11h", "maya", """
            The manual needs somebody who still remembers what it is like to know nothing. Would you read the two
            purge pages and write down where you stumble?
            """),
    ),
    Thread(
        "purge-fix", "08-13 14:00",
        pull(LANTERN, "tomasz-w", "fix/purge-delivery", "Purge: Close waits for every delivery", """
            Fixes #{flaky}. The test was right. `Close` now waits for deliveries (at most two seconds), and the test
            waits for an event instead of 50 ms.
            """, "bug"),
        say("8m", CI, "✅ 414 passed, 3 skipped · coverage 81.6 % (±0.0) · race detector clean ×200"),
        note("2h", "haruki", PURGE_FIX, """
            `Add` while another goroutine is in `Wait` is a race when the counter can be zero. Is `Publish` after
            `Close` possible?
            """, "waitgroup", lines=2),
        reply("25m", "tomasz-w", "waitgroup", """
            It was. `Publish` now returns `ErrClosed` under the same lock. Good question.
            """),
        note("10m", "maya", PURGE_TEST, "Goodbye, old friend. 🪦", "sleep", side="LEFT"),
        push("20m", "internal/purge/fanout.go"),
        review("3h", "haruki", "APPROVED", "Ran it 2,000 times with `-race`. Zero."),
        merge("1h", "tomasz-w"),
    ),
    Thread(
        "escape", "08-14 16:22",
        issue(LANTERN, "sanvi", "The access log prints whatever a client sends", """
            A client chooses its user agent, and `tail -f access.log` gives it to the terminal. Two harmless
            examples; the real bytes are in the first comment.

            - `ESC ]0;owned BEL` renames the window
            - `ESC [2J ESC [H` clears the screen, so that the lines before are gone

            It gets worse with a log viewer in a browser: nothing escapes `<` either.
            """, "security"),
        say("6m", "sanvi", """
            Sent just now to a test node, as the log shows it:

            - GET / "curl/8.9 \x1b]0;owned\x07" 200
            - GET / "\x1b[2J\x1b[H\x1b[31mALL CLEAR\x1b[0m" 200
            - GET / "<script>alert('from the log viewer')</script><img src=x onerror=alert(1)>" 200
            - GET /?q=\u202egnp.exe "right-to-left override" 200
            """, "bytes"),
        say("44m", "odile", "I read that comment in a terminal. Very funny."),
        say("12m", "sanvi", "I did say *bytes*. Sorry."),
        say("1h", "maya", "@benji, this would be a nice second one, if you want it: small, and it matters."),
        say("30m", "benji", "Yes please! 🙋"),
        close("4d 6h"),
    ),
    Thread(
        "log-escape", "08-16 10:10",
        pull(LANTERN, "benji", "escape-access-log", "Escape control characters in the access log", """
            Closes #{escape}. Everything below 0x20 and 0x7f becomes `\\x1b` and so on. I wrote a table test with
            every byte 😎
            """, "security"),
        say("9m", CI, "✅ 430 passed, 3 skipped · coverage 82.1 % (+0.5) · race detector clean"),
        review("6h", "sanvi", "COMMENTED", """
            Good structure, and a test for every byte is the right instinct. Two gaps below.
            """, "r"),
        note("3m", "sanvi", ESCAPE, """
            Two things get through:

            1. C1 controls (U+0080 to U+009F): `U+009B` *is* `ESC [` for many terminals.
            2. Bidi overrides (U+202A to U+202E, U+2066 to U+2069).

            `unicode.IsControl(r) || unicode.Is(unicode.Cf, r)` covers both. And `"` and `\\` must be escaped as
            well, or a client can fake the next field.
            """, "c1", lines=4, under="r"),
        reply("2h", "benji", "c1", "I had to look up all of these. What is `Cf`?"),
        reply("20m", "sanvi", "c1", "“Format characters”: invisible ones which change how others look."),
        note("15m", "haruki", Hunk("internal/accesslog/format_test.go", """
@@ -0,0 +1,40 @@
+var fields = []struct{ in, want string }{
+    {"plain", `plain`},
"""), """
            Please add a line with text that must *not* change. Otherwise somebody will escape all of us one day:

            ```suggestion
                {"提灯 🏮 ランタン", `提灯 🏮 ランタン`},
            ```
            """, "cjk"),
        reply("8m", "benji", "cjk", "Added 提灯! (Is that a lantern?)"),
        reply("5m", "haruki", "cjk", "はい、そうです。A paper one."),
        push("1h", "internal/accesslog/format.go", "internal/accesslog/format_test.go"),
        review("9h", "sanvi", "APPROVED", "I tried for an hour to break it and failed. That is a compliment."),
        merge("30m", "maya"),
    ),
    Thread(
        "token-files", "08-20 09:00",
        pull(LANTERN, "sanvi", "feature/token-files", "Read upstream tokens from files, and again when they change", """
            Implements #{tokens}, rules 1 to 4.

            - `token_file` in the config; polled every 5 s by path, so that symlink switches are seen
            - a 401 rereads the file and repeats the request once, if it can be repeated
            - `Token` has a `String` method that says `Token(redacted)`, so that no format verb can print it
            """, "security", "enhancement"),
        say("9m", CI, """
            ✅ 437 passed, 3 skipped · coverage 82.4 % (+0.3) · race detector: **1 data race**
            """),
        review("2h", "tomasz-w", "CHANGES_REQUESTED", """
            I like that the rules of the issue can be found again in the code, in order. The race detector has found
            what I would have said first; the rest is inline.
            """, "r"),
        note("3m", "tomasz-w", TOKEN_FILE, """
            Written here, read by every request: that is the race. `atomic.Pointer[string]` and it is gone.

            And `string(b)` keeps the newline at the end, which most editors and `kubectl` put there.
            `strings.TrimSpace`.
            """, "race", lines=2, under="r"),
        note("4m", "tomasz-w", TOKEN_RETRY, """
            Three problems in four lines:

            1. the first response's body is never closed (we just had that, #{leak})
            2. a POST is repeated although its body is gone
            3. a hundred parallel 401s read the file a hundred times
            """, "retry", lines=5, under="r"),
        note("1m", "kofi", TOKEN_OLD, "“TODO: rotate”. Three years old today. 🎂", "todo", side="LEFT"),
        reply("1h 30m", "sanvi", "race", "Both right. I review other people's races for a living and still wrote one."),
        reply("10m", "sanvi", "retry", """
            1 and 2: yes. For 3 I would use the flight group of #{single-flight}, it is exactly that problem.
            """),
        reply("20m", "tomasz-w", "retry", "Ha. A stampede on the token. Yes."),
        push("1d 2h", "internal/upstream/token.go", "internal/upstream/transport.go"),
        say("10m", CI, "✅ 441 passed, 3 skipped · coverage 82.8 % (+0.7) · race detector clean"),
        note("3h", "kofi", Hunk("internal/upstream/token.go", """
@@ -12,6 +12,52 @@ type Token struct {
+// changed compares name and time, not the inode: Kubernetes swaps a symlink.
+func (t *Token) changed(fi os.FileInfo) bool {
+    return !fi.ModTime().Equal(t.seen)
"""), """
            A restored backup has an *older* time than what we saw, and `!Equal` takes it, good. Does an empty file
            count as a change? During the switch there can be one for a moment.
            """, "empty"),
        reply("1h", "sanvi", "empty", """
            It must not. An empty file is now an error, and the old token stays in use. Added as a test.
            """),
        edit_note("6m", "empty", """
            A restored backup has an *older* time than what we saw, and `!Equal` takes it, good. Does an empty file
            count as a change? During the switch there can be one for a moment.

            Edit: I looked, with `kubectl` there cannot. With `scp` there can.
            """),
        review("40m", "kofi", "APPROVED", """
            Ran on two nodes with a token that changes every minute. 300 rotations, no 401 reached a client.
            """),
        review("5h", "tomasz-w", "APPROVED", "", "t"),
        edit_review("3m", "t", "Approved. The `String` method alone was worth it."),
        merge("20m", "maya"),
    ),
    Thread(
        "windows", "08-24 19:05",
        issue(LANTERN, "old-otter", "Windows: the cache directory cannot be moved while Lantern runs", """
            On Windows an open file keeps its directory. Lantern holds `index.db` open for ever, so a backup tool
            that renames the directory fails. Could the index be opened with `FILE_SHARE_DELETE`?
            """, "windows"),
        say("3h", "maya", "None of us has a Windows machine. Would you be able to try it if we gave you a build?"),
        say("50m", "old-otter", "Gladly. I have four, one of them is even supposed to be one."),
        say("6d", "old-otter", "Tried the build: rename works, delete works, Lantern goes on. Please keep it."),
        say("1h 20m", "maya", "Merged. Thank you, this would have taken us a month."),
        close("1m"),
    ),
    Thread(
        "range", "08-27 05:58",
        issue(LANTERN, "odile", "Range requests on compressed objects return the wrong bytes", """
            `Range: bytes=0-99` on an object that is stored gzipped gives bytes 0 to 99 of the *gzip stream* with
            `Content-Encoding` removed. Our video player shows green. The players' vendor says "interesting".

            Reproduce:

            ```
            curl -s -H 'Range: bytes=0-3' https://edge-07.example/app.js | xxd
            00000000: 1f8b 0800                                ....
            ```

            `1f8b`. In a JavaScript file.
            """, "bug"),
        say("2h", "tomasz-w", """
            Ouch. Yes. A range counts bytes of the selected representation
            (https://www.rfc-editor.org/rfc/rfc9110.html#section-14.2), and we select after we slice.

            /earshot label priority=high area=cache
            """),
        say("40m", "odile", "I take it that means no workaround."),
        say("8m", "tomasz-w", "`compress = false` for that path. I would not call it one either."),
        say("1d 4h", "tomasz-w", "#{range-fix}"),
        say("2d", "odile", "Confirmed on tonight's build. The green is gone. I liked the green."),
        close("1h"),
    ),
    Thread(
        "range-fix", "08-28 10:30",
        pull(LANTERN, "tomasz-w", "fix/range-encoding", "Slice only the representation that the client gets", """
            Fixes #{range}. If the stored encoding is not the one that the client accepts, the range is ignored and
            the whole object is sent (200), which the RFC allows.
            """, "bug"),
        say("9m", CI, "✅ 446 passed, 3 skipped · coverage 82.9 % (+0.1) · race detector clean"),
        note("1h 20m", "haruki", RANGE, """
            For `If-Range` with a strong ETag this needs the ETag of the *encoded* form too, or we resume a download
            with the wrong half.
            """, "if-range", lines=3),
        reply("2h", "tomasz-w", "if-range", """
            I had hoped that nobody would ask. Added, with the most boring test I have ever written.
            """),
        push("5m", "internal/cache/range.go"),
        review("1h", "haruki", "APPROVED", "Boring is what I want from byte arithmetic."),
        merge("3m", "tomasz-w"),
    ),
    Thread(
        "cache-dir", "09-02 06:15",
        issue(LANTERN, "odile", "0.10 renamed `cache_dir` and forty nodes came up empty", """
            Release notes, second to last line: "`cache_dir` is now `storage.path`". The old key is *ignored without
            a word*. All nodes started with an empty cache in `/var/lib/lantern` and the origin had a very bad
            morning.
            """, "bug"),
        say("1h 2m", "maya", """
            That is inexcusable and I am sorry. What we will do, today:

            - 0.10.1 reads the old key and warns
            - unknown keys become an error, with the nearest right one
            """),
        say("25m", "ines-r", """
            And a rename never again stands in the second to last line. Breaking
            changes come first from now on, in their own section.
            """),
        say("15h", "odile", "0.10.1 works. Noted: somebody read the report before answering it. Keep that."),
        close("20m"),
        say("6d 2h", "pete-q", "Same for `log_dir`?"),
        say("3h", "ines-r", "Same for all of them: https://docs.lantern.example/upgrade/0.10#renamed-keys"),
        say("20d", "kofi", """
            For the record, the nearest-key hint has found two typos of ours which were three years old. 🙈
            """, app="chat-bridge"),
    ),
    Thread(
        "http3", "09-04 13:33",
        issue(LANTERN, "pete-q", "HTTP/3 to upstreams?", "Is it planned?"),
        say("3h", "maya", """
            It is not on the list for 1.0. What would it give you that HTTP/2 does not? (An honest question.)
            """),
        say("2d", "pete-q", "Lossy links between our sites. HTTP/2 stalls everything when one packet is lost."),
        say("1d 3h", "old-otter", "I have a sketch, #{quic}. It is ugly."),
        say("30d", "pete-q", "Now that the sketch is closed: should I wait, or look for something else?", "wait"),
    ),
    Thread(
        "quic", "09-07 17:20",
        pull(LANTERN, "old-otter", "spike/quic", "Spike: HTTP/3 upstreams with quic-go", """
            Not for merging. I wanted to know how much it takes: 118 lines, one
            dependency (and its eleven). For #{http3}.
            """, "spike", draft=True),
        note("14h", "tomasz-w", HTTP3, """
            Does this share the connection pool's limits? If not, `max_upstream = 10` would mean 20.
            """, "pool"),
        reply("8h", "old-otter", "pool", "It does not. That is the ugly part."),
        say("1d", "haruki", """
            Measured with 1 % loss: p50 the same, p99 from 840 ms to 310 ms. Without loss it costs 15 % more CPU.
            """),
        review("2d", "maya", "COMMENTED", """
            Thank you for doing this as a spike and not as an opinion. The numbers are good for lossy links and bad
            for everybody else, so: after 1.0, as an option.
            """),
        say("3h", "old-otter", "Fair. Closing, the branch stays."),
        close("1m"),
    ),
    Thread(
        "buckets", "09-10 08:45",
        issue(LANTERN, "kofi", "Histogram buckets stop at 1 s", """
            `lantern_upstream_seconds` has buckets up to 1 s, and everything slow is `+Inf`. We have origins that
            take 30 s and are proud of it.
            """, "metrics"),
        say("2h", "haruki", "Native histograms would solve it for good. Is your Prometheus new enough (≥ 3.0)?"),
        say("4h", "kofi", "3.5, so yes. But I know people on 2.45."),
        say("1d", "haruki", "Then both: native, and classic buckets up to 60 s. #{histograms}"),
        close("3d"),
    ),
    Thread(
        "purge-202", "09-15 22:10",
        issue(LANTERN, "pete-q", "Purge answers 202 but the page stays", """
            ```
            curl -X PURGE https://edge.example/news/
            202 Accepted
            ```

            One minute later: still the old page. Am I holding it wrong?
            """),
        say("9h", "kofi", "Trailing slash? `/news` and `/news/` are two keys."),
        say("6h", "pete-q", """
            I purge both. It helps for `/news` only. How can I see which key a request got?
            """, "which-key"),
    ),
    Thread(
        "urls", "09-17 03:05",
        issue(LANTERN, "haruki", "URL normalisation: `%E6%8F%90` and `%e6%8f%90` are two keys", """
            `/wiki/提灯` is requested as `%E6%8F%90%E7%81%AF` by browsers and as `%e6%8f%90%e7%81%af` by one of our
            feed readers. Same page, two cache entries, half the hit rate for every Japanese title.

            RFC 3986, 6.2.2.1: the hex digits are case-insensitive, and should be normalised to upper case.
            """, "bug", "i18n"),
        say("5h", "tomasz-w", "Yes. Only the hex digits, please: paths themselves stay case-sensitive."),
        say("30m", "haruki", "もちろん。Of course. #{normalise}"),
        say("3d", "liu-yan", """
            同样的问题也影响中文页面 — it is the same for Chinese titles. Hit rate 41 % → 78 % with the patch! 🚀
            """),
        close("20m"),
    ),
    Thread(
        "go-version", "09-22 09:00",
        issue(LANTERN, "tomasz-w", "Proposal: require Go 1.25 from 1.0 on", """
            We test with 1.24 only to keep it working, and every synctest needs a build tag for it. 1.26 is out
            since February, so 1.24 gets no fixes any more.
            """, "proposal"),
        say("4h", "kofi", "👍 We build with 1.26."),
        say("2h", "odile", "I do not build. I download. No opinion."),
        say("1d", "ines-r", """
            Debian 13 has an older one, but also backports. I will say so in the notes. Approved for 1.0.
            """),
        close("5m"),
    ),
    Thread(
        "soak", "09-24 06:00",
        issue(LANTERN, "ines-r", "Nightly soak results", """
            The soak job writes here. Six hours, 2,000 clients, a tenth of them hang up early. Watched: goroutines,
            RSS, p99. Please do not discuss here, open an issue and link to the comment.
            """, "ci"),
        say("1d", CI, "Soak 2026-09-25 · p99 4.4 ms · RSS 214 MB · goroutines 1,102 → 1,104 · ✅"),
        say("7d", CI, "Soak 2026-10-02 · p99 4.3 ms · RSS 216 MB · goroutines 1,099 → 1,101 · ✅"),
        say("7d", CI, """
            Soak 2026-10-09 · p99 9.8 ms · RSS 215 MB · goroutines 1,103 → 1,100 · ⚠️ p99 over 8 ms
            """),
        say("2h", "haruki", "The machine was busy with something else: `steal` 22 %. Nothing to see."),
        say("6d 22h", CI, """
            Soak 2026-10-16 · p99 4.2 ms · RSS 213 MB · goroutines 1,098 → 1,098 · ✅
            """),
        say("7d", CI, "Soak 2026-10-23 · p99 4.1 ms · RSS 214 MB · goroutines 1,097 → 1,099 · ✅"),
        say("7d", CI, "Soak 2026-10-30 · p99 4.1 ms · RSS 214 MB · goroutines 1,101 → 1,101 · ✅"),
    ),
    Thread(
        "farewell", "10-09 21:00",
        issue(LANTERN, "old-otter", "Windows: I can no longer look after this", """
            New job, no more Windows, hurrah. I am leaving the site altogether. The four machines go to a school.
            If somebody wants my notes on file sharing modes, they are in `docs/windows.md` of my last branch.
            """, "windows"),
        say("1h", "maya", """
            Thank you for everything, otter. You were the only one who read the Windows errors to the end. 🦦
            """),
        say("10h", "old-otter", "There was always something on the last line."),
        leave("2d", "old-otter"),
        say("1d", "ines-r", "I have moved the notes to the manual, so that they do not leave with the branch."),
    ),
    Thread(
        "early", "10-12 08:30",
        pull(LANTERN, "haruki", "feature/early-refresh", "Refresh hot entries early, with growing probability", """
            Cure 3 of #{stampede}: close to its expiry an entry is refreshed by one lucky request before anybody has
            to wait. Off by default, `early_refresh = 1.0` is the paper's β.

            With it the p99 of our front page has no comb any more:

            ```
            without  ▁▁▁▁█▁▁▁▁█▁▁▁▁█   p99 191 ms
            with     ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁   p99   6 ms
            ```
            """, "cache", "enhancement"),
        say("9m", CI, "✅ 497 passed, 3 skipped · coverage 84.0 % (+0.1) · race detector clean"),
        review("1d 2h", "tomasz-w", "COMMENTED", "First pass. The formula is the paper's, the rounding is not.", "r"),
        note("4m", "tomasz-w", XFETCH, """
            `time.Duration(gap) * time.Second` cuts `gap` to whole seconds: with a fetch of 200 ms it is nearly
            always zero.

            ```suggestion
                return now.Add(time.Duration(gap * float64(time.Second))).After(e.expires)
            ```
            """, "seconds", under="r"),
        note("6m", "tomasz-w", XFETCH, """
            `rand.Float64()` can be 0, and `-Log(0)` is +Inf: the very first request would refresh everything. Rare,
            but we have many requests.
            """, "zero", lines=2, under="r"),
        reply("5h", "haruki", "seconds", "恥ずかしい。My benchmark has 2 s fetches, so I did not see it."),
        push("20m", "internal/cache/refresh.go"),
        reply("9d", "haruki", "zero", """
            Now `1 - rand.Float64()`, which is never 0. @tomasz-w is this what you meant?
            """, "meant"),
        note("2d 3h", "odile", Hunk("lantern.example.toml", """
@@ -44,3 +44,6 @@
 ttl = "60s"
+
+# 0 = off. 1.0 = as in the paper. Larger refreshes earlier.
+early_refresh = 0.0
"""), "What do you recommend for 40 nodes? A default of “off, good luck” is not a recommendation.", "default", lines=2),
        review("4d 1h", "tomasz-w", "PENDING", """
            Draft: the arithmetic is right now. Still to check: what happens with a TTL of 1 s.
            """),
    ),
    Thread(
        "ci-minutes", "10-20 15:00",
        issue(LANTERN, "ines-r", "CI spends 40 % of its minutes on installing Go", """
            Cache the toolchain? Measured over 200 runs: 71 s of 178 s.
            """, "ci"),
        say("50m", "tomasz-w", "Is it the download or unpacking?"),
        say("20m", "ines-r", "Unpacking, on Windows. 54 s of the 71.", "unpacking"),
        delete("6m", "unpacking"),
        say("2m", "ines-r", """
            Unpacking, on Windows: 54 of the 71 s. (Deleted the first answer, it had our runner's address in it.)
            """),
        edit_opener("3m", title="CI spends 40 % of its minutes on unpacking Go on Windows"),
        say("3d", "benji", "I would like to try this one! Does `actions/setup-go` not cache it already?", "setup-go",
            app="chat-bridge"),
    ),
]  # fmt: skip
