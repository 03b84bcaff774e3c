"""The endpoints of one `prumo run`: created when a run first needs one, removed after its last."""

from __future__ import annotations

import csv
import math
import os
import signal
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import PrumoError, UnavailableError
from prumo.run.preflight import BudgetError, Preflight
from prumo_endpoint.ledger import Ledger, Resource, State
from prumo_endpoint.load.request_table import COLUMNS, REQUESTS_FILE, Row, read_requests
from prumo_endpoint.sagemaker import LEDGER_FILE
from prumo_endpoint.sagemaker.account import Account
from prumo_endpoint.sagemaker.deployment import Creator, Deployment
from prumo_endpoint.sagemaker.keeper import Keeper
from prumo_endpoint.sagemaker.preflight import CREATION_SECONDS, Costs, PlannedRun, findings
from prumo_endpoint.sagemaker.resources import ENDPOINT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prumo.progress import Progress

_LOOK_SECONDS = 1.0
_HOUR = 3600


class Session:
    """Endpoints by their deployment, a keeper, and the money.

    session = Session(results, study.name, planned, progress, max_cost_usd, is_adaptive=False)
    session.preflight(largest_payload)
    name = session.endpoint(run_name, folder)  # for one run after the other
    session.close()
    """

    def __init__(  # noqa: PLR0913 (what one `prumo run` knows)
        self,
        results: Path,
        study: str,
        planned: Mapping[str, PlannedRun],
        progress: Progress,
        max_cost_usd: float | None,
        *,
        is_adaptive: bool,
    ) -> None:
        self._planned = planned
        self._progress = progress
        self._max_cost_usd = max_cost_usd
        self._is_adaptive = is_adaptive
        self.ledger = Ledger(results / LEDGER_FILE)
        self._costs = Costs(list(planned.values()))
        self._creator = Creator(self.ledger, progress, study)
        self._keeper: Keeper | None = None
        self._accounts: dict[str, Account] = {}
        self._names: dict[Deployment, str] = {}
        self._failures: dict[Deployment, str] = {}
        self._left = Counter(run.deployment for run in planned.values())
        self._folders: dict[str, list[Path]] = {}
        self._use: _Use | None = None
        self._watch: _BudgetWatch | None = None

    def preflight(self, regions: set[str], largest_payload: int) -> Preflight:
        """What the planned runs need and cost."""
        self._costs.request_bytes = largest_payload
        self._accounts = {region: Account(region) for region in sorted(regions)}
        spent = self.ledger.spent_usd()
        runs = list(self._planned.values())
        lines = findings(runs, self._accounts, self._costs, largest_payload, spent)
        if remaining := self.ledger.remaining():
            lines.append(f"{len(remaining)} resources of an earlier run are removed first")
        total = self._costs.total_usd
        return Preflight(tuple(lines), None if total is None else total + spent)

    def endpoint(self, run: str, planned: PlannedRun, folder: Path) -> str:
        """The name of the endpoint of a run that starts now.

        Raises:
            BudgetError: The run might cost more than is left.
            UnavailableError: It cannot be created.
        """
        deployment = planned.deployment
        assert deployment is not None  # noqa: S101 (others have an address)
        self._settle()
        self._release_unneeded(deployment)
        is_new = deployment not in self._names
        self._require_budget(run, planned, is_new=is_new)
        if deployment in self._failures:
            raise UnavailableError(self._failures[deployment])
        if is_new:
            self._names[deployment] = self._create(deployment)
        self._left[deployment] -= 1
        name = self._names[deployment]
        self._folders.setdefault(name, []).append(folder)
        self._use = _Use(deployment, folder / REQUESTS_FILE) if deployment.is_serverless else None
        return name

    def known_boots(self, name: str) -> list[str]:
        """The boots that earlier runs had answers from."""
        boots: dict[str, None] = {}
        for folder in self._folders.get(name, ()):
            with suppress(OSError):
                rows = read_requests(folder / REQUESTS_FILE)
                boots |= dict.fromkeys(row.boot_id for row in rows if row.boot_id)
        return list(boots)

    def close(self) -> None:
        """Remove everything; BudgetError if the money was what ended the study."""
        if self._watch is not None:
            self._watch.close()
        try:
            self._settle()
        finally:
            remaining = self._removed()
        if remaining:
            raise PrumoError(
                f"{len(remaining)} resources may still exist and cost money; the keeper's log "
                f"beside {self.ledger.path} says how to remove them"
            )
        if self._watch is not None and self._watch.is_reached:
            raise self._budget_error("the current run was stopped")

    def _removed(self) -> list[Resource]:
        """Remove everything; what remains."""
        if self._keeper is None:
            return []
        self._progress.show("removing what was created")
        remaining = self._keeper.close()
        self._progress.say(f"spent on SageMaker: about ${self.ledger.spent_usd():.2f}")
        return remaining

    def _create(self, deployment: Deployment) -> str:
        if self._keeper is None:
            self._keeper = Keeper(self.ledger, self._progress)
        if self._max_cost_usd is not None and self._watch is None:
            self._watch = _BudgetWatch(self._spent_usd, self._max_cost_usd)
        account = self._accounts.setdefault(deployment.region, Account(deployment.region))
        hourly = None if deployment.is_serverless else self._costs.rates.get(deployment)
        before = {entry.resource.group for entry in self.ledger.remaining()}
        try:
            return self._creator.create(deployment, account, hourly)
        except UnavailableError as error:
            self._failures[deployment] = str(error)
            for group in {entry.resource.group for entry in self.ledger.remaining()} - before:
                if group:
                    self._keeper.remove(group)
            raise

    def _settle(self) -> None:
        """Put what the last run used on the bill, where use is paid for."""
        use, self._use = self._use, None
        if use is None:
            return
        name, region = self._names[use.deployment], use.deployment.region
        usd = self._costs.used_usd(use.deployment, *use.read())
        self.ledger.record(Resource(ENDPOINT, name, region), State.USED, usd)

    def _spent_usd(self) -> float:
        """Until now, with what the current run has used so far."""
        # In this order: a run that is put on the bill meanwhile must not count twice.
        spent, use = self.ledger.spent_usd(), self._use
        return spent if use is None else spent + self._costs.used_usd(use.deployment, *use.read())

    def _release_unneeded(self, needed: Deployment) -> None:
        """Remove endpoints that no later run of the plan uses."""
        if self._is_adaptive:
            return
        for deployment in list(self._names):
            if deployment != needed and self._left[deployment] <= 0 and self._keeper is not None:
                self._progress.show(f"removing endpoint {self._names[deployment]}")
                self._keeper.remove(self._names.pop(deployment))

    def _require_budget(self, run: str, planned: PlannedRun, *, is_new: bool) -> None:
        if self._max_cost_usd is None:
            return
        usd = self._costs.run_usd(planned)
        if is_new and planned.deployment and not planned.deployment.is_serverless:
            usd += CREATION_SECONDS * self._costs.rates.get(planned.deployment, 0.0) / _HOUR
        if self.ledger.spent_usd() + usd > self._max_cost_usd:
            raise self._budget_error(f"{run} would cost up to ${usd:.2f} more")

    def _budget_error(self, why: str) -> BudgetError:
        return BudgetError(
            f"about ${self.ledger.spent_usd():.2f} of --max-cost {self._max_cost_usd:g} is spent, "
            f"and {why}; everything that finished is kept. Go on with a higher --max-cost"
        )


class _Use:
    """The seconds and bytes of a run's requests so far; only what is new is read."""

    def __init__(self, deployment: Deployment, path: Path) -> None:
        self.deployment = deployment
        self._path = path
        self._since = time.time()
        self._place = 0
        self._seconds = 0.0
        self._bytes = 0
        self._reading = threading.Lock()

    def read(self) -> tuple[float, int]:
        """Of the requests that have ended, also of those that failed."""
        with self._reading, suppress(OSError):
            # An earlier attempt at the run may have left a table.
            if self._path.stat().st_mtime >= self._since:
                with self._path.open("rb") as file:
                    file.seek(self._place)
                    whole, end, _ = file.read().rpartition(b"\n")
                self._place += len(whole + end)
                self._add(whole.decode("utf-8", "replace").split("\n"))
        return self._seconds, self._bytes

    def _add(self, lines: list[str]) -> None:
        for cells in csv.DictReader(lines, COLUMNS):
            # The heads are no request.
            with suppress(KeyError, ValueError, TypeError):
                row = Row.read(cells)
                self._seconds += math.ceil(1e3 * row.service_seconds) / 1e3
                self._bytes += row.sent_bytes + row.received_bytes


class _BudgetWatch:
    """Interrupts this process, as Ctrl-C does, when the money is spent in the middle of a run."""

    def __init__(self, spent_usd: Callable[[], float], max_cost_usd: float) -> None:
        self._spent_usd = spent_usd
        self._max_cost_usd = max_cost_usd
        self._ended = threading.Event()
        self.is_reached = False
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Look no longer: no interrupt comes after this."""
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            try:
                is_spent = self._spent_usd() > self._max_cost_usd
            except Exception:  # noqa: BLE001 (what cannot be counted must not be spent)
                is_spent = True
            if is_spent and not self._ended.is_set():
                self.is_reached = True
                os.kill(os.getpid(), signal.SIGINT)
                return
