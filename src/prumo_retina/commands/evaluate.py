"""`prumo retina evaluate`: judge a model on photographs that it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import print_json, shown_progress, table_console
from prumo.cli.options import language_option

if TYPE_CHECKING:
    from prumo.report.language import Language
    from prumo_retina.evaluation import Evaluation

EPILOG = """\b
Examples:
  prumo retina evaluate model prepared
  prumo retina evaluate model other-hospital --subset all --heat-maps 5
  prumo retina evaluate cross-validated-model
"""


@click.command(epilog=EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path), required=False)
@click.option(
    "--subset",
    default="test",
    show_default=True,
    metavar="NAME",
    help="Which subset of DATA; `all` for photographs of another hospital.",
)
@click.option(
    "--heat-maps",
    default="0",
    metavar="N|NAMES",
    help="Heat maps of the N photographs that were most wrong, or of these, with commas between.",
)
@click.option(
    "--allow-seen",
    is_flag=True,
    help="Judge also on photographs that trained the model; the card says so.",
)
@click.option(
    "--device",
    default="cpu",
    show_default=True,
    type=click.Choice(["cpu", "cuda", "tpu"]),
    help="Where the network answers.",
)
@click.option(
    "--name",
    default="",
    help="What to call the evaluation, which names its folder.  [default: after DATA]",
)
@language_option
@click.option("--json", "as_json", is_flag=True, help="Print the evaluation as JSON.")
def command(  # noqa: PLR0913 (one argument per option)
    model: Path,
    data: Path | None,
    subset: str,
    heat_maps: str,
    allow_seen: bool,
    device: str,
    name: str,
    language: Language,
    as_json: bool,
) -> None:
    """Judge MODEL on the photographs of DATA, and write its card.

    MODEL is a folder that `prumo retina train` made, DATA one that `prumo retina prepare` made with
    the same settings. A model that was cross-validated needs no DATA: it is judged by what it
    answered out of fold; with DATA, photographs that cannot be judged count too, as referrals.
    Thresholds and temperature stay as the model brings them.

    Figures with intervals, predictions, drawings and the model card (Markdown and HTML) go into
    MODEL/evaluation/.
    """
    from prumo_retina.evaluation import Question, evaluate
    from prumo_retina.evaluation.files import document, write_evaluation
    from prumo_retina.model import open_model

    question = Question(open_model(model), data, subset, allow_seen, device, name, heat_maps)
    with shown_progress() as progress:
        evaluation = evaluate(question, progress)
        folder = write_evaluation(evaluation, heat_maps, language, progress)
    if as_json:
        print_json({**document(evaluation), "folder": str(folder)})
        return
    _print(evaluation, language)
    click.echo(f"\n{language.say('Card')}: {folder / 'card.html'}")


def _print(evaluation: Evaluation, language: Language) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from prumo_retina.card.layout import Paragraph
    from prumo_retina.card.layout import Table as CardTable
    from prumo_retina.card.results import results

    console = table_console()
    console.print(Text(evaluation.model.description.name, style="bold"))
    for block in results(evaluation, language).blocks:
        if isinstance(block, Paragraph):
            console.print(Text(block.text, style="bold yellow" if block.is_warning else ""))
        elif isinstance(block, CardTable):
            table = Table(box=box.SIMPLE)
            for place, head in enumerate(block.heads):
                table.add_column(head, justify="left" if place < block.words else "right")
            for row in block.rows:
                table.add_row(*row)
            console.print(table)
