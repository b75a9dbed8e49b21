"""The storm: what people, services, networks and power cuts can do to all three sources at once, by chance and for long.

python -m tests.storm --operations 1000000 --kills 1000 --seed 1 --minutes 45

A *round* begins with small worlds and an empty data directory: twenty or so runs, operations before and in the middle of
each, faults, places that answer 404 for a while, records that cannot be read for a while, wrong clocks, and kill -9. It
ends in a calm, in which everything has to be right. Rounds are drawn from the seed alone (`plan.py`), so one of them can
be played again: `python -m tests.storm --replay SEED.WORKER.ROUND`, which also makes it smaller with `--shrink`.

What is right is told by the worlds, never by the code: what exists, what was ever said, and which of it no plain run can
see, each by a fact about the service (`github.py`, `gitlab.py`, `bluesky.py`: `unseen`).

A run happens in a forked process, over a copy of the worlds (`child.py`). The operations that come amid it are part of
the plan; the child only says how many it came to before it ended or was killed, and they then happen to the world that
goes on. So nothing needs a socket, and a killed process leaves a world that knows what it was told.
"""
