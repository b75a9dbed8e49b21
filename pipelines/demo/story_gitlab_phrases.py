"""What is said after the story's end, in tables; `story_gitlab_endless` makes topics of them."""

__all__ = ["ANSWERS", "CHANGES", "FOLLOW_UPS", "FOUND", "PACKAGES", "PLACES", "REMARKS", "VERDICTS", "WISHES"]

# a place in the console, and what somebody sees there
PLACES = [
    ("node table", "two nodes with the same name share one row when I sort"),
    ("log view", "the newest line hides behind the search field"),
    ("purge dialog", "the number of objects arrives after I have typed the name"),
    ("hit-rate graph", "the last five minutes are always a little lower than they turn out to be"),
    ("login page", "the field for the second factor is not focused"),
    ("key inspector", "a key with a space in it is cut there"),
    ("upstream list", "an upstream that was removed stays until I reload"),
    ("settings page", "“saved” disappears before I can read it"),
    ("latency graph", "the tooltip covers the point that it describes"),
    ("certificate view", "an expired certificate is as grey as a good one"),
    ("search field", "Escape closes the page and not the list of results"),
]

# who wishes, the title, and why
WISHES = [
    ("kofi", "A shorter way to the {}", "I open it forty times a day. What I look for is that {}."),
    ("odile", "The {} on a wall display", "Nobody can press anything there. And from three metres one sees that {}."),
    ("freja", "Announce changes in the {}", "What is only drawn does not exist for me. For example, that {}."),
    ("liu-yan", "Translate the {}", "还没有翻译。 It is still in English. While you are there: {}."),
    ("pete-q", "Remember what I chose in the {}", "It forgets it every time. Also, {}."),
]

ANSWERS = [
    "I like it. Could you draw it, on paper, as you would want it?",
    "Yes, and small. What should happen when there is nothing to show?",
    "We had that once and took it out, because it was slow. It would not be slow any more.",
    "Good idea. Would it help you if only half of it came first?",
    "I am not sure yet. How do you do it today?",
    "Yes. The difficult half is done already, for something else.",
    "Agreed, after 1.1. I would rather do it well than soon.",
]

# the area, what is done, where, the removed and the added line
CHANGES = [
    (
        "table", "keep the order of equal rows", "src/table/sorting.ts",
        "return x - y;", "return x - y || a.index - b.index;",
    ),
    (
        "log", "do not jump when a line is very long", "src/log/Log.svelte",
        "offset = n * LINE;", "offset = heights.upTo(n);",
    ),
    (
        "purge", "trim the name that was typed", "src/purge/name.ts",
        "return typed === name;", "return typed.trim() === name.trim();",
    ),
    (
        "graphs", "round the last bucket honestly", "src/graphs/bucket.ts",
        "buckets.push(rest);", "if (isFull(rest)) buckets.push(rest);",
    ),
    (
        "login", "focus the second factor", "src/login/Factor.svelte",
        "<input bind:value>", "<input bind:value autofocus>",
    ),
    (
        "keys", "show spaces as what they are", "src/keys/Key.svelte",
        "{key}", "{visible(key)}",
    ),
    (
        "settings", "say “saved” for as long as it takes to read", "src/settings/toast.ts",
        "const STAY = 900;", "const STAY = 4000;",
    ),
    (
        "i18n", "dates in the reader's own order", "src/time/format.ts",
        'locale: "en",', "locale: locale(),",
    ),
    (
        "search", "Escape closes the list first", "src/search/Field.svelte",
        "onkeydown={leave}", "onkeydown={closeOrLeave}",
    ),
]  # fmt: skip

# what a reviewer asks, and the answer
REMARKS = [
    ("Does a test fail without this line?", "It does now. Thank you for asking, as always."),
    ("Could the name say *why* instead of *what*?", "Renamed. It reads like a sentence now."),
    ("What if there are none?", "Then it shows nothing, in words: “nothing yet”."),
    ("And on a touch screen?", "Tried on two phones. Works with a thumb."),
    ("Is this heard as well as seen?", "It is announced, politely, once."),
    ("Two of these look alike. One function?", "One function, used three times: there was a third."),
    ("How long does this take with 900 nodes?", "1.4 ms here, 6 ms on the slowest laptop that I could find."),
    (
        "I would write it like this:\n\n```suggestion:-0+0\n  // the reader decides, not the server\n```",
        "Better. Applied.",
    ),
]

PACKAGES = [
    ("svelte", "5.{}.0"),
    ("typescript", "6.{}.2"),
    ("vite", "8.{}.1"),
    ("@playwright/test", "1.6{}.0"),
    ("d3-scale", "4.{}.2"),
    ("fastify", "6.{}.0"),
    ("better-sqlite3", "13.{}.1"),
]

# where somebody comes back to, who, what they say, and what they add
FOLLOW_UPS = [
    ("in-place", "odile", "The wall has not blinked", "for {} weeks. All chairs face it again."),
    ("window", "haruki", "The log of one tab", "has been open for {} weeks now: 96 MB."),
    ("wrong-cluster", "kofi", "No cluster was purged by mistake", "for {} weeks. I still have a photo of the cake."),
    ("local-time", "liu-yan", "没有人再搞错时间。 Nobody has mistaken the time", "for {} weeks."),
    ("silent-table", "freja", "I have worked with the table every day", "for {} weeks. It talks just enough."),
]

FOUND = [
    "Found: the test measured before the font had arrived.",
    "Found: a timer that was one tick late.",
    "Found: two updates in one frame, in the wrong order.",
    "Found: half a pixel.",
]

# what it was seen with, who decides, and what it was
VERDICTS = [
    ("The same one, in Firefox.", "noor", "Then it is ours: in Firefox I see it too. Fixed on `main`."),
    ("It was the zoom. Sorry.", "pete-q", "At 110 % it is right as well, by the way."),
    ("One from September.", "benji", "That was corrected in October. After an update it should be gone."),
    (
        "I don't know. How do I see that?",
        "ines-r",
        "Under the name, in small letters. They are a little larger from now on.",
    ),
]
