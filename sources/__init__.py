"""What each service says, and how far we have read. Imports nothing from pipelines/."""

import sys

# httpx loads its own command line, with rich and pygments, if it finds them: 20 ms of every run
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
