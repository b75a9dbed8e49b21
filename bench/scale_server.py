"""The Postgres server of bench/scale.py, as a process of its own: a database's address for every line it is given."""

import sys

from tests.servers import cluster, programs


def main() -> int:
    if programs() is None:
        return 1
    with cluster() as server:
        print("ready", flush=True)
        for _ in sys.stdin:
            print(server.url(server.database()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
