"""Runs of the workload `requests`: each one is a process that starts the target and asks it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo.cache import made_folder
from prumo.errors import InputError, UnavailableError
from prumo.results.folder import JOURNAL_FILE, TASK_FILE
from prumo.run.worker import Launch
from prumo.run.workloads import Launcher
from prumo.study import Adaptive
from prumo.study.scenario import level_text
from prumo.version import __version__
from prumo_endpoint.bodies import drawn_body, read_body
from prumo_endpoint.load.request_table import MOST_REQUESTS
from prumo_endpoint.traces import Trace
from prumo_endpoint.workload import Requests

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.progress import Progress
    from prumo.run.preflight import Preflight
    from prumo.study import Level, Run, Study
    from prumo_endpoint.bodies import Body
    from prumo_endpoint.sagemaker.preflight import PlannedRun
    from prumo_endpoint.sagemaker.session import Session

SAGEMAKER = "sagemaker"
UNTRAINED = "untrained:"
FULL_PRECISION = "fp32"
IMAGE_ENDINGS = frozenset({".jpg", ".jpeg", ".png"})


class RequestsLauncher(Launcher):
    """Starts `python -m prumo_endpoint.experiment` for each run."""

    def __init__(self, study: Study, progress: Progress) -> None:
        super().__init__(study, progress)
        if not isinstance(study.workload, Requests):
            raise TypeError(f"{study.name} is not a study of requests")
        if find_spec("httptools") is None:
            raise UnavailableError(
                "requests are sent with httptools: install it with pip install 'prumo[endpoint]'"
            )
        self._workload = study.workload
        self._folder = study.folder.absolute()
        self._payloads = payload_files(study, study.workload)
        self._session: Session | None = None

    def prepare(self, runs: Sequence[Run]) -> None:
        """Make untrained models; refuse models, traces and loads that cannot be used."""
        traces = set()
        for run in runs:
            parameters = self._resolved(run.scenario.parameters)
            for name in ("model", "trace"):
                path = parameters.get(name)
                if path is None or Path(path).exists():
                    continue
                section = "factors" if name in self.study.factors else "fixed"
                if Path(path).parent != untrained_folder():
                    raise self.study.error((section, name), f"there is nothing at {path}")
                try:
                    make_untrained(Path(path), self.progress)
                except InputError as error:
                    raise self.study.error((section, name), str(error)) from error
            if parameters["experiment"] == "trace" and parameters["trace"] not in traces:
                traces.add(parameters["trace"])
                self._require_calls("trace", _calls(Path(parameters["trace"])))
            elif parameters["experiment"] == "open-loop":
                self._require_calls("rate", int(parameters["rate"] * parameters["seconds"]))

    def _require_calls(self, name: str, calls: int) -> None:
        """Refuse a load whose requests would not fit into memory."""
        if calls > MOST_REQUESTS:
            section = "factors" if name in self.study.factors else "fixed"
            message = f"a run sends at most {MOST_REQUESTS:,} requests, and these are more"
            raise self.study.error((section, name), message)

    def preflight(
        self, runs: Sequence[Run], results: Path, max_cost_usd: float | None
    ) -> Preflight | None:
        """What runs on SageMaker need and cost; None where there are none."""
        on_sagemaker = {
            run.name: self._resolved(run.scenario.parameters)
            for run in runs
            if run.scenario.parameters["target"] == SAGEMAKER
        }
        if not on_sagemaker:
            return None
        # boto3 is large, and only these runs need it.
        from prumo_endpoint.sagemaker.session import Session  # noqa: PLC0415

        planned = {name: self._planned(parameters) for name, parameters in on_sagemaker.items()}
        is_adaptive = isinstance(self.study.replications, Adaptive)
        self._session = Session(
            results, self.study.name, planned, self.progress, max_cost_usd, is_adaptive=is_adaptive
        )
        bodies = read_payloads(self._payloads, self._workload.content_type)
        largest = max(len(body.content) for _, body in bodies)
        regions = {self._region(parameters) for parameters in on_sagemaker.values()}
        return self._session.preflight(regions, largest)

    def close(self) -> None:
        """Remove what was created for the runs."""
        if self._session is not None:
            self._session.close()

    def launch(self, run: Run, folder: Path) -> Launch:
        """Start the experiment of one run."""
        parameters = self._resolved(run.scenario.parameters)
        known_boots: list[str] | None = None
        if parameters["target"] == SAGEMAKER:
            parameters["region"] = self._region(parameters)
            if parameters.get("address") is None and self._session is not None:
                planned = self._planned(parameters)
                name = self._session.endpoint(run.name, planned, folder)
                parameters["address"], known_boots = name, self._session.known_boots(name)
        parameters["seed"] = int(parameters["seed"]) + run.replication - 1
        task = {
            "run": run.name,
            "journal": str(folder / JOURNAL_FILE),
            "kind": "requests",
            "parameters": parameters,
            "payloads": [str(path) for path in self._payloads],
            "content_type": self._workload.content_type,
            "known_boots": known_boots,
        }
        return Launch(
            command=[sys.executable, "-m", "prumo_endpoint.experiment", str(folder / TASK_FILE)],
            directory=self._folder,
            environment=os.environ,
            task=task,
        )

    def _planned(self, parameters: Mapping[str, Any]) -> PlannedRun:
        from prumo_endpoint.sagemaker.deployment import deployment_of  # noqa: PLC0415
        from prumo_endpoint.sagemaker.preflight import (  # noqa: PLC0415
            PlannedRun,
            planned_seconds,
        )

        is_there = parameters.get("address") is not None
        deployment = None if is_there else deployment_of(parameters, self._region(parameters))
        return PlannedRun(deployment, *planned_seconds(parameters))

    def _region(self, parameters: Mapping[str, Any]) -> str:
        """The study's own, that of the machine's price, or that of AWS's configuration."""
        from prumo_endpoint.sagemaker.account import Account  # noqa: PLC0415

        label = str(parameters.get("machine") or parameters.get("environment"))
        machine = self.study.machines.get(label)
        price = machine.price if machine is not None and machine.price is not None else ""
        named: str | None = parameters.get("region") or price.partition("@")[2] or None
        return named or Account().region

    def _resolved(self, parameters: Mapping[str, Level]) -> dict[str, Any]:
        """The parameters with placeholders filled in and paths made absolute."""
        try:
            return self._filled(parameters)
        except KeyError as error:
            name = "address" if "address" in parameters else "model"
            section = "factors" if name in self.study.factors else "fixed"
            message = f"'{{{error.args[0]}}}' has no value in this study"
            raise self.study.error((section, name), message) from error

    def _filled(self, parameters: Mapping[str, Level]) -> dict[str, Any]:
        filled: dict[str, Any] = dict(parameters)
        texts = {name: level_text(level) for name, level in parameters.items()}
        if "model" in filled:
            model = str(filled["model"]).format_map(texts)
            network = model.removeprefix(UNTRAINED)
            is_untrained = model.startswith(UNTRAINED)
            if is_untrained and texts.get("precision", FULL_PRECISION) != FULL_PRECISION:
                network = f"{network}-{texts['precision']}"
            place = untrained_folder() if is_untrained else self._folder
            texts["model"] = filled["model"] = str(place / Path(network).expanduser())
        if "address" in filled:
            filled["address"] = str(filled["address"]).format_map(texts)
        if "trace" in filled:
            filled["trace"] = str(self._folder / Path(str(filled["trace"])).expanduser())
        return filled


def _calls(trace: Path) -> int:
    """How many calls a trace has, more or less where they are too many; a bad line is refused."""
    calls = 0
    for batch in Trace(trace).batches():
        calls += len(batch)
        if calls > MOST_REQUESTS:
            break
    return calls


def untrained_folder() -> Path:
    """Where models with random weights are kept, for this version of Prumo."""
    return made_folder("untrained") / __version__


def make_untrained(out: Path, progress: Progress) -> None:
    """Package the network and precision that the folder's name says, with random weights."""
    progress.show(f"packaging {out.name} with random weights")
    out.parent.mkdir(parents=True, exist_ok=True)
    network, _, precision = out.name.partition("-")
    words = [network, "--precision", precision or FULL_PRECISION, "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "prumo", "model", "untrained", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise InputError(lines[-1].removeprefix("prumo: ") if lines else f"cannot make {out}")


def payload_files(study: Study, workload: Requests) -> list[Path]:
    """The files that are sent, in the order of their names; none where an image is drawn."""
    if workload.payload is None:
        return []
    path = study.folder.absolute() / Path(workload.payload).expanduser()
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise study.error(("workload", "payload"), f"there is nothing at {path}")
    files = sorted(each for each in path.iterdir() if each.suffix.lower() in IMAGE_ENDINGS)
    if not files:
        raise study.error(("workload", "payload"), f"{path} has no JPEG or PNG files")
    return files


def read_payloads(paths: Sequence[Path], content_type: str | None) -> list[tuple[str, Body]]:
    """Name and body of each file; a drawn image where there are none."""
    if not paths:
        return [("drawn image", drawn_body())]
    try:
        return [(path.name, read_body(path, content_type)) for path in paths]
    except OSError as error:
        raise InputError(f"cannot read a payload: {error}") from error
