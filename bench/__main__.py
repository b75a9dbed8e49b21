"""`python -m bench`: what runs cost, beside the floor measured in the same minutes.

A figure alone says little about another machine, a ratio to a bare program that does the same work says a lot. With
`--quick` the worlds are small and only what does not depend on the machine is judged (requests, packages, files).
Exit code 1: a target was missed.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from platform import python_version

from bench import bluesky, github, gitlab, reader, scale, search, surgical
from bench.measure import BenchError
from bench.outcome import Outcome

BENCHES: dict[str, Callable[[bool], Outcome]] = {
    "github": github.measure, "gitlab": gitlab.measure, "bluesky": bluesky.measure, "reader": reader.measure,
    "search": search.measure, "surgical": surgical.measure, "scale": scale.measure,
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benches", nargs="*", metavar="NAME", help=f"which: {', '.join(BENCHES)}; default: all")
    parser.add_argument("--quick", action="store_true", help="small worlds, one run each: a few seconds")
    parser.add_argument("--json", action="store_true", help="one JSON envelope on stdout")
    options = parser.parse_args()
    if unknown := set(options.benches) - BENCHES.keys():
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; known: {', '.join(BENCHES)}")
    try:
        outcomes = [BENCHES[name](options.quick) for name in options.benches or BENCHES]
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    ok = all(target.is_met is not False for outcome in outcomes for target in outcome.targets)
    if options.json:
        data = {outcome.name: outcome.json() for outcome in outcomes}
        print(json.dumps({"ok": ok, "data": data, "meta": {"machine": _machine(), "quick": options.quick}}))
    else:
        print(f"{_machine()}\n", *(outcome.text() for outcome in outcomes), sep="\n")
    return 0 if ok else 1


def _machine() -> str:
    """What the figures were measured on; others at work on it make them worse than they are."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("dlt", "duckdb", "pyarrow", "httpx"))
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; Python {python_version()}, {libraries}"


if __name__ == "__main__":
    sys.exit(main())
