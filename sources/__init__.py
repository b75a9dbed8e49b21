"""What each service says, and how far we have read. Imports nothing from pipelines/."""

import sys
from importlib.util import find_spec

# httpcore asks for this library ten times a request; looking for it in vain takes a tenth of what reading takes
if find_spec("sniffio") is None:
    sys.modules["sniffio"] = None  # type: ignore[assignment]
# httpx loads its own command line, with rich and pygments, if it finds them: 20 ms of every run
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
