"""`prumo retina predict`: grade photographs and say who should see a specialist."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import print_json, shown_progress, table_console
from prumo.cli.numbers import FiniteFloatRange
from prumo.cli.options import language_option
from prumo_retina.commands import counted_examples
from prumo_retina.grade import chosen_threshold

if TYPE_CHECKING:
    from prumo.report.language import Language

STANDARD_OUTPUT = "-"

EPILOG = """\b
Examples:
  prumo retina predict model new/*.jpg
  prumo retina predict model new --worklist --csv worklist.csv --lang pt-BR
  prumo retina predict model new --point balanced --heat-maps maps
"""


@click.command(epilog=EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("files", metavar="FILES...", nargs=-1, required=True)
@click.option(
    "--point",
    default="",
    metavar="NAME",
    help="The operating point that decides on a "
    "referral, such as balanced.  [default: the model's own]",
)
@click.option(
    "--threshold",
    "own_threshold",
    type=FiniteFloatRange(0, 1),
    metavar="X",
    help="Refer from this probability on, instead of at an operating point.",
)
@click.option("--worklist", "as_worklist", is_flag=True, help="The most urgent first.")
@click.option(
    "--heat-maps",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write for each photograph the regions that support a referral (Grad-CAM).",
)
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    help="Where the network computes.",
)
@language_option
@click.option("--csv", "csv_path", metavar="FILE", help="Write the table as CSV; - prints it.")
@click.option("--json", "as_json", is_flag=True, help="Print the answers as JSON.")
def command(  # noqa: PLR0913 (one argument per option)
    model: Path,
    files: tuple[str, ...],
    point: str,
    own_threshold: float | None,
    as_worklist: bool,
    heat_maps: Path | None,
    device: str,
    language: Language,
    csv_path: str | None,
    as_json: bool,
) -> None:
    """Grade the photographs FILES with MODEL and say who should see a specialist.

    MODEL is a folder that `prumo retina train` made. FILES are photographs as they come from a
    camera (JPEG, PNG, TIFF, DICOM), or folders of them; they are prepared as those were that the
    model was trained on. A photograph that cannot be judged counts as a referral, with the reason.
    What else lies in a folder is named on standard error.

    A worklist begins with what is urgent (severe or proliferative retinopathy is the most probable
    grade, or more probable than not), then has what cannot be judged, then the other referrals by
    their probability, then all others. Only a model of `--task grade` can tell what is urgent.

    It is decision support and no diagnosis, and it does not judge macular oedema.
    """
    from prumo.report.file import write_file
    from prumo_retina.model import open_model
    from prumo_retina.prediction import Request, given_photographs, predict
    from prumo_retina.prediction.report import (
        PredictionReport,
        notes,
        predictions_csv,
        predictions_document,
        print_predictions,
        worklist,
    )

    if as_json and csv_path == STANDARD_OUTPUT:
        raise click.UsageError("--json and --csv - both want standard output; give --csv a file.")
    opened = open_model(model)
    request = Request(chosen_threshold(opened.description, point, own_threshold), device, heat_maps)
    given = given_photographs(files, heat_maps)
    for line in counted_examples("not looked at", given.not_looked_at):
        click.echo(line, err=True)
    with shown_progress() as progress:
        predictions = predict(opened, given.files, request, progress)
    report = PredictionReport(
        worklist(predictions) if as_worklist else predictions, opened, request.threshold
    )
    if csv_path == STANDARD_OUTPUT:
        click.echo(predictions_csv(report, language), nl=False)
        for note in notes(report):
            click.echo(language.say(note), err=True)
        return
    if as_json:
        print_json(predictions_document(report, language))
    else:
        print_predictions(report, table_console(), language)
    # Last: the answers have been told even if the file cannot be written.
    if csv_path is not None:
        write_file(Path(csv_path), predictions_csv(report, language))
