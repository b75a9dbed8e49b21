"""Batches of a made-up source into a real warehouse, as a run lands them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import dlt

from pipelines.sync.source.pipeline import SourcePipeline
from pipelines.warehouse.data_dir import DataDir
from sources.core.http.client import Api
from sources.core.reading import Batch, Reading, Walk
from sources.core.surfaces import Fills
from sources.core.values import Table
from sources.extraction import RECHECKS, Extraction
from sources.pipes import rest

__all__ = ["extracted", "landed", "opened"]


def opened(home: DataDir, tables: tuple[Table, ...], fills: Fills, name: str = "talk", **more: Any) -> SourcePipeline:
    return SourcePipeline.open(home, name, tables, fills, **more)


def extracted(pipeline: SourcePipeline, *batches: Batch, **more: Any) -> Extraction:
    """A package of these batches, which is not loaded."""

    async def ready() -> AsyncIterator[Batch]:
        for batch in batches:
            yield batch

    def begun(api: Api, saved: Mapping[str, Mapping[str, object]], is_new: bool) -> Reading:
        return Reading(api, saved, is_new=is_new)

    api = cast(Api, SimpleNamespace(now=None))
    extraction = Extraction(
        lambda: nullcontext(api), pipeline.fills, begun=begun, is_runs=True, saved=pipeline.kept, **more
    )
    extraction.walks = iter([Walk("", "1", ready())])
    lists = [dlt.resource([], name=name) for name in pipeline.fills if name != RECHECKS]
    source = dlt.source(lambda: [*lists, *rest(extraction)], name=pipeline.source, section=pipeline.source)()
    pipeline.extract(source.with_resources(RECHECKS))
    return extraction


def landed(pipeline: SourcePipeline, *batches: Batch) -> SourcePipeline:
    pipeline.load(extracted(pipeline, *batches).moved, {})
    return pipeline
