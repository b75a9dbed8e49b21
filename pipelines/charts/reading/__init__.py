"""The reading page: its list, one discussion whole, what changed in it. Others' words are text, here as everywhere."""

from pipelines.ask.format.discussion import discussions, with_media
from pipelines.ask.query.names import names
from pipelines.charts.reading.look import beside
from pipelines.charts.reading.rows import listed, openers
from pipelines.charts.reading.thread import Told, page
from pipelines.charts.reading.which import Found, which

__all__ = ["Found", "Told", "beside", "discussions", "listed", "names", "openers", "page", "which", "with_media"]
