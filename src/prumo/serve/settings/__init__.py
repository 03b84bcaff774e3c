"""How the server is to run: everything that is chosen before it starts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from prumo.model.preprocessing import MOST_PIXELS

if TYPE_CHECKING:
    from prumo.model.manifest import RuntimeName

LogFormat = Literal["plain", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

MEBIBYTE = 1024**2


@dataclass(frozen=True)
class Limits:
    """What a request may cost the server."""

    body_bytes: int = 25 * MEBIBYTE
    """As much as SageMaker passes on."""
    pixels: int = MOST_PIXELS
    """Of one image."""
    header_bytes: int = 16 * 1024
    header_seconds: float = 10.0
    """To send the headers, from the connection or from their first byte on."""
    body_seconds: float = 30.0
    """To send the body."""
    queued_images: int = 256
    """That wait for their turn."""
    waiting_bytes: int = 256 * MEBIBYTE
    """Of all bodies together that are being received or wait."""
    timeout_seconds: float = 55.0
    """From the whole body to the answer: less than the 60 s after which SageMaker gives up."""


@dataclass(frozen=True)
class Settings:
    """Everything but the model itself."""

    model: Path
    host: str = "127.0.0.1"
    port: int = 8080
    """0 takes a free one."""
    stack: str = "lean"
    workers: int = 1
    """That compute at the same time: threads of one process (lean), or processes (nginx)."""
    threads: int = 1
    """Of the runtime, for each worker."""
    max_batch: int = 2
    max_wait_seconds: float = 0.0
    """That a batch which is not full waits for more."""
    runtime: RuntimeName | None = None
    """In place of the one that the model was packaged for."""
    heat_maps: bool = True
    """Whether those are made that are asked for."""
    limits: Limits = Limits()
    log_level: LogLevel = "info"
    log_format: LogFormat = "plain"

    def to_json(self) -> str:
        """For another process of a stack, which reads it with `from_json`."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What `to_json` wrote."""
        values = json.loads(text)
        values["model"] = Path(values["model"])
        values["limits"] = Limits(**values["limits"])
        return cls(**values)
