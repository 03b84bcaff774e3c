"""`prumo model package`, `show` and `check`: a model in one archive."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from prumo.cli.console import print_json, shown_progress, table_console
from prumo.cli.options import language_option
from prumo.exit_codes import ExitCode
from prumo.plugins import RUNTIMES, TASKS
from prumo_serve.choices import NORMALIZATIONS, Fit, Layout

if TYPE_CHECKING:
    from rich.text import Text

    from prumo.report.language import Language


_PACKAGE_EPILOG = """\b
Examples:
  prumo model package model --out model.tar.gz
  prumo model package mobilenet.keras --out model.tar.gz --labels cat,dog \\
    --normalization -1..1
  prumo model package network.onnx --out folder --task grade \\
    --normalization 0..1 --point own=0.4
"""


def _labels(_context: click.Context, _option: click.Parameter, text: str) -> tuple[str, ...]:
    from prumo_serve.package.making import given_labels

    return given_labels(text)


def _card(_context: click.Context, _option: click.Parameter, path: Path | None) -> str:
    from prumo_serve.package.making import given_card

    return given_card(path) if path else ""


@click.command(epilog=_PACKAGE_EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="An archive if it ends in .tar.gz or .tgz, else a folder.",
)
@click.option("--name", default="", help="What to call the model.  [default: its own name]")
@click.option("--task", type=click.Choice(TASKS.names()), help="What it answers.")
@click.option(
    "--labels",
    default="",
    metavar="A,B,C|FILE",
    callback=_labels,
    help="Its classes in the order of its outputs, or a file with one in each line.",
)
@click.option(
    "--size",
    "size_pixels",
    type=click.IntRange(1, 4096),
    metavar="PIXELS",
    help="Side of the images that it takes, where it would take any.",
)
@click.option(
    "--normalization",
    type=click.Choice(list(NORMALIZATIONS)),
    help="What it expects of its pixels; `inside` where its first layers see to it.",
)
@click.option(
    "--layout",
    type=click.Choice(get_args(Layout)),
    help="Where its images have their colours, if their shape does not tell.",
)
@click.option(
    "--fit",
    type=click.Choice(get_args(Fit)),
    help="How images of another shape get the network's: stretched, cut or padded.  "
    "[default: stretch]",
)
@click.option(
    "--point",
    "points",
    multiple=True,
    metavar="NAME[=THRESHOLD]",
    help="An operating point: from its threshold on the answer is yes; the first one decides.",
)
@click.option(
    "--card",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    callback=_card,
    help="A model card in Markdown.  [default: the model's own, or a short one]",
)
@click.option(
    "--runtime",
    type=click.Choice(RUNTIMES.names()),
    default="onnxruntime",
    show_default=True,
    help="What will compute the network.",
)
@language_option
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON.")
def package_command(
    model: Path,
    out: Path,
    as_json: bool,
    language: Language,
    **options: Any,  # noqa: ANN401 (click's values, checked above)
) -> None:
    """Pack MODEL with all that its answers depend on.

    MODEL is a Keras file (.keras, .h5), a SavedModel folder, a PyTorch export (.pt2) or an ONNX
    file, of which the options say what it does not say itself; or a folder that the training of an
    installed task wrote, which needs no options. Nothing in it is run: models that hold Python code
    are refused. The packaged network is compared with the original and asked once before anything
    is written, and the same model always gives the same bytes.
    """
    from prumo_serve.package.making import PackageRequest, make_package

    request = PackageRequest(language_tag=language.tag, **options)
    with shown_progress() as progress:
        manifest = make_package(model, request, out, progress)
    if as_json:
        print_json(manifest)
    else:
        click.echo(f"{out}: {manifest.name}, version {manifest.version}")


_SHOW_EPILOG = """\b
Examples:
  prumo model show model.tar.gz
  prumo model show model.tar.gz --card
"""


@click.command(epilog=_SHOW_EPILOG)
@click.argument("package", type=click.Path(path_type=Path))
@click.option("--card", "with_card", is_flag=True, help="Print the model card instead.")
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON.")
def show_command(package: Path, with_card: bool, as_json: bool) -> None:
    """Show what the packaged model PACKAGE is: what it answers, takes and was made of.

    PACKAGE is an archive or a folder that `prumo model package` wrote. Every file's hash is
    compared with the manifest; the network is not loaded.
    """
    from rich.text import Text

    from prumo_serve.package import open_package
    from prumo_serve.package.check import package_document, shown_rows

    with open_package(package) as opened:
        if as_json:
            print_json(package_document(opened))
        elif with_card:
            click.echo(opened.card, nl=False)
        else:
            _print_rows([(Text(name), Text(text)) for name, text in shown_rows(opened)])


_CHECK_EPILOG = """\b
Example:
  prumo model check model.tar.gz
"""


@click.command(epilog=_CHECK_EPILOG)
@click.argument("package", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print what was checked as JSON.")
def check_command(package: Path, as_json: bool) -> None:
    """Check that the packaged model PACKAGE is whole, safe, and answers.

    Hashes and manifest are compared, the network is loaded by its runtime and asked with noise,
    alone and beside another image; its heat maps too. It ends with 1 where the network does not do
    what the manifest says, and with 2 where the package cannot be opened at all.
    """
    from rich.text import Text

    from prumo_serve.package import open_package
    from prumo_serve.package.check import examined

    with open_package(package) as opened:
        findings = examined(opened)
    passed = all(finding.passed for finding in findings)
    if as_json:
        document = {"passed": passed, "findings": [asdict(finding) for finding in findings]}
        print_json(document)
    else:
        marks = {True: Text("ok", "green"), False: Text("WRONG", "bold red")}
        _print_rows([(marks[one.passed], Text(one.subject), Text(one.told)) for one in findings])
    if not passed:
        sys.exit(ExitCode.FINDINGS)


def _print_rows(rows: Sequence[tuple[Text, ...]]) -> None:
    """The last column is folded where it has to be, the others never."""
    from rich.table import Table

    table = Table(box=None, show_header=False)
    for _ in rows[0][1:]:
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    table_console().print(table)
