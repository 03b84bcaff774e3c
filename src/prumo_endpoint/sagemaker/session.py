"""The endpoints of one `prumo run`: created when a run first needs one, removed after its last."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import PrumoError, UnavailableError
from prumo.run.preflight import BudgetError, Preflight
from prumo_endpoint.ledger import Ledger, Resource, State
from prumo_endpoint.load.request_table import REQUESTS_FILE, read_requests
from prumo_endpoint.sagemaker import LEDGER_FILE
from prumo_endpoint.sagemaker.account import Account
from prumo_endpoint.sagemaker.deployment import Creator, Deployment
from prumo_endpoint.sagemaker.keeper import Keeper
from prumo_endpoint.sagemaker.preflight import CREATION_SECONDS, Costs, PlannedRun, findings
from prumo_endpoint.sagemaker.resources import ENDPOINT

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        self._last: tuple[Deployment, Path] | None = None
        self._watch: _BudgetWatch | None = None

    def preflight(self, regions: set[str], largest_payload: int) -> Preflight:
        """What the planned runs need and cost."""
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
        self._last = (deployment, folder)
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
            self._watch = _BudgetWatch(self.ledger, self._max_cost_usd)
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
        last, self._last = self._last, None
        if last is None or not last[0].is_serverless:
            return
        deployment, folder = last
        with suppress(OSError):
            seconds = sum(row.service_seconds for row in read_requests(folder / REQUESTS_FILE))
            usd = seconds * self._costs.rates.get(deployment, 0.0)
            resource = Resource(ENDPOINT, self._names[deployment], deployment.region)
            self.ledger.record(resource, State.USED, usd)

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


class _BudgetWatch:
    """Interrupts this process, as Ctrl-C does, when the money is spent in the middle of a run."""

    def __init__(self, ledger: Ledger, max_cost_usd: float) -> None:
        self._ledger = ledger
        self._max_cost_usd = max_cost_usd
        self._ended = threading.Event()
        self.is_reached = False
        threading.Thread(target=self._look, daemon=True).start()

    def close(self) -> None:
        """Look no longer."""
        self._ended.set()

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            try:
                is_spent = self._ledger.spent_usd() > self._max_cost_usd
            except Exception:  # noqa: BLE001 (what cannot be counted must not be spent)
                is_spent = True
            if is_spent:
                self.is_reached = True
                os.kill(os.getpid(), signal.SIGINT)
                return
