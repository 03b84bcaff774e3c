"""Docker, asked through its own command."""

from __future__ import annotations

import json
import subprocess
from shutil import which
from typing import Any
from urllib.parse import urlsplit

from prumo.errors import UnavailableError

PROGRAM = "docker"
REMOTE = ("tcp://", "ssh://", "http://", "https://")
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def docker(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What Docker answers."""
    return subprocess.run(
        [PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def inspected(kind: str, name: str) -> dict[str, Any] | None:
    """What Docker knows of an image or a container; None when there is no such thing."""
    answer = docker(kind, "inspect", name)
    if answer.returncode != 0:
        return None
    facts: dict[str, Any] = json.loads(answer.stdout)[0]
    return facts


def require_engine() -> None:
    """Refuse to go on without a Docker that works on this machine."""
    if which(PROGRAM) is None:
        raise UnavailableError(
            "an image needs Docker, and there is no program `docker` here; install it, or give a "
            "URL or a command"
        )
    host = docker("context", "inspect", "--format", "{{.Endpoints.docker.Host}}").stdout.strip()
    if host.startswith(REMOTE) and urlsplit(host).hostname not in THIS_MACHINE:
        raise UnavailableError(
            f"the Docker engine runs on another machine ({host}), whose containers cannot be "
            "reached from here; check the image there, or start it and give its URL"
        )
    answer = docker("version", "--format", "{{.Server.Version}}")
    if answer.returncode != 0:
        raise UnavailableError(
            f"an image needs a Docker engine that runs: {complaint(answer)}; DOCKER_HOST says "
            "where it is, if not at the usual place"
        )


def complaint(answer: subprocess.CompletedProcess[str]) -> str:
    """The sentence in which Docker says what is wrong."""
    lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    told = next((line for line in lines if "rror" in line), lines[0] if lines else "no reason told")
    return told.removeprefix("docker: ").removeprefix("Error response from daemon: ").rstrip(".")
