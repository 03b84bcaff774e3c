"""`prumo --version` against a Python that does nothing. Limit: at most 8 times as long."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

LIMIT = 8.0
TURNS = 25


def main() -> int:
    prumo = [str(Path(sys.executable).parent / "prumo"), "--version"]
    nothing = [sys.executable, "-c", "pass"]
    ratio = median(seconds(prumo) / seconds(nothing) for _ in range(TURNS))
    print(f"prumo --version takes {ratio:.2f} times `python -c pass` (limit {LIMIT})")
    return int(ratio > LIMIT)


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
