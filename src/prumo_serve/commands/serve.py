"""`prumo serve`: answer requests with a model."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click

from prumo.cli.group import in_section
from prumo.cli.numbers import FiniteFloatRange
from prumo.plugins import RUNTIMES
from prumo_serve.server.settings import STACKS, Flags, LogLevel, given_settings

EPILOG = """\b
Examples:
  prumo serve model.tar.gz
  curl -H 'Content-Type: image/jpeg' --data-binary @image.jpg \\
    http://127.0.0.1:8080/invocations
  prumo serve model.tar.gz --stack nginx --workers 4 --port 9000
  docker run IMAGE serve
"""


_count = partial(click.option, type=click.IntRange(1, 1024), metavar="N")


@in_section("Models and endpoints")
@click.command(epilog=EPILOG, short_help="Serve a packaged model over HTTP.")
@click.argument("model", type=click.Path(path_type=Path), required=False)
@click.option(
    "--host",
    metavar="ADDRESS",
    help="Where to listen.  [default: 127.0.0.1, so that only this computer is answered; 0.0.0.0, "
    "so that all are, when the model is /opt/ml/model as in a container]",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="0 takes a free one.  [default: SAGEMAKER_BIND_TO_PORT, or 8080]",
)
@click.option(
    "--stack",
    type=click.Choice(list(STACKS)),
    default=Flags.stack,
    show_default=True,
    help="; ".join(f"{name}: {text}" for name, text in STACKS.items()) + ".",
)
@_count(
    "--workers",
    help="That compute at the same time.  [default: SAGEMAKER_MODEL_SERVER_WORKERS, or "
    "MODEL_SERVER_WORKERS, or one for each core]",
)
@_count(
    "--threads",
    help="Runtime threads per worker.  [default: cores / workers]",
)
@_count(
    "--max-batch",
    help="Most images that are computed together.  [default: two for each of a worker's threads]",
)
@click.option(
    "--max-wait-ms",
    type=FiniteFloatRange(0, 10_000),
    metavar="MS",
    default=Flags.max_wait_ms,
    show_default=True,
    help="That a batch which is not full waits for more images; 0 computes what is there.",
)
@click.option(
    "--queue",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    default=Flags.queue,
    show_default=True,
    help="Most images that wait; beyond them the answer is 429.",
)
@click.option(
    "--timeout",
    "timeout_seconds",
    type=FiniteFloatRange(0.001, 86_400),
    metavar="SECONDS",
    help="For an answer once the request has arrived.  [default: SAGEMAKER_MODEL_SERVER_TIMEOUT, "
    "or MODEL_SERVER_TIMEOUT, or 55]",
)
@click.option(
    "--max-body-mb",
    type=FiniteFloatRange(0.001, 4096),
    metavar="MB",
    help="Of a request.  [default: SAGEMAKER_MAX_PAYLOAD_IN_MB, or 25]",
)
@click.option(
    "--max-pixels",
    type=click.IntRange(1),
    metavar="N",
    default=Flags.max_pixels,
    show_default=True,
    help="Of an image; it is refused before it is decoded.",
)
@click.option(
    "--runtime",
    type=click.Choice(RUNTIMES.names()),
    help="Computes the network in place of the one that it was packaged for, if it can read it.",
)
@click.option(
    "--heat-maps/--no-heat-maps",
    default=True,
    show_default=True,
    help="Whether the network for heat maps is loaded, where the model has one.",
)
@click.option(
    "--log-level",
    type=click.Choice(get_args(LogLevel)),
    help="[default: SAGEMAKER_CONTAINER_LOG_LEVEL, or info: a line for each request]",
)
@click.option(
    "--log-format",
    type=click.Choice(["plain", "json"]),
    default=Flags.log_format,
    show_default=True,
    help="How lines are written to standard error.",
)
def command(**flags: Any) -> int:  # noqa: ANN401 (click's values, checked above)
    """Answer requests with MODEL until SIGTERM or Ctrl-C.

    MODEL is what `prumo model package` wrote, or anything that it takes. Without MODEL it is
    SM_MODEL_DIR, or /opt/ml/model: where SageMaker puts it.

    GET / is a page for people. GET /ping and POST /invocations keep SageMaker's contract, /v2 is
    the Open Inference Protocol, /metrics is for Prometheus, and /openapi.json describes all of it.

    Nothing that is sent is stored or logged. The server knows no users and no encryption: before
    others than this computer, put a proxy that does.
    """
    # Plug-ins of others in the environment: looking for them costs a tenth of the start.
    from prumo_serve.server.stacks import run_stack

    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    settings = given_settings(Flags(**flags), os.environ)
    return run_stack(settings)
