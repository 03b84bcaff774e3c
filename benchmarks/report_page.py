"""The report page of 48 scenarios in 5 replications, against limits of size and of opening time.

    python -m benchmarks.report_page

The page is made by `prumo report` in a process of its own and opened by a real Chromium, which is
timed until everything is laid out and painted. The fastest of a few turns counts, since other
programs can only add to a time. How long the page takes to make is told without a limit.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from benchmarks.analysis import RUNS, SCENARIOS, write_results

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BYTES_LIMIT = 5_000_000
SECONDS_LIMIT = 2.0
SAMPLES_PER_RUN = 600
TURNS = 5
BROWSERS = ("chromium", "google-chrome")
RATE = {
    "price": "azure/Standard_F4s_v2@eastus",
    "kind": "machine",
    "purchase": "on_demand",
    "amount": 0.169,
    "unit": "hour",
    "currency": "USD",
    "billing": "per_second",
    "as_of": "2026-11-01",
    "source": "a benchmark",
}
PAINTED = """() => new Promise(done =>
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"""


def main() -> int:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        print("report page: no Chromium on this machine, so nothing was measured")
        return int(bool(os.environ.get("CI")))
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        write_results(results, RUNS * SAMPLES_PER_RUN)
        prices = {"made": "2026-11-01", "rates": {"": RATE}}
        (results / "prices.json").write_text(json.dumps(prices))
        page = results / "report.html"
        made_seconds = made(results, page)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            opened_seconds = min(opened(browser, page) for _ in range(TURNS))
            browser.close()
        return judged(page.stat().st_size, opened_seconds, made_seconds)


def made(results: Path, page: Path) -> float:
    command = [sys.executable, "-m", "prumo", "report", str(results), "--out", str(page)]
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def opened(browser: Browser, page: Path) -> float:
    """Seconds from asking for the page until its second frame is painted."""
    tab = browser.new_page()
    tab.goto(page.as_uri())
    milliseconds: float = tab.evaluate(PAINTED)
    tab.close()
    return milliseconds / 1000


def judged(size_bytes: int, opened_seconds: float, made_seconds: float) -> int:
    """Print what was measured with each limit; 1 when one is exceeded."""
    print(f"the report page of {SCENARIOS} scenarios and {RUNS} runs")
    print(f"size    {size_bytes / 1e6:.2f} MB (limit {BYTES_LIMIT / 1e6:.0f} MB)")
    print(f"opened  {opened_seconds:.2f} s in Chromium (limit {SECONDS_LIMIT:.0f} s)")
    print(f"made    {made_seconds:.1f} s")
    return int(size_bytes > BYTES_LIMIT or opened_seconds > SECONDS_LIMIT)


if __name__ == "__main__":
    sys.exit(main())
