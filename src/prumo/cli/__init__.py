"""The command line: one file per command, loaded only when that command is called."""

from __future__ import annotations

import os
import sys

import click

from prumo.cli.group import APPLICATIONS, LazyGroup, section_of
from prumo.exit_codes import ExitCode
from prumo.version import __version__

SECTIONS = {
    "The flow": {
        "inspect": "Show this machine, its limits and its noise.",
        "new": "Write a commented starter study.",
        "plan": "Show the scenarios and runs of a study; forecast its time and cost.",
        "setup": "Create the isolated environments that a study needs.",
        "check": "Prove that the frameworks of a study train the same networks.",
        "run": "Run what is still missing of a study.",
        "report": "Create tables, statistics and one HTML page from results.",
    },
    "Ask the results": {
        "compare": "Compare the levels of a factor: which is faster, and by how much.",
        "cost": "Show what the runs of a results folder cost.",
        "advise": "Choose a configuration for a deadline and a budget.",
        "audit": "Check published claims against the data.",
        "import": "Import logs and tables of other measurements.",
        "merge": "Merge run folders from another machine.",
        "export": "Export runs to other tools, such as MLflow.",
    },
    "Prices": {
        "price": "Search, check and update what machines and services cost.",
        "reprice": "Change the prices that a results folder is computed with.",
        "estimate": "Estimate time and cost of a training on a machine you do not have.",
    },
    "Data and networks": {
        "data": "Fetch, check, list and remove data sets.",
        "network": "Show the networks that can be trained.",
        "schema": "Print the JSON Schema of study files, for editors.",
    },
}
COMMANDS = {name: text for section in SECTIONS.values() for name, text in section.items()}

# Names that cannot be those of a module.
MODULES = {"import": "import_results"}


class TopGroup(LazyGroup):
    """Prumo's own commands and those of plug-ins; the one place where a broken pipe ends."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name Prumo's own commands, then those of plug-ins."""
        return [*super().list_commands(ctx), *self._plugin_names()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command, of Prumo or of a plug-in."""
        if cmd_name in COMMANDS:
            return super().get_command(ctx, cmd_name)
        if cmd_name not in self._plugin_names():
            return None
        from prumo.plugins import COMMANDS as POINT

        command = POINT.load(cmd_name)
        if not isinstance(command, click.Command):
            from prumo.errors import PluginError

            raise PluginError(f"the command group '{cmd_name}' is not a click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the commands by section."""
        from prumo.errors import PrumoError

        sections = {title: dict(commands) for title, commands in SECTIONS.items()}
        for name in self._plugin_names():
            try:
                command = self.get_command(ctx, name)
            except PrumoError as error:
                sections.setdefault(APPLICATIONS, {})[name] = str(error)
            else:
                if command is not None:
                    text = command.get_short_help_str(limit=80)
                    sections.setdefault(section_of(command), {})[name] = text
        for title in [*(title for title in sections if title != APPLICATIONS), APPLICATIONS]:
            if title in sections:
                with formatter.section(title):
                    formatter.write_dl(list(sections[title].items()))

    @staticmethod
    def _plugin_names() -> list[str]:
        from prumo.plugins import COMMANDS as POINT

        return [name for name in POINT.names() if name not in COMMANDS]

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; end quietly where its reader has gone, as `head` does."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Python flushes once more at its end, which must not fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return ExitCode.BROKEN_PIPE


@click.group(
    cls=TopGroup,
    package="prumo.cli",
    summaries=COMMANDS,
    modules=MODULES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example:  prumo new study.yaml && prumo run study.yaml && prumo report results/study",
)
@click.version_option(__version__, prog_name="prumo")
def group() -> None:
    """How fast and at what cost a neural network trains and answers.

    In which framework, on which machine, and how certain that is.

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
        sys.exit(ExitCode.INTERRUPTED)
    except Exception as error:  # noqa: BLE001 (no traceback reaches a user)
        sys.exit(_explain(error))
    sys.exit(code if isinstance(code, int) else ExitCode.DONE)


def _explain(error: Exception) -> int:
    """Print an error for a person; the exit code that fits it."""
    from prumo.errors import PrumoError

    if isinstance(error, PrumoError | OSError):
        click.echo(f"prumo: {error}", err=True)
        return error.exit_code if isinstance(error, PrumoError) else ExitCode.BAD_INPUT
    if os.environ.get("PRUMO_DEBUG"):
        import traceback

        traceback.print_exception(error)
    click.echo(
        f"prumo: internal error in Prumo: {type(error).__name__}: {error}\n"
        "Nothing that finished is lost. Please report it with what PRUMO_DEBUG=1 prints.",
        err=True,
    )
    return ExitCode.INTERNAL_ERROR
