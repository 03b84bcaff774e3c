"""A client of a local serverless endpoint, and a program that is one and can be killed.

Run as a program, it starts the endpoint of the command in its arguments, sends one request, prints
the number of the front's process and waits.
"""

from __future__ import annotations

import http.client
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from prumo.machine.cgroup import own_cgroup
from prumo_endpoint.bodies import drawn_body
from prumo_endpoint.serverless import Settings
from prumo_endpoint.targets.serverless import FRONT, ServerlessTarget

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo_endpoint.targets import Server

PATIENCE_SECONDS = 60.0
BODY = drawn_body()


@dataclass(frozen=True)
class Reply:
    """What came back; `headers` by names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def boot_id(self) -> str:
        return self.headers["x-prumo-boot-id"]

    @property
    def is_cold(self) -> bool:
        return self.headers.get("x-prumo-cold") == "1"

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = json.loads(self.body)["error"]
        return error


def ask(
    server: Server, body: bytes = BODY.content, path: str = "/invocations", method: str = "POST"
) -> Reply:
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection(
        server.address.host, server.address.port, timeout=PATIENCE_SECONDS
    )
    try:
        connection.request(method, path, body, {"Content-Type": BODY.content_type})
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, headers, answer.read())
    finally:
        connection.close()


def endpoint(
    *command: str, cpus: float = 1.0, memory_mb: int = 512, **more: Any
) -> ServerlessTarget:
    """An endpoint with as much processor time as a test of something else needs."""
    return ServerlessTarget(" ".join(command), Settings(memory_mb, cpus, tuple(command), **more))


def wait_until(holds: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def front() -> psutil.Process:
    """The front of the endpoint that this process runs."""
    (found,) = (each for each in psutil.Process().children() if FRONT in each.cmdline())
    return found


def groups(front_pid: int) -> list[Path]:
    """The control groups of its instances."""
    own = [own_cgroup(controller) for controller in ("memory", "cpu")]
    return [
        folder
        for group in own
        if group is not None
        for above in group.upwards()
        for folder in above.folder.glob(f"prumo-serverless-*-{front_pid}")
    ]


def main() -> None:
    with endpoint(*sys.argv[1:]).running() as server:
        assert ask(server).status == 200
        sys.stdout.write(f"{front().pid}\n")
        sys.stdout.flush()
        time.sleep(1000)


if __name__ == "__main__":
    main()
