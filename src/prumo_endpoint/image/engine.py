"""The program that builds and stores images here: Docker, Podman or Buildah."""

from __future__ import annotations

import json
import platform
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, PrumoError, StorageError, UnavailableError
from prumo_endpoint.targets.container import complaint

if TYPE_CHECKING:
    from prumo.progress import Progress

ENGINES = ("docker", "podman", "buildah")
PLATFORMS = {"linux/amd64": "x86_64", "linux/arm64": "aarch64"}
"""As engines call them → as Python's wheels do."""
_LAST_LINES = 8
_FULL_DISK = "no space left on device"
_WRONG_MACHINE = "exec format error"


@dataclass(frozen=True)
class Engine:
    """One of the programs, which take the same words for most of what is done here."""

    program: str

    def build(
        self, context: Path, tag: str, target: str, arguments: Mapping[str, str], progress: Progress
    ) -> None:
        """Build the Dockerfile of a folder for a platform such as linux/arm64."""
        command = [self.program, "build", "--tag", tag, "--platform", target, "--network", "host"]
        if self.program != "docker":
            # Their own format has no health check.
            command += ["--format", "docker"]
        for name, value in arguments.items():
            command += ["--build-arg", f"{name}={value}"]
        try:
            run_followed([*command, str(context)], f"building {tag}", progress)
        except PrumoError as error:
            if _WRONG_MACHINE in str(error).lower():
                raise UnavailableError(
                    f"this machine cannot run programs of {target}, and this image runs some "
                    "while it is built: install QEMU's user emulation (`docker run --privileged "
                    "--rm tonistiigi/binfmt --install all`, or the package qemu-user-static), "
                    "build on such a machine, or build the variant `lean`, which runs none"
                ) from error
            raise

    def save(self, image: str, out: Path) -> None:
        """Write an image as an archive in Docker's format."""
        if self.program == "buildah":
            command = ["buildah", "push", image, f"docker-archive:{out}:{image}"]
        elif self.program == "podman":
            command = ["podman", "save", "--format", "docker-archive", "--output", str(out), image]
        else:
            command = ["docker", "save", "--output", str(out), image]
        answer = _asked(command)
        if answer.returncode:
            reason = complaint(answer)
            if _FULL_DISK in reason.lower():
                raise StorageError(f"the disk is full: {image} has no room in {out.parent}")
            raise InputError(f"{self.program} has no image '{image}' that it can save: {reason}")

    def facts(self, image: str) -> dict[str, Any] | None:
        """What the engine knows of an image; None when it does not have it."""
        words = (
            ["inspect", "--type", "image"] if self.program == "buildah" else ["image", "inspect"]
        )
        answer = _asked([self.program, *words, image])
        if answer.returncode:
            return None
        document = json.loads(answer.stdout)
        if isinstance(document, list):
            found: dict[str, Any] = document[0]
            return found
        # Buildah's own words, as the others would put it.
        described = document["OCIv1"]
        return {
            **described,
            "Id": document["FromImageID"],
            "Architecture": described["architecture"],
        }

    def require_base(self, image: str, target: str) -> None:
        """Pull a base image that is not here; refuse one that is for another platform."""
        facts = self.facts(image)
        if facts is None:
            answer = _asked([self.program, "pull", "--platform", target, image])
            facts = self.facts(image)
            if facts is None:
                raise InputError(
                    f"there is no base image '{image}' here, and {self.program} cannot pull it: "
                    f"{complaint(answer)}. Give another with --base; docs/images.md says how "
                    "to make one with debootstrap"
                )
        machine = facts.get("Architecture")
        if machine and machine != target.partition("/")[2]:
            raise InputError(
                f"the base image '{image}' is for linux/{machine}, and the image is to be for "
                f"{target}; give a base for it with --base"
            )


def chosen_engine(name: str | None = None) -> Engine:
    """The named program, or the first one that works here."""
    names = ENGINES if name is None else (name,)
    reasons = []
    for program in names:
        if which(program) is None:
            reasons.append(f"there is no program `{program}`")
            continue
        answer = _asked([program, "version" if program != "buildah" else "--version"])
        if answer.returncode == 0:
            return Engine(program)
        reasons.append(f"{program}: {complaint(answer)}")
    raise UnavailableError(
        f"images need Docker, Podman or Buildah, and none of them works here: {'; '.join(reasons)}"
    )


def own_platform() -> str:
    """That of this machine."""
    machine = platform.machine()
    found = next((name for name, wheel in PLATFORMS.items() if wheel == machine), None)
    if found is None:
        raise UnavailableError(f"images are for {' and '.join(PLATFORMS)}, not for {machine}")
    return found


def run_followed(command: Sequence[str], activity: str, progress: Progress) -> None:
    """Run a command whose lines are progress; its last lines are the error when it fails."""
    last: deque[str] = deque(maxlen=_LAST_LINES)
    progress.show(activity)
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        assert process.stdout is not None  # noqa: S101 (asked for as a pipe)
        for line in process.stdout:
            if text := line.strip():
                last.append(text)
                progress.show(activity, text)
    if process.returncode == 0:
        return
    said = "\n".join(last)
    if _FULL_DISK in said.lower():
        raise StorageError(
            f"the disk is full: {activity} failed. `docker system df` shows what images take, and "
            "`docker image prune` removes those without a name; then run the same command again"
        )
    raise InputError(f"{activity} failed:\n{said}")


def _asked(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
