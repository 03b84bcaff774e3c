"""Help fits a terminal of 80 columns."""

from __future__ import annotations

from support.help_texts import help_texts

COLUMNS = 80


def test_no_line_of_any_help_is_wider_than_a_terminal() -> None:
    texts = dict(help_texts(COLUMNS))
    wide = {
        command: lines
        for command, text in texts.items()
        if (lines := [line for line in text.splitlines() if len(line) > COLUMNS])
    }

    assert wide == {}
    # The commands of packages on Prumo are among them.
    assert {"prumo", "prumo report", "prumo import csv", "prumo model package"} <= texts.keys()
