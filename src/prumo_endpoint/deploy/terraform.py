"""Terraform or OpenTofu, whichever is there, run for its machine-readable output.

It ends with this process: when this one is killed, it is interrupted, finishes the call that it is
in and writes its state; a second run waits for that and goes on from there. Its output goes to a
file, since a broken pipe would kill it before it has written anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from prumo.errors import PrumoError, UnavailableError
from prumo.supervise.parent_death import die_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

NAMES = {"terraform": "Terraform", "tofu": "OpenTofu"}
_TOFU_PROVIDERS = ".terraform/providers/registry.opentofu.org"
BACKEND_FILE = "backend.tf.json"
STATE_FILE = "terraform.tfstate"
LOG_FILE = "terraform.log"
_STAMP_FILE = ".terraform/prumo-init"
_LOCK = "-lock-timeout=120s"
_POLL_SECONDS = 0.05
_LAST_LINES = 20
_LOCK_ID = re.compile(r"\bID:\s+([0-9a-f-]{36})")


class TerraformError(PrumoError):
    """Terraform or OpenTofu refused or failed; the message has its name and its own words."""

    has_begun = False
    """Whether it had begun to change something."""


@dataclass(frozen=True)
class Step:
    """A resource that Terraform has begun to change."""

    address: str
    action: str


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

    @contextmanager
    def initialised(self) -> Iterator[None]:
        """Fetch the locked provider and open the state, while the block does something else.

        Nothing is done where nothing has changed since the last time.
        """
        stamp, file = self._stamp(), self._folder / _STAMP_FILE
        if file.is_file() and file.read_text() == stamp:
            yield
            return
        words = ("init", "-input=false", "-no-color", "-reconfigure")
        with self._process(words, subprocess.PIPE, subprocess.STDOUT) as process:
            try:
                yield
            except BaseException:
                process.terminate()
                process.communicate()
                raise
            output, _ = process.communicate()
        self._require_success(process, output)
        file.write_text(stamp)

    def _stamp(self) -> str:
        """Of everything that `init` reads."""
        files = [path for pattern in ("*.tf", "*/*/*.tf") for path in self._folder.glob(pattern)]
        files += [self._folder / BACKEND_FILE, self._folder / ".terraform.lock.hcl"]
        content = b"".join(path.read_bytes() for path in sorted(files) if path.is_file())
        return f"{self.program} {hashlib.sha256(content).hexdigest()}"

    def apply(self, listener: Callable[[Step], None], *, destroy: bool = False) -> dict[str, Any]:
        """Make the account as the configuration says, or empty; its outputs.

        Raises:
            TerraformError: It failed; `has_begun` says whether anything was changed.
        """
        outputs: dict[str, Any] = {}
        has_begun = False
        words = ["apply", "-input=false", "-json", _LOCK, "-auto-approve"]
        try:
            for event in self._events(*words, *(["-destroy"] if destroy else [])):
                hook = event.get("hook", {})
                if event["type"] == "outputs":
                    outputs = {name: each.get("value") for name, each in event["outputs"].items()}
                elif event["type"].startswith("apply_") and hook.get("action") != "read":
                    has_begun = True
                    if event["type"] == "apply_start":
                        listener(Step(hook["resource"]["addr"], hook["action"]))
        except TerraformError as error:
            error.has_begun = has_begun
            if not has_begun:
                (self._folder / _STAMP_FILE).unlink(missing_ok=True)
            raise
        return outputs

    def state(self, *, is_remote: bool) -> dict[str, Any]:
        """What Terraform knows to exist, in its own format; empty before the first time."""
        path = self._folder / STATE_FILE
        if is_remote:
            text = self._run("state", "pull")
        else:
            text = path.read_text("utf-8") if path.is_file() else ""
        try:
            state: dict[str, Any] = json.loads(text or "{}")
        except ValueError as error:
            raise TerraformError(
                f"{self.name}'s state {path} is damaged ({error}); beside it, "
                f"{STATE_FILE}.backup has the one before"
            ) from error
        return state

    def untaint(self, address: str) -> None:
        """Keep a resource whose creation was cut off; the next apply completes it."""
        self._run("untaint", _LOCK, address)

    def forget(self, address: str) -> None:
        """Take a resource out of the state; it stays where it is."""
        self._run("state", "rm", _LOCK, address)

    def _run(self, *words: str) -> str:
        with self._process(words, subprocess.PIPE, subprocess.PIPE) as process:
            output, complaint = process.communicate()
        self._require_success(process, complaint or output)
        return output

    def _require_success(self, process: subprocess.Popen[str], said: str) -> None:
        if process.returncode:
            lines = said.strip().splitlines()[-_LAST_LINES:]
            raise self._failure(_in_one(lines))

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
            raise self._failure(said)

    def _failure(self, said: str) -> TerraformError:
        if "acquiring the state lock" in said:
            found = _LOCK_ID.search(said)
            said += (
                ". If no other run is at work, one that was killed has left the lock: "
                f"`{Path(self.program).name} force-unlock {found[1] if found else 'LOCK_ID'}` in "
                f"{self._folder} removes it"
            )
        return TerraformError(f"{self.name}: {said}")

    def _process(
        self, words: Sequence[str], output: int | IO[str], complaints: int
    ) -> subprocess.Popen[str]:
        # The state is always that of the default workspace, whatever the user works with elsewhere.
        own = {"TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1", "TF_WORKSPACE": "default"}
        environment = {**os.environ, **own}
        environment.pop("TF_DATA_DIR", None)
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
