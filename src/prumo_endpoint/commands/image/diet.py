"""`prumo image diet`: an image without the files that its server never touches."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import print_json, shown_progress
from prumo.exit_codes import ExitCode
from prumo_endpoint.commands.image.size import MB

if TYPE_CHECKING:
    from prumo_endpoint.image.diet import Diet

EPILOG = """\b
Examples:
  prumo image diet mobilenet --out mobilenet-small
  prumo image diet mobilenet --out mobilenet-small --payload photographs \\
    --keep 'opt/prumo/cv2/*'
"""


@click.command(epilog=EPILOG)
@click.argument("image")
@click.option("--out", required=True, metavar="NAME", help="Of the smaller image.")
@click.option(
    "--payload",
    type=click.Path(path_type=Path, exists=True),
    metavar="FILE|FOLDER",
    help="Send these as well while files are traced and answers compared.",
)
@click.option(
    "--keep", multiple=True, metavar="PATTERN", help="Files that stay anyway; repeatable."
)
@click.option(
    "--starts",
    type=click.IntRange(0, 100),
    default=5,
    show_default=True,
    metavar="N",
    help="Cold starts of each image.",
)
@click.option(
    "--memory-mb", type=click.IntRange(1), metavar="N", help="Of a cold start.  [default: 2048]"
)
@click.option(
    "--network", metavar="NAME", help="The containers' network, such as host.  [default: Docker's]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(  # noqa: PLR0913 (one argument per option)
    image: str,
    out: str,
    payload: Path | None,
    keep: tuple[str, ...],
    starts: int,
    memory_mb: int | None,
    network: str | None,
    as_json: bool,
) -> None:
    """Remove the files of IMAGE that its server never touches, and prove that nothing is missing.

    The server is run under strace while it gets every kind of request that Prumo's server knows,
    and is stopped. Files that were neither opened nor looked at go; the model, licences, package
    records and --keep stay. Then both images get the same requests, and NAME is made only if every
    answer is the same bit for bit (but for its times) and SageMaker's contract is kept. What your
    clients send and these requests do not should be in --payload. Needs Docker and strace.

    Exit codes: 0 the smaller image is made, 1 it does not answer the same, 2 bad input.
    """
    from prumo_endpoint.bodies import read_body
    from prumo_endpoint.image.diet import DietPlan, put_on_diet

    paths = sorted(payload.iterdir()) if payload is not None and payload.is_dir() else [payload]
    payloads = tuple(read_body(path) for path in paths if path is not None)
    plan = DietPlan(image, out, network, memory_mb, keep, starts, payloads)
    with shown_progress() as progress:
        diet = put_on_diet(plan, progress)
    if as_json:
        print_json(diet.document())
    else:
        for line in _lines(diet):
            click.echo(line)
    if not diet.is_proven:
        sys.exit(ExitCode.FINDINGS)


def _lines(diet: Diet) -> list[str]:
    before, after = diet.before, diet.after
    if not diet.is_proven:
        reason = (
            f"answers differ: {', '.join(diet.different)}"
            if diet.different
            else "SageMaker's contract is broken"
        )
        return [f"{after.image} was not made: without the files {reason}"]
    lines = [
        (
            f"{after.image}: {after.compressed_bytes / MB:.1f} MB compressed, "
            f"{after.disk_bytes / MB:.1f} MB on disk"
        ),
        (
            f"{before.image}: {before.compressed_bytes / MB:.1f} MB and "
            f"{before.disk_bytes / MB:.1f} MB; {diet.removed_files} of "
            f"{diet.removed_files + diet.kept_files} files removed"
        ),
        f"The same answers bit for bit to all {diet.asked} requests; the contract is kept.",
    ]
    if gained := diet.gained_seconds:
        shown = f"{gained.mean:.2f} s"
        if gained.low is not None and gained.high is not None:
            shown += f" [{gained.low:.2f}, {gained.high:.2f}]"
        lines.append(f"From start to first answer {shown} sooner, in {gained.n} pairs of starts.")
    return lines
