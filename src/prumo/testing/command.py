"""The contract of the entry points in `prumo.commands`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import click

from prumo.testing.require import modules_loaded_by, require

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAVY = {"altair", "cv2", "numpy", "onnxruntime", "polars", "scipy", "tensorflow", "torch"}
SUMMARY_CHARACTERS = 80


class CommandContract:
    """A click command or group that `prumo NAME` runs.

    class TestMine(CommandContract):
        command = my_package.commands.command
        entry_module = "my_package.commands"
    """

    command: ClassVar[click.Command]
    """What the entry point names."""
    entry_module: ClassVar[str]
    """The module that the entry point names, which `prumo --help` imports."""

    def test_it_is_a_click_command(self) -> None:
        """Prumo runs it through click."""
        require(
            isinstance(self.command, click.Command),
            f"the entry point names a click.Command or click.Group, not {self.command!r}",
        )

    def test_its_summary_fits_the_list_of_commands(self) -> None:
        """`prumo --help` prints one line for it."""
        summary = (self.command.short_help or self.command.help or "").strip().partition("\n")[0]
        require(summary, "the command has a docstring or short_help, whose first line is listed")
        require(
            len(summary) <= SUMMARY_CHARACTERS,
            f"the first line of its help has at most {SUMMARY_CHARACTERS} characters: {summary}",
        )

    def test_it_is_imported_quickly(self) -> None:
        """`prumo --help` imports it, so heavy libraries must wait until it is called."""
        heavy = HEAVY & {name.partition(".")[0] for name in modules_loaded_by(self.entry_module)}
        require(
            not heavy,
            f"importing {self.entry_module} does not import {', '.join(sorted(heavy))}; import "
            "heavy libraries inside the functions that need them",
        )

    def test_every_command_of_it_explains_itself(self) -> None:
        """`--help` works everywhere and says something."""
        for words, command in _commands(self.command, ()):
            require(
                command.help, f"`{' '.join(('prumo …', *words))}` has a help text (its docstring)"
            )
            try:
                command.main(["--help"], standalone_mode=False)
            except click.exceptions.Exit as end:
                require(end.exit_code == 0, f"`{' '.join(words)} --help` ends with 0")

    def test_an_unknown_option_is_a_usage_error(self) -> None:
        """Mistakes of the user end with exit code 2 and a sentence."""
        try:
            self.command.main(["--no-such-option-of-anybody"], standalone_mode=False)
        except click.ClickException as error:
            require(error.exit_code == 2, "an unknown option ends with exit code 2")  # noqa: PLR2004 (of usage errors)
        else:
            raise AssertionError("an unknown option is refused with a click.UsageError")


def _commands(
    command: click.Command, words: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """The command and all below it, each with its words."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            require(below is not None, f"every listed command can be had, also '{name}'")
            if below is not None:
                yield from _commands(below, (*words, name))
