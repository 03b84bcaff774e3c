"""The command line: one file per command, loaded only when that command is called."""

from __future__ import annotations

import os
import sys

import click

from prumo.cli.group import LazyGroup
from prumo.version import __version__

INTERNAL_ERROR = 70
# What a shell tells of a tool that SIGPIPE ended.
BROKEN_PIPE = 141

COMMANDS = {
    "inspect": "Show this machine, its limits and its noise.",
    "network": "Show the networks that can be trained.",
    "price": "Show, check and update what machines and services cost.",
    "new": "Write a commented starter study.",
    "plan": "Show the scenarios and runs of a study, and forecast its time and money.",
    "estimate": "Tell time and money of one training on a machine that is not here.",
    "setup": "Make the isolated environments that a study needs.",
    "data": "Fetch, check, list and remove data sets.",
    "check": "Prove that the frameworks of a study train the same networks.",
    "run": "Run what is still missing of a study.",
    "report": "Tables, statistics and one HTML page from a results folder.",
    "cost": "What the runs of a results folder cost.",
    "advise": "Which configuration to choose for a deadline and a budget, and how sure that is.",
    "reprice": "Change the prices that a results folder's amounts are computed with.",
    "compare": "Compare the levels of a factor: which is faster, by how much, how surely.",
    "audit": "Check stated claims against the data.",
    "import": "Bring logs and tables of other measurements into a results folder.",
    "export": "Hand the runs of a results folder to other tools, such as MLflow.",
    "retina": "Fundus photographs to a referral: prepare, convert, train, evaluate, predict.",
    "model": "Package, convert, quantize and compare models.",
    "serve": "Answer requests with a model: SageMaker's contract, a page for people.",
    "endpoint": "Check whether a server keeps the rules of an endpoint.",
    "merge": "Bring run folders from another machine into a results folder.",
    "schema": "Print the JSON Schema of study files, for editors.",
}

# Names that cannot be those of a module.
MODULES = {"import": "import_results"}


class TopGroup(LazyGroup):
    """All commands; the one place where a broken pipe ends."""

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; end quietly where its reader has gone, as `head` does."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Python flushes once more at its end, which must not fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return BROKEN_PIPE


@click.group(
    cls=TopGroup,
    package="prumo.cli",
    summaries=COMMANDS,
    modules=MODULES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example:  prumo new study.yaml && prumo plan study.yaml && prumo run study.yaml",
)
@click.version_option(__version__, prog_name="prumo")
def group() -> None:
    """How fast and for how much money a neural network trains.

    In which framework, on which machine, and how sure that is.

    One flow: inspect → plan → setup → run → report.
    """


def main() -> None:
    """Run the command line; errors become one clear message and an exit code."""
    try:
        code = group.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 (no traceback reaches a user)
        sys.exit(_explain(error))
    sys.exit(code if isinstance(code, int) else 0)


def _explain(error: Exception) -> int:
    """Print an error for a person; the exit code that fits it."""
    from prumo.errors import PrumoError  # noqa: PLC0415 (only on the error path)

    if isinstance(error, PrumoError):
        click.echo(f"prumo: {error}", err=True)
        return error.exit_code
    if isinstance(error, OSError):
        click.echo(f"prumo: {error}", err=True)
        return PrumoError.exit_code
    if os.environ.get("PRUMO_DEBUG"):
        import traceback  # noqa: PLC0415 (only on the error path)

        traceback.print_exception(error)
    click.echo(
        f"prumo: this is a defect of Prumo's, not of yours: {type(error).__name__}: {error}\n"
        "Nothing that finished is lost. Please report it with what PRUMO_DEBUG=1 prints.",
        err=True,
    )
    return INTERNAL_ERROR
