"""Settings of the server: flags first, then environment variables, then defaults."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, TypeVar, get_args

from prumo.errors import InputError
from prumo.machine.cgroup import quota_cores
from prumo.machine.cpu import usable_cores
from prumo_serve.task import MOST_PIXELS

if TYPE_CHECKING:
    from prumo_serve.choices import RuntimeName


STACKS = {
    "lean": "one process: a thread for each core, batches of what waits",
    "nginx": "NGINX before Gunicorn, with a process for each core",
}
LogFormat = Literal["plain", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

MEBIBYTE = 1024**2
_BOOT_ID_BYTES = 8


@dataclass(frozen=True)
class Limits:
    """What a request may cost the server."""

    body_bytes: int = 25 * MEBIBYTE
    """As much as SageMaker passes on."""
    images: int = 64
    """In one request."""
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
    lone_threads: int = 0
    """Of the runtime, for a batch while nothing else is to be computed; 0: as many as `threads`."""
    may_spin: bool = False
    """Whether those may wait by spinning: not where a quota would make them pay for it."""
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
    boot_id: str = field(default_factory=lambda: os.urandom(_BOOT_ID_BYTES).hex(), compare=False)
    """Which start of the server answers; all of its workers have the same."""

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


CONTAINER_MODEL = Path("/opt/ml/model")
"""Where SageMaker unpacks a model."""

# A container is reached from outside of it; a laptop with photographs of patients must not be.
_CONTAINER_HOST = "0.0.0.0"  # noqa: S104
_LEVELS: dict[str, LogLevel] = {
    **{level: level for level in get_args(LogLevel)},
    # As Python numbers and names them, which is how SageMaker's own containers are configured.
    "critical": "error",
    **dict(zip(("10", "20", "30", "40"), get_args(LogLevel), strict=True)),
    "50": "error",
}
# Ours: on one thread an image costs the same alone as with others (MobileNet 15.1, 14.9, 15.6 and
# 17.6 ms in batches of 1, 2, 4 and 8, VGG19 no less either), while memory grows with the batch.
_BATCH_IMAGES_PER_THREAD = 2
_Number = TypeVar("_Number", int, float)
_PORT = ("SAGEMAKER_BIND_TO_PORT",)
_WORKERS = ("SAGEMAKER_MODEL_SERVER_WORKERS", "MODEL_SERVER_WORKERS")
_TIMEOUT = ("SAGEMAKER_MODEL_SERVER_TIMEOUT", "MODEL_SERVER_TIMEOUT")
_BODY = ("SAGEMAKER_MAX_PAYLOAD_IN_MB",)


@dataclass(frozen=True)
class Flags:
    """What a user said; None where nothing was."""

    model: Path | None = None
    host: str | None = None
    port: int | None = None
    stack: str = Settings.stack
    workers: int | None = None
    threads: int | None = None
    max_batch: int | None = None
    max_wait_ms: float = Settings.max_wait_seconds * 1000
    queue: int = Limits.queued_images
    timeout_seconds: float | None = None
    max_body_mb: float | None = None
    max_pixels: int = Limits.pixels
    runtime: RuntimeName | None = None
    heat_maps: bool = Settings.heat_maps
    log_level: LogLevel | None = None
    log_format: LogFormat = Settings.log_format


def given_settings(flags: Flags, environment: Mapping[str, str]) -> Settings:
    """The settings that both together mean."""
    number = partial(_number, environment)
    model = flags.model or Path(environment.get("SM_MODEL_DIR") or CONTAINER_MODEL)
    in_container = flags.model is None or model == CONTAINER_MODEL
    # Together, workers and their threads fill the cores and no more.
    affinity, quota = len(os.sched_getaffinity(0)), quota_cores()
    cores = usable_cores(affinity, quota)
    workers = number(_WORKERS, 1, 1024, flags.workers, max(1, cores // (flags.threads or 1)))
    threads = flags.threads or max(1, cores // workers)
    # A quota limits time, not cores: a lone request is over before a broken one is used up.
    lone_threads = min(affinity, math.ceil(quota)) if quota is not None else cores
    has_choice = flags.stack == "lean" and flags.threads is None
    body_mb = number(_BODY, 0.001, 4096, flags.max_body_mb, Limits.body_bytes / MEBIBYTE)
    body_bytes = int(body_mb * MEBIBYTE)
    timeout = number(_TIMEOUT, 0.001, 86_400, flags.timeout_seconds, Limits.timeout_seconds)
    return Settings(
        model=model,
        host=flags.host or (_CONTAINER_HOST if in_container else Settings.host),
        port=number(_PORT, 0, 65535, flags.port, Settings.port),
        stack=flags.stack,
        workers=workers,
        threads=threads,
        lone_threads=max(threads, lone_threads) if has_choice else threads,
        may_spin=quota is None or quota >= affinity,
        max_batch=flags.max_batch or _BATCH_IMAGES_PER_THREAD * threads,
        max_wait_seconds=flags.max_wait_ms / 1000,
        runtime=flags.runtime,
        heat_maps=flags.heat_maps,
        limits=Limits(
            body_bytes=body_bytes,
            pixels=flags.max_pixels,
            queued_images=flags.queue,
            # Room for several of the largest, or one of them would keep all others out.
            waiting_bytes=max(Limits.waiting_bytes, 4 * body_bytes),
            timeout_seconds=timeout,
        ),
        log_level=flags.log_level or _log_level(environment),
        log_format=flags.log_format,
    )


def _log_level(environment: Mapping[str, str]) -> LogLevel:
    name = "SAGEMAKER_CONTAINER_LOG_LEVEL"
    value = environment.get(name, "").strip().lower() or Settings.log_level
    if value not in _LEVELS:
        raise InputError(f"{name}={value}: must be one of {', '.join(_LEVELS)}")
    return _LEVELS[value]


def _number(  # noqa: PLR0913 (each is another thing)
    environment: Mapping[str, str],
    names: Sequence[str],
    least: _Number,
    most: _Number,
    flag: _Number | None,
    default: _Number,
) -> _Number:
    """What the flag says, or the first of these variables that is set, or the default."""
    values = [flag]
    for name in names:
        text = environment.get(name, "").strip()
        if not text:
            continue
        try:
            value = type(default)(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            whole = "a whole number" if isinstance(default, int) else "a number"
            raise InputError(f"{name}={text}: must be {whole} from {least} to {most}")
        values.append(value)
    return next((value for value in values if value is not None), default)
