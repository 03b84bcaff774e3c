"""Terraform or OpenTofu, whichever is there, run for its machine-readable output.

It ends with this process: when this one is killed, it is interrupted, finishes the call that it is
in and writes its state; a second run waits for that and goes on from there. Its output goes to a
file, since a broken pipe would kill it before it has written anything.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from prumo.errors import PrumoError, UnavailableError
from prumo.supervise.parent_death import die_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

NAMES = {"terraform": "Terraform", "tofu": "OpenTofu"}
_TOFU_PROVIDERS = ".terraform/providers/registry.opentofu.org"
PLAN_FILE = "plan.bin"
LOG_FILE = "terraform.log"
_LOCK = "-lock-timeout=120s"
_POLL_SECONDS = 0.05
_LAST_LINES = 20


class TerraformError(PrumoError):
    """Terraform or OpenTofu refused or failed; the message has its name and its own words."""


@dataclass(frozen=True)
class Change:
    """What a plan would do to one resource."""

    address: str
    """Such as `module.endpoint.aws_sagemaker_model.this`."""
    kind: str
    """Such as `aws_sagemaker_model`."""
    actions: tuple[str, ...]
    """Of create, update, delete, read and no-op; a replacement has two."""
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    is_tainted: bool = False
    """Whether its creation was cut off, for which Terraform would replace it."""

    @property
    def creates(self) -> bool:
        """Whether something new comes into being."""
        return "create" in self.actions

    @property
    def removes(self) -> bool:
        """Whether something goes."""
        return "delete" in self.actions

    @property
    def is_change(self) -> bool:
        """Whether anything happens at all."""
        return not {"no-op", "read"}.issuperset(self.actions)


@dataclass(frozen=True)
class Step:
    """A resource that Terraform has begun or finished to change."""

    address: str
    action: str
    is_done: bool


class Terraform:
    """The configuration in one folder, with its state."""

    def __init__(self, folder: Path) -> None:
        # A state names the registry of its providers: who wrote it goes on with it.
        is_tofu = (folder / _TOFU_PROVIDERS).is_dir()
        wanted = sorted(NAMES, reverse=is_tofu)
        found = [(path, NAMES[word]) for word in wanted if (path := shutil.which(word))]
        if not found:
            raise UnavailableError(
                "Terraform is not installed, nor OpenTofu: see developer.hashicorp.com/terraform "
                "or opentofu.org, and put `terraform` or `tofu` on the PATH"
            )
        self.program, self.name = found[0]
        self._folder = folder
        self._outputs: dict[str, Any] | None = None

    def init(self) -> None:
        """Fetch the provider that the lock file names, and open the state."""
        self._run("init", "-input=false", "-no-color", "-reconfigure")

    def plan(self, *, destroy: bool = False) -> list[Change]:
        """What has to change; `apply` then does exactly this."""
        words = ["-destroy"] if destroy else []
        for _ in self._events("plan", "-input=false", "-json", _LOCK, f"-out={PLAN_FILE}", *words):
            pass
        document = json.loads(self._run("show", "-json", PLAN_FILE))
        return [
            Change(
                address=change["address"],
                kind=change["type"],
                actions=tuple(change["change"]["actions"]),
                before=change["change"]["before"] or {},
                after=change["change"]["after"] or {},
                is_tainted=change.get("action_reason") == "replace_because_tainted",
            )
            for change in document.get("resource_changes", [])
            if change["mode"] == "managed"
        ]

    def apply(self, listener: Callable[[Step], None]) -> None:
        """Carry out the last plan."""
        self._outputs = None
        for event in self._events(
            "apply", "-input=false", "-json", _LOCK, "-auto-approve", PLAN_FILE
        ):
            hook = event.get("hook", {})
            if event["type"] in {"apply_start", "apply_complete"}:
                is_done = event["type"] == "apply_complete"
                listener(Step(hook["resource"]["addr"], hook["action"], is_done))
            elif event["type"] == "outputs":
                self._outputs = _values(event["outputs"])

    def untaint(self, address: str) -> None:
        """Keep a resource whose creation was cut off; the next plan completes it."""
        self._run("untaint", _LOCK, address)

    def outputs(self) -> dict[str, Any]:
        """What the configuration gives back."""
        if self._outputs is None:
            self._outputs = _values(json.loads(self._run("output", "-json")))
        return self._outputs

    def _run(self, *words: str) -> str:
        with self._process(words, subprocess.PIPE, subprocess.PIPE) as process:
            output, complaint = process.communicate()
        if process.returncode:
            lines = (complaint or output).strip().splitlines()
            raise TerraformError(f"{self.name}: {_in_one(lines[-_LAST_LINES:])}")
        return output

    def _events(self, *words: str) -> Iterator[dict[str, Any]]:
        errors: list[str] = []
        log = self._folder / LOG_FILE
        with (
            log.open("w") as output,
            log.open() as lines,
            self._process(words, output, subprocess.STDOUT) as process,
        ):
            try:
                for line in _followed(lines, process):
                    event = _event(line)
                    diagnostic = event.get("diagnostic", {})
                    if diagnostic.get("severity") == "error":
                        where = f"{diagnostic['address']}: " if "address" in diagnostic else ""
                        parts = [diagnostic["summary"], diagnostic.get("detail", "")]
                        errors.append(where + _in_one(parts))
                    yield event
            except BaseException:
                # Interrupted once, Terraform finishes the call it is in and writes its state.
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGINT)
                process.wait()
                raise
        if process.returncode:
            said = "; ".join(dict.fromkeys(errors)) or f"{words[0]} failed"
            raise TerraformError(f"{self.name}: {said}")

    def _process(
        self, words: Sequence[str], output: int | IO[str], complaints: int
    ) -> subprocess.Popen[str]:
        environment = os.environ | {"TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1"}
        return subprocess.Popen(
            [self.program, *words],
            cwd=self._folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=complaints,
            text=True,
            # In a group of its own: the terminal's Ctrl-C comes once, from here.
            process_group=0,
            preexec_fn=partial(die_with_parent, os.getpid(), signal.SIGINT),  # noqa: PLW1509
        )


def _followed(lines: IO[str], process: subprocess.Popen[str]) -> Iterator[str]:
    """The lines of a file as a process writes them, to its end."""
    part = ""
    while True:
        has_ended = process.poll() is not None
        while piece := lines.readline():
            part += piece
            if part.endswith("\n"):
                yield part
                part = ""
        if has_ended:
            return
        time.sleep(_POLL_SECONDS)


def _values(outputs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {name: output.get("value") for name, output in outputs.items()}


def _event(line: str) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        event = None
    return event if isinstance(event, dict) and "type" in event else {"type": "text"}


def _in_one(parts: Sequence[str]) -> str:
    """Several lines as one, without Terraform's frame around them."""
    words = [part.strip().strip("│╷╵ ") for part in "\n".join(parts).splitlines()]
    return " ".join(word for word in words if word)
