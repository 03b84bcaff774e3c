"""`prumo endpoint check`: whether a server keeps SageMaker's rules."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from prumo.cli.console import print_json, shown_progress, table_console
from prumo.cli.numbers import FiniteFloatRange
from prumo.exit_codes import ExitCode
from prumo_endpoint.rule import KINDS, MB

LARGEST_PORT = 65535
LARGEST_PAYLOAD_MB = 1024

EPILOG = """\b
Examples:
  prumo endpoint check http://localhost:8080
  prumo endpoint check -- prumo serve model.tar.gz
  prumo endpoint check my-image:1.0 --model model.tar.gz \\
    --kind serverless --memory-mb 2048
  prumo endpoint check 'serverless://prumo serve model.tar.gz' \\
    --kind serverless --memory-mb 1024
  prumo endpoint check http://localhost:8080 --body row.csv \\
    --content-type text/csv --json
"""


@click.command(epilog=EPILOG)
@click.argument("words", metavar="URL|IMAGE|COMMAND...", nargs=-1)
@click.option("--image", metavar="NAME", help="A container image, whatever its name looks like.")
@click.option("--command", "program", metavar="TEXT", help="A command, whatever it looks like.")
@click.option(
    "--kind",
    type=click.Choice(list(KINDS)),
    default="real-time",
    show_default=True,
    help="The kind of endpoint whose limits hold.",
)
@click.option(
    "--payload-mb",
    type=click.IntRange(1, LARGEST_PAYLOAD_MB),
    metavar="N",
    help="The largest body; 6 in older guides.  [default: 25 real-time, 4 serverless]",
)
@click.option(
    "--body",
    "body_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What is sent to /invocations.  [default: a drawn JPEG]",
)
@click.option("--content-type", metavar="TYPE", help="Of the body.  [default: by its file's name]")
@click.option(
    "--port",
    type=click.IntRange(1, LARGEST_PORT),
    metavar="N",
    help="Where the server has to listen.  [default: 8080 in a network of its own, else a free "
    "one, set in SAGEMAKER_BIND_TO_PORT]",
)
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    metavar="FOLDER|ARCHIVE",
    help="A container's /opt/ml/model: a folder, or a model.tar.gz.",
)
@click.option(
    "--memory-mb",
    type=click.IntRange(1),
    metavar="N",
    help="The most memory of a command or container, or of a serverless instance (2048).",
)
@click.option(
    "--cpus",
    type=FiniteFloatRange(0, min_open=True),
    metavar="N",
    help="The most CPU time of it, such as 0.5.  [default of serverless: by its memory]",
)
@click.option(
    "--cpus-per-gb",
    type=FiniteFloatRange(0, min_open=True),
    metavar="N",
    help="CPUs of a serverless instance for each GB of its memory.  [default: 0.579]",
)
@click.option(
    "--idle-seconds",
    type=FiniteFloatRange(0),
    metavar="N",
    help="When an idle serverless instance is stopped.  [default: 300]",
)
@click.option(
    "--max-concurrency",
    type=click.IntRange(1),
    metavar="N",
    help="The most serverless instances at a time.  [default: 5]",
)
@click.option(
    "--network", metavar="NAME", help="A container's network, such as host.  [default: Docker's]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(  # noqa: PLR0913 (one argument per option)
    words: tuple[str, ...],
    image: str | None,
    program: str | None,
    kind: str,
    payload_mb: int | None,
    body_file: Path | None,
    content_type: str | None,
    port: int | None,
    model: Path | None,
    memory_mb: int | None,
    cpus: float | None,
    cpus_per_gb: float | None,
    idle_seconds: float | None,
    max_concurrency: int | None,
    network: str | None,
    as_json: bool,
) -> None:
    """Check whether a server keeps SageMaker's rules.

    A word with :// is the URL of a running server, whose start and stop are then not checked, or
    NAME://REST for a kind of target: 'serverless://COMMAND' and serverless://IMAGE start on demand,
    and installed packages add others. Several words, or a path, are a command that starts a server;
    put -- before a command with options of its own. Any other word is a local container image; it
    is run with the argument `serve`. Prumo stops what it started.

    The requests are those of SageMaker and worse: bad bodies, 200 open connections, a body of the
    largest size. Do not point this at a server that others are using.

    Exit codes: 0 no rule is broken, 1 a rule is broken, 2 bad input.
    """
    from prumo_endpoint.bodies import drawn_body, read_body
    from prumo_endpoint.check import examination_document, examine, print_examination
    from prumo_endpoint.targets import TargetOptions, chosen_target

    if content_type is not None and body_file is None:
        raise click.UsageError("--content-type is the type of a --body; give one.")
    limits = KINDS[kind]
    if payload_mb is not None:
        limits = replace(limits, payload_bytes=payload_mb * MB)
    body = drawn_body() if body_file is None else read_body(body_file, content_type)
    options = TargetOptions(
        port, model, memory_mb, network, cpus, cpus_per_gb, idle_seconds, max_concurrency
    )
    target = chosen_target(words, image, program, options)
    with shown_progress() as progress:
        examination = examine(target, body, limits, progress)
    if as_json:
        print_json(examination_document(examination))
    else:
        print_examination(examination, table_console())
    if not examination.is_kept:
        sys.exit(ExitCode.FINDINGS)
