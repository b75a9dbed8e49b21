"""Notebooks, served as a reader starts them and seen in a browser."""

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["ROOT", "Page", "brightness", "browsing", "serving"]

ROOT = Path(__file__).parent.parent
BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip


@contextmanager
def browsing() -> Iterator[Any]:
    if BROWSER is None or importlib.util.find_spec("playwright") is None:
        pytest.skip("needs Debian's chromium-headless-shell and the extra [browser]: .ci/run installs both")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=BROWSER, args=list(QUIET))
        yield found
        found.close()


@contextmanager
def serving(notebook: str, data: Path) -> Iterator[str]:
    """`marimo run`, until it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "marimo", "run", f"notebooks/{notebook}.py", "--headless", "-p", str(port)]
    environ = {**os.environ, "EARSHOT_DATA": str(data)}
    server = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with socket.socket() as knock:
                if knock.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None, "marimo did not start"
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


class Page:
    """What a reader sees and clicks; and what the page asked for and complained of."""

    def __init__(self, browser: Any, url: str, theme: str = "light", width: int = 1280, asked: str = "") -> None:
        self.complaints: list[str] = []
        self.outside: list[str] = []
        context = browser.new_context(color_scheme=theme, viewport={"width": width, "height": 1000})
        self.page = context.new_page()
        self.page.on("console", lambda said: said.type == "error" and self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        ours = (url, url.replace("http", "ws", 1), "data:", "blob:")
        self.page.on("request", lambda request: request.url.startswith(ours) or self.outside.append(request.url))
        self.page.goto(f"{url}{asked}")

    def keep(self, name: str) -> None:
        """For whoever wants to look: build/ is nobody's but this machine's."""
        folder = ROOT / "build" / "notebooks"
        folder.mkdir(parents=True, exist_ok=True)
        self.page.mouse.move(0, 0)
        self.page.screenshot(path=folder / f"{name}.png")


def brightness(colour: str) -> float:
    """Of `rgb(24, 28, 26)` or `color(srgb 0.09 0.11 0.10)`: 0 is black, 1 is white."""
    parts = [float(part) for part in re.findall(r"[\d.]+", colour)][:3]
    return sum(parts) / 3 / (1 if "srgb" in colour else 255)
