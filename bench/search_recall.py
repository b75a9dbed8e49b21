"""`python -m bench.search_recall FOLDER`: the demo read into it, and how many of twenty questions find their answer."""

import asyncio
import json
import sys
from pathlib import Path

from pipelines.demo import demo_sources
from pipelines.search.embedders import configured_embedder
from pipelines.search.query import search
from pipelines.settings import EmbedConfig
from pipelines.sync.run import Options, sync
from pipelines.warehouse.data_dir import DataDir
from tests.relevance import recall

__all__: list[str] = []


def main(folder: Path) -> None:
    embedder = configured_embedder(EmbedConfig())
    asyncio.run(sync(DataDir(folder), demo_sources(0), Options(keep_payloads=False, embedder=embedder)))
    modes = ["keyword", "semantic", "hybrid"] if embedder else ["keyword"]

    def found(mode: str) -> float:
        return recall(lambda text: [hit.document_key for hit in search(text, mode=mode, data=folder)])

    print(json.dumps({mode: found(mode) for mode in modes}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
