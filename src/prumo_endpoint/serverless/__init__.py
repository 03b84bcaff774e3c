"""A serverless endpoint on this machine: instances start on demand and stop when idle.

front.py     the process that listens, starts instances and passes requests on to them
proxy.py     its HTTP: connections of clients, and those to instances
instance.py  one instance from its start to its end, and the phases of the start
worker.py    what an instance runs in: a process in a control group, or a container
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Self

from prumo_endpoint.resources import Resources

IDLE_SECONDS = 300.0
"""Ours: SageMaker does not publish when it stops an idle instance."""
MAX_CONCURRENCY = 5
MEMORY_MB = 2048
"""The last two are the defaults of SageMaker's Python SDK."""
START_SECONDS = 180.0
INVOCATION_SECONDS = 60.0
STOP_SECONDS = 30.0

# Orders to the front.
BOOTS = "boots"
STOP_IDLE = "stop-idle"

BOOT_ID_HEADER = "X-Prumo-Boot-Id"
INSTANCE_HEADER = "X-Prumo-Instance"
COLD_HEADER = "X-Prumo-Cold"
COLD_START_HEADER = "X-Prumo-Cold-Start-Seconds"
WARM_UP_HEADER = "x-prumo-warm-up-seconds"
"""With which a server may say, in its answer to /ping, how long its first computation took."""


@dataclass(frozen=True)
class Settings:
    """What the front is to run, and within which limits; sent to it as JSON."""

    memory_mb: int
    cpus: float
    command: tuple[str, ...] = ()
    """A program and its arguments; empty for an image."""
    image: str = ""
    model: str = ""
    """A folder or archive that an image finds in /opt/ml/model; empty for none."""
    network: str | None = None
    idle_seconds: float = IDLE_SECONDS
    max_concurrency: int = MAX_CONCURRENCY
    start_seconds: float = START_SECONDS
    """SageMaker gives a serverless endpoint 3 minutes."""
    invocation_seconds: float = INVOCATION_SECONDS
    stop_seconds: float = STOP_SECONDS
    """From SIGTERM to SIGKILL."""

    @property
    def resources(self) -> Resources:
        """The limits of each instance."""
        return Resources(self.memory_mb, self.cpus)

    def to_json(self) -> str:
        """On one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What `to_json` wrote."""
        fields = json.loads(text)
        return cls(**{**fields, "command": tuple(fields["command"])})
