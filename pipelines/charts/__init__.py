"""What the notebooks share: short questions to the published file, charts, and other people's words as plain text.

Needs the extra `[notebooks]`; nothing else in the package imports it.
"""

from pipelines.ask.query.health import judge, remedy
from pipelines.charts.discussions import discussions, find
from pipelines.charts.drawn import over_time, ranked, run_by_run, spread
from pipelines.charts.live import Chosen, begin, beside, clock, numbers
from pipelines.charts.page import table, title
from pipelines.charts.questions import Nothing, ask, bounds, control, held, ledger
from pipelines.charts.spans import PERIODS, length, length_of, period

__all__ = [
    "PERIODS",
    "Chosen",
    "Nothing",
    "ask",
    "begin",
    "beside",
    "bounds",
    "clock",
    "control",
    "discussions",
    "find",
    "held",
    "judge",
    "ledger",
    "length",
    "length_of",
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
