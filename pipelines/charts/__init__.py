"""What the notebooks share: short questions to the published file, charts, and other people's words as plain text.

Needs the extra `[notebooks]`; nothing else in the package imports it.
"""

from pipelines.ask.query.health import judge, remedy
from pipelines.charts.discussions import discussions, find, hits_of
from pipelines.charts.drawn import over_time, ranked, run_by_run, spread
from pipelines.charts.live import Chosen, begin, beside, clock, numbers
from pipelines.charts.page import nothing, table, title
from pipelines.charts.questions import Nothing, ask, asking, bounds, control, held, ledger
from pipelines.charts.spans import PERIODS, length, length_of, period

__all__ = [
    "PERIODS",
    "Chosen",
    "Nothing",
    "ask",
    "asking",
    "begin",
    "beside",
    "bounds",
    "clock",
    "control",
    "discussions",
    "find",
    "held",
    "hits_of",
    "judge",
    "ledger",
    "length",
    "length_of",
    "nothing",
    "numbers",
    "over_time",
    "period",
    "ranked",
    "remedy",
    "run_by_run",
    "spread",
    "table",
    "title",
]
