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
from prumo.study.scenario import level_text
from prumo.version import __version__
from prumo_endpoint.bodies import drawn_body, read_body
from prumo_endpoint.workload import Requests

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.progress import Progress
    from prumo.study import Level, Run, Study
    from prumo_endpoint.bodies import Body

UNTRAINED = "untrained:"
IMAGE_ENDINGS = frozenset({".jpg", ".jpeg", ".png"})


class RequestsLauncher(Launcher):
    """Starts `python -m prumo_endpoint.experiment` for each run."""

    def __init__(self, study: Study, progress: Progress) -> None:
        super().__init__(study, progress)
        if not isinstance(study.workload, Requests):
            raise TypeError(f"{study.name} is not a study of requests")
        if find_spec("httptools") is None:
            raise UnavailableError(
                "requests are sent with httptools: install it with pip install 'prumo[serve]'"
            )
        self._workload = study.workload
        self._folder = study.folder.absolute()
        self._payloads = payload_files(study, study.workload)

    def prepare(self, runs: Sequence[Run]) -> None:
        """Make untrained models; refuse other models and traces that are not there."""
        for run in runs:
            parameters = self._resolved(run.scenario.parameters)
            for name in ("model", "trace"):
                path = parameters.get(name)
                if path is None or Path(path).exists():
                    continue
                if Path(path).parent == untrained_folder():
                    make_untrained(Path(path), self.progress)
                else:
                    section = "factors" if name in self.study.factors else "fixed"
                    raise self.study.error((section, name), f"there is nothing at {path}")

    def launch(self, run: Run, folder: Path) -> Launch:
        """Start the experiment of one run."""
        parameters = self._resolved(run.scenario.parameters)
        parameters["seed"] = int(parameters["seed"]) + run.replication - 1
        task = {
            "run": run.name,
            "journal": str(folder / JOURNAL_FILE),
            "kind": "requests",
            "parameters": parameters,
            "payloads": [str(path) for path in self._payloads],
            "content_type": self._workload.content_type,
        }
        return Launch(
            command=[sys.executable, "-m", "prumo_endpoint.experiment", str(folder / TASK_FILE)],
            directory=self._folder,
            environment=os.environ,
            task=task,
        )

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
            place = untrained_folder() if is_untrained else self._folder
            texts["model"] = filled["model"] = str(place / Path(network).expanduser())
        if "address" in filled:
            filled["address"] = str(filled["address"]).format_map(texts)
        if "trace" in filled:
            filled["trace"] = str(self._folder / Path(str(filled["trace"])).expanduser())
        return filled


def untrained_folder() -> Path:
    """Where models with random weights are kept, for this version of Prumo."""
    return made_folder("untrained") / __version__


def make_untrained(out: Path, progress: Progress) -> None:
    """Package the network of the catalog that the folder's name says, with random weights."""
    progress.show(f"packaging {out.name} with random weights")
    out.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "prumo", "model", "untrained", out.name, "--out", str(out)],
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
