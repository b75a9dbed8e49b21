"""The paper plan of docs/scale.md, worked out from what `bench scale` measured.

python -m bench scale --json > scale.json; python -m bench.plan scale.json docs/scale.md
"""

import json
import sys
from math import ceil
from pathlib import Path
from typing import Any

ACCOUNTS, REPOSITORIES = 1_000_000, 100_000
HOUR = 3600
APPVIEW = 10 * HOUR  # requests an hour and address: 3,000 in five minutes, what a PDS grants; the AppView tells nothing
CONDITIONAL = 5  # requests of an unchanged repository, all answered 304, which GitHub does not count
CHANGED = 13  # of one with news: five lists, the pull request, its reviews, what does not add up
QUOTA, POINTS = 5_000, 900 * 60  # of a GitHub token an hour: counted requests, and any requests at all
BUSY = 0.02  # of the repositories have news in an hour


def main() -> int:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    told = json.loads(source.read_text(encoding="utf-8"))
    lines = {line["name"]: line for line in told["data"]["scale"]["lines"]}
    text = target.read_text(encoding="utf-8")
    for name, block in (("measured", measured(told)), ("plan", plan(lines))):
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        text = before + mark + block + "\n" + rest[rest.index("<!-- end -->") :]
    target.write_text(text, encoding="utf-8")
    return 0


def measured(told: dict[str, Any]) -> str:
    shape = "| {name} | {wall:.0f} s | {cpu:.0f} s | {rss_mb:.0f} MB | {requests:,} | {rows:,} |"
    rows = [shape.format(**line) for line in told["data"]["scale"]["lines"]]
    met = {True: "reached", False: "missed", None: "not judged"}
    targets = [f"- {met[each['is_met']]}: {each['name']}: {each['found']}" for each in told["data"]["scale"]["targets"]]
    head = f"{told['data']['scale']['about']}; {told['meta']['machine']}."
    table = "| run | slowest | CPU of all | peak of one | requests | rows |\n|---|---|---|---|---|---|"
    return "\n".join([head, "", table, *rows, "", *targets])


def plan(lines: dict[str, Any]) -> str:
    first = next(line for name, line in lines.items() if "accounts" in name and name.endswith("first"))
    again = next(line for name, line in lines.items() if "accounts" in name and name.endswith("again"))
    cpu = again["cpu"] / again["requests"]
    polled = APPVIEW  # accounts an hour from one address, one request each
    cores = ACCOUNTS * cpu / HOUR
    whole = REPOSITORIES * CONDITIONAL / POINTS
    busy = REPOSITORIES * BUSY * CHANGED / QUOTA
    rows = [
        ("an unchanged account costs", f"1 request, {cpu * 1000:.1f} ms of a core"),
        ("a new account costs", f"{first['cpu'] / first['requests'] * 1000:.1f} ms of a core"),
        ("rows of a new account with three posts", f"{first['rows'] * 1.0 / again['requests']:.1f}"),
        ("accounts that one address can poll in an hour", f"{polled:,}"),
        (f"cores busy with {ACCOUNTS:,} accounts an hour", f"{cores:.1f}"),
        (f"addresses that polling {ACCOUNTS:,} accounts an hour would take", f"{ceil(ACCOUNTS / polled)}"),
        (f"{REPOSITORIES:,} silent repositories, one token, all asked once", f"{whole:.1f} hours"),
        (f"tokens for them every hour, {BUSY:.0%} with news", f"{max(ceil(whole), ceil(busy))}"),
    ]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


if __name__ == "__main__":
    sys.exit(main())
