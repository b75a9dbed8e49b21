"""Twenty questions about the demo story and the document that answers each: what `make bench` prints recall of, and the
tests hold a floor to. Asked in the words of somebody who does not know how it was said.
"""

from collections.abc import Callable, Sequence

__all__ = ["QUESTIONS", "recall"]

QUESTIONS = [
    ("Where did we discuss token rotation?", "github:1001:13"),
    ("secrets reread from disk when they change", "github:1001:18"),
    ("many identical requests hit the origin when a popular page expires", "github:1001:2"),
    ("memory leak, node gets killed after a week", "github:1001:9"),
    ("terminal escape sequences in log files", "github:1001:16"),
    ("config setting was renamed and the old one silently ignored", "github:1001:25"),
    ("video player gets wrong bytes from compressed files", "github:1001:21"),
    ("slow origins and histogram buckets", "github:1001:30"),
    ("drop support for old Go versions", "github:1001:37"),
    ("same URL with different percent encoding is cached twice", "github:1001:34"),
    ("blind users cannot switch between code samples", "github:1002:1"),
    ("text hard to read on dark background, contrast too low", "github:1002:11"),
    ("documentation for older releases", "github:1002:13"),
    ("words with hyphens are not found by the manual's search", "github:1002:4"),
    ("user stays logged in after logging out", "gitlab:1001:#7"),
    ("someone deleted everything in the wrong environment", "gitlab:1001:#3"),
    ("browser uses too much memory showing logs", "gitlab:1001:#5"),
    ("old browser shows a blank page", "gitlab:1001:#10"),
    ("time zone confusion, hours look wrong", "gitlab:1001:#8"),
    ("chart with log scale for percentiles", "gitlab:1002:#2"),
]


def recall(find: Callable[[str], Sequence[str]], first: int = 5) -> float:
    """How many of the questions have their document among the first."""
    return sum(expected in list(find(question))[:first] for question, expected in QUESTIONS) / len(QUESTIONS)
