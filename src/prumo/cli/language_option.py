"""The option of commands whose answers are told in several languages."""

from __future__ import annotations

import click

language_option = click.option(
    "--lang",
    "tag",
    envvar="PRUMO_LANG",
    default="en",
    show_default=True,
    metavar="TAG",
    help="Language of the texts and numbers: en or pt-BR.  [env: PRUMO_LANG]",
)
