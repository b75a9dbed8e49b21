"""What is said after the story's end, in tables; `story_endless` makes threads of them."""

__all__ = [
    "APPROVALS",
    "BUMPS",
    "FIXES",
    "FOLLOW_UPS",
    "GAPS",
    "ME_TOO",
    "MODULES",
    "OWNERS",
    "PAGES",
    "QUESTIONS",
    "SETTINGS",
    "THANKS",
    "WITNESSES",
]

# name, what it does, good advice
SETTINGS = [
    (
        "max_upstream",
        "how many connections to one upstream may be open",
        "Start with twice your origin's workers and watch the queue.",
    ),
    (
        "storage.path",
        "where cached objects live",
        "Put it on its own file system, so that a full cache fills nothing else.",
    ),
    (
        "storage.max_size",
        "how large the cache may grow",
        "Leave a tenth of the disk free. Eviction needs room to work.",
    ),
    (
        "ttl",
        "how long an object stays fresh when its origin says nothing",
        "Short. An origin that cares will say so itself.",
    ),
    ("grace", "how long a stale object may be served while a new one is fetched", "As long as your longest deploy."),
    ("early_refresh", "how eagerly hot objects are refreshed before they expire", "0.5 is what forty nodes agreed on."),
    (
        "compress",
        "whether objects are stored compressed",
        "On, except for what is compressed already: images, video, archives.",
    ),
    (
        "keys.ignore_query",
        "which query parameters are not part of the key",
        "Start with `utm_*` and look at `lantern key` for the rest.",
    ),
    (
        "purge.fanout",
        "how many nodes are told about a purge at the same time",
        "The default is right up to a hundred nodes.",
    ),
    (
        "log.sample",
        "which share of the requests is logged",
        "1.0 until the disk complains, then 0.1 with all errors kept.",
    ),
    (
        "token_file",
        "where the upstream's token is read from",
        "A path, not a mount of the file itself. Then a switched symlink is seen.",
    ),
    (
        "limits.body",
        "the largest response that is cached",
        "A little over your largest image. Video belongs elsewhere.",
    ),
    ("health.interval", "how often upstreams are checked", "5 s. Faster finds nothing earlier, it only fills logs."),
]

# who asks, the title, the question, the answer
QUESTIONS = [
    (
        "pete-q",
        "Can `{}` be changed without a restart?",
        "Or does it need one? As far as I understand it is {}.",
        "It is read again on reload. {}",
    ),
    (
        "kofi",
        "What is a sensible `{}` for small nodes?",
        "We add six nodes with 2 GB of memory each. The manual says it is {}. How far down can I go?",
        "Further than you think. The rule is the same for small ones: {}",
    ),
    (
        "odile",
        "`{}`: the manual and the example file disagree",
        """
            The manual explains that it is {}. The example sets a value that makes
            no sense with that. Which of the two is right?
            """,
        "The manual. The example is older than some of us and is now corrected. {}",
    ),
    (
        "benji",
        "Where does `{}` come from when it is not set?",
        "I know that it is {}, but I found two defaults in the code and would like to know which one wins 🤔",
        "The one in `default.go`, the other is for tests. And if you do set it: {}",
    ),
    (
        "liu-yan",
        "How to translate `{}`?",
        "It is {}. 直译会很奇怪: word for word it sounds odd. Is there a sentence that says what it is *for*?",
        "I would translate the advice instead of the name: {}",
    ),
]

# the area, what was seen, where, the removed and the added line, who asks what about it, and the answer
FIXES = [
    (
        "cli", "`lantern key` prints nothing for an empty path", "cmd/lantern/key.go",
        'if path == "" {', 'path = cmp.Or(path, "/")',
        "maya", "Is `*` (as in `OPTIONS *`) an empty path too?", "It is not, and there is a test for it now.",
    ),
    (
        "proxy", "Hop-by-hop headers named in `Connection` are forwarded", "internal/proxy/headers.go",
        'h.Del("Connection")', 'deleteNamed(h, h.Values("Connection"))',
        "sanvi", "A client may name `Host` there, or `Authorization`. Do we then delete those as well?",
        "No: end-to-end headers are skipped now, whatever `Connection` says.",
    ),
    (
        "cache", "`Age` is counted from the end of the request, not from its start", "internal/cache/age.go",
        "age := now.Sub(e.received)", "age := now.Sub(e.requested)",
        "tomasz-w", "Which test fails without this line? I removed it and everything stayed green.",
        "None did. One does now.",
    ),
    (
        "storage", "A full disk is reported as “not found”", "internal/storage/write.go",
        "return ErrNotFound", 'return fmt.Errorf("storing %s: %w", key, err)',
        "kofi", "Will somebody at three in the morning understand this message?",
        "It names the disk now, and how full it is.",
    ),
    (
        "metrics", "`lantern_evictions_total` goes down after a restart of the index", "internal/metrics/evict.go",
        "evictions.Set(n)", "evictions.Add(n - seen)",
        "kofi", "What if `n` is smaller than `seen`? That is what a restart looks like.",
        "Then it counts from zero. Tested.",
    ),
    (
        "purge", "A ban with an empty pattern matches everything", "internal/purge/ban.go",
        "re := regexp.MustCompile(p)", "re, err := nonEmpty(p)",
        "sanvi", "`.*` is not empty and does the same.",
        "True, but whoever writes `.*` means it. The manual says so now.",
    ),
    (
        "upstream", "Health checks follow redirects to other hosts", "internal/upstream/health.go",
        "resp, err := http.Get(u)", "resp, err := sameHost.Get(u)",
        "haruki", "Does `sameHost` keep connections alive? Otherwise each check is a new handshake.",
        "It does, it shares the pool.",
    ),
    (
        "log", "A rotated log file loses its last line", "internal/accesslog/rotate.go",
        "f.Close()", "return errors.Join(w.Flush(), f.Close())",
        "maya", "Could the comment say *why*? What it does I can see.", "It says why now, and got shorter.",
    ),
    (
        "config", "Durations without a unit are taken as nanoseconds", "internal/config/duration.go",
        "d := time.Duration(n)", "d, err := withUnit(s)",
        "odile", "I have `ttl = 60` in forty files. What happens to me?",
        "A warning that says `60s`, and it is taken as seconds.",
    ),
    (
        "tls", "An expired certificate is noticed only at the first request", "internal/tls/load.go",
        "return cert, nil", "return cert, expired(cert, now)",
        "sanvi", "And one that expires tomorrow?", "A warning at start and a metric, for everything under two weeks.",
    ),
    (
        "windows", "Paths with a drive letter are joined twice", "internal/storage/path.go",
        "p = root + name", "p = filepath.Join(root, name)",
        "tomasz-w", "`Join` cleans `..` away. Can `name` come from a URL?",
        "It is a hash, always. I added a check all the same.",
    ),
]  # fmt: skip

APPROVALS = [
    "Read it twice, the second time only for pleasure.",
    "Good. The test is better than the fix.",
    "Tried on one node for an hour, nothing to report.",
    "Small, named well, tested. Thank you.",
    "As discussed. The message of the commit explains it better than the issue did.",
    "I looked for a reason to wait and found none.",
    "良いですね。 Good.",
]

PAGES = [
    "concepts",
    "install",
    "configuration",
    "keys",
    "freshness",
    "purge",
    "ban",
    "storage",
    "metrics",
    "logs",
    "upgrade",
]

MODULES = [
    ("golang.org/x/net", "0.6{}.0"),
    ("golang.org/x/sys", "0.4{}.0"),
    ("modernc.org/sqlite", "1.5{}.0"),
    ("github.com/prometheus/client_golang", "1.3{}.0"),
    ("github.com/klauspost/compress", "1.2{}.1"),
    ("github.com/quic-go/quic-go", "0.7{}.0"),
    ("google.golang.org/grpc", "1.9{}.0"),
]

FOLLOW_UPS = [
    (
        "stampede",
        "kofi",
        "Still one request per minute and node",
        "after {} weeks. I look at that graph when the day was bad.",
    ),
    (
        "a11y",
        "freja",
        "Checked the tabs again with the newest NVDA",
        "({} weeks of releases later): still “tab, selected, one of two”.",
    ),
    (
        "soak",
        "haruki",
        "The p99 of this series",
        "has moved by less than a millisecond in {} weeks. What is left is the machine.",
    ),
    ("flaky", "tomasz-w", "Not seen again", "for {} weeks. I have stopped touching wood."),
    (
        "escape",
        "sanvi",
        "Nothing has got through to our terminals",
        "for {} weeks, and my test client tries every night.",
    ),
]

# who looked at a new version of a dependency, and what they say
BUMPS = [
    ("tomasz-w", "Changelog read, nothing touches us."),
    ("haruki", "Benchmarks before and after: the same."),
    ("sanvi", "No new transitive dependencies, checksums match."),
]

# what a translation still lacks, and the translator's answer
GAPS = [
    (
        "英語版にはもう一文あります。The English page has one more sentence here, about the query.",
        "谢谢,已补上。Added.",
    ),
    (
        "Is 主机 the host of the URL or the machine? ここは前者だと思います。",
        "前者。The URL's. I have made it 主机名, which can only be that.",
    ),
    ("The link still goes to the English page.", "改好了。Both links go to the Chinese pages now."),
    ("The example has a comment in English. わざとですか?", "不是故意的 😅 Translated."),
    ("This table has four rows, the original five.", "第五行是新的。The fifth is from this week. Added."),
]

ME_TOO = [
    "I was about to ask the same. Following.",
    "We have guessed so far. An answer in the manual would be better than our guess.",
    "Same here.",
    "I thought I knew, and then I read the code.",
    "Good question. I have three different values on three nodes and no reason for any of them.",
]

THANKS = [
    "That helps, thank you!",
    "Exactly what I needed.",
    "Understood. Could that sentence go into the manual?",
    "Good. I had it the wrong way round.",
    "Tried it, works.",
]

OWNERS = [
    "On it. Is there anything in the log just before?",
    "I can see how that happens. Which operating system?",
    "Mine. Does it go away after a reload, or only after a restart?",
    "Thank you, the path was enough to find it. Can you tell me how often it happens?",
    "I will write the failing test first. Is your config the default one?",
]

WITNESSES = [
    "Nothing out of the ordinary. That is what makes it interesting.",
    "Debian 13 on all of them, default config apart from the paths.",
    "Only on nodes that had been up for more than a week.",
    "Twice in the night, once at noon. A reload did not help.",
    "I put everything I have into a gist and turned logging up.",
]
