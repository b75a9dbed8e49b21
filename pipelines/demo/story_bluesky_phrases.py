"""What is said after the story's end, in tables; `story_bluesky_endless` makes conversations of them."""

__all__ = ["ANSWERS", "FACTS", "NIGHTS", "PAGES", "PLACES", "QUESTIONS", "RECIPES", "WORDS"]

QUESTIONS = [
    (
        "If a purge arrives during a restart, who hears it?",
        "The node itself, when it is back: it asks its neighbours first.",
    ),
    ("May two Lanterns share one cache directory?", "No, and since 1.0 the second one says so and does not start."),
    ("What does “stale” mean in the log?", "Served late on purpose, while a fresh one was on its way."),
    ("Is there a smallest sensible TTL?", "One second. Below that you want collapsing, not caching."),
    ("Does a HEAD warm the cache?", "It does not. A GET does, once, for everybody who waits."),
    ("Who decides what a key is?", "The method, the address, and whatever Vary names. Nothing else."),
]

# where it is in the manual, and what it is about
PAGES = [
    ("purge", "Purging"),
    ("security/tokens", "Tokens"),
    ("tuning", "Tuning"),
    ("upgrade/1.0", "Upgrading"),
    ("concepts/stampede", "Stampedes"),
    ("console/log", "The log"),
    ("releases/1.0", "Release 1.0"),
]

ANSWERS = [
    "It is shorter now.",
    "It starts with the question that people really have.",
    "Two of its pictures can be heard.",
    "It finally says what happens when nothing happens.",
    "The example can be copied and works.",
    "One sentence of it took a whole afternoon.",
    "It no longer contradicts the page next to it.",
    "I have read it aloud twice.",
    "Thank you to everybody who stumbled over the old one.",
]

NIGHTS = [
    "Node {} has been up for so long that I had to look up its name.",
    "Woken at 3:40, by node {}. It wanted to tell me that all is well. We have talked about that.",
    "A whole night without node {}. I miss nothing.",
    "Node {} has served its hundred-millionth answer. No cake, it is a computer.",
    "Moved node {} to another rack. Nobody noticed, which was the plan and still a little sad.",
    "A certificate on node {} expires in nine days. I know this now, and not in nine days.",
    "Hit rate of node {}: 97.1 %. I would like to meet the other 2.9.",
    "Restarted node {} for an update. Four seconds. I made tea for longer than that.",
]

RECIPES = [
    "herring in oat flour",
    "a letter about the noise of bicycles",
    "pea soup for eleven",
    "the tide tables, with a correction",
    "an advertisement for a waterproof hat",
    "pickled plums",
    "a report on a whale that was a boat",
    "barley bread without patience",
    "a poem about fog, by the harbour master",
]

# what was measured, before, and after
FACTS = [
    ("Start with a full cache directory", "3.9 s", "1.2 s"),
    ("Memory of an idle node", "212 MB", "180 MB"),
    ("p99 of a miss", "88 ms", "71 ms"),
    ("Time until all forty nodes have purged", "640 ms", "210 ms"),
    ("Allocations for one hit", "14", "9"),
    ("Size of the binary", "21 MB", "18 MB"),
    ("Bytes in the log for one request", "410", "260"),
    ("Tests that need a clock", "37", "4"),
]

# an English term, what it becomes, and why
WORDS = [
    ("miss", "未命中", "Literally “not hit”: one does not miss, one fails to hit."),
    ("stale", "陈旧", "As of bread, and of news."),
    ("purge", "清除", "Friendlier than the English word."),
    ("upstream", "上游", "The river is the same river in both."),
    ("warm", "预热", "One warms it beforehand, like a teapot."),
    ("origin", "源站", "The station where the water starts."),
    ("edge", "边缘", "Where things are close to people."),
]

PLACES = ["node table", "purge dialog", "log at night", "page for one key", "map of all nodes"]
