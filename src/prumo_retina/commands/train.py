"""`prumo retina train`: train a model on converted photographs."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import click

from prumo.cli.console import print_json, shown_progress
from prumo_worker.retina.backbones import NAMES as NETWORKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from prumo_retina.training import TrainedModel

_FIGURES = {
    "auc": "AUC",
    "kappa": "quadratic kappa",
    "accuracy": "accuracy",
    "loss": "loss",
}

EPILOG = """\b
Examples:
  prumo retina train prepared --out model
  prumo retina train prepared --out grades --task grade --head 128+128
  prumo retina train prepared --out tuned --network mobilenet \\
    --weights library --fine-tune
  prumo retina train prepared --out scratch --network inception_v3 \\
    --weights none --device cuda
"""


def _parameter(name: str, help_text: str, **settings: Any) -> Callable[..., Any]:  # noqa: ANN401 (as click's own)
    """An option for a parameter of a training; its default is the parameter's own."""
    return click.option(f"--{name.replace('_', '-')}", name, help=help_text, **settings)


@click.command(epilog=EPILOG)
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    metavar="MODEL",
    type=click.Path(path_type=Path),
    help="Folder of the model.",
)
@click.option(
    "--network",
    default="efficientnet_lite0",
    show_default=True,
    metavar="NAME",
    help=f"The backbone: {', '.join(NETWORKS)}.",
)
@click.option(
    "--weights",
    default="auto",
    show_default=True,
    metavar="auto|none|library|FILE",
    help="Of the backbone: what can be had, none, Keras's own, or a Keras, PyTorch or ONNX file.",
)
@_parameter("task", "Refer or not, or five grades.  [default: referral]", metavar="referral|grade")
@_parameter(
    "head", "`linear`, or the widths of hidden layers.  [default: linear]", metavar="WIDTHS"
)
@click.option(
    "--frozen/--fine-tune",
    default=None,
    help="Train the head alone on features computed once, or the network.  "
    "[default: frozen with pretrained weights]",
)
@_parameter(
    "trained_layers", "Fine-tune only the last N layers.  [default: all]", type=int, metavar="N"
)
@_parameter("epochs", "Passes over the photographs.  [default: 200]", type=int, metavar="N")
@_parameter(
    "batch_size", "Photographs per step, over all devices.  [default: 8]", type=int, metavar="N"
)
@_parameter("optimizer", "How weights are changed.  [default: adam]", metavar="adam|sgd|rmsprop")
@_parameter(
    "learning_rate",
    "Of the first epoch.  [default: 0.0001 to fine-tune pretrained weights, else 0.001]",
    type=float,
    metavar="RATE",
)
@_parameter(
    "weight_decay",
    "Pull of the head's weights to zero.  [default: 100 for a linear head on a frozen network, "
    "else 0]",
    type=float,
    metavar="STRENGTH",
)
@_parameter(
    "reduce_epochs",
    "Halve the rate after so many epochs without a better loss; 0 never.  [default: 5]",
    type=int,
    metavar="N",
)
@_parameter(
    "patience",
    "Stop after so many epochs without a better one; 0 never.  [default: 0]",
    type=int,
    metavar="N",
)
@click.option(
    "--augment/--no-augment",
    default=None,
    help="Change photographs at random; a frozen network sees them mirrored too.  "
    "[default: augment]",
)
@click.option(
    "--class-weights/--no-class-weights",
    default=None,
    help="Let rare grades count as much as common ones.  [default: class-weights]",
)
@_parameter("device", "Where to train.  [default: cpu]", metavar="cpu|cuda|tpu")
@_parameter(
    "strategy",
    "How devices share the work.  [default: auto, all there are]",
    metavar="auto|one|mirrored|tpu",
)
@_parameter("precision", "Of the numbers.  [default: fp32]", metavar="fp32|bf16|fp16")
@_parameter("threads", "Compute threads.  [default: all cores]", type=int, metavar="N")
@_parameter("seed", "Of weights, order and chance.  [default: 1]", type=int, metavar="N")
@click.option("--restart", is_flag=True, help="Retrain from scratch what MODEL holds already.")
@click.option("--json", "as_json", is_flag=True, help="Print the model's description as JSON.")
def command(  # noqa: PLR0913 (click hands every option over by itself)
    data: Path,
    out: Path,
    network: str,
    weights: str,
    restart: bool,
    as_json: bool,
    **options: Any,  # noqa: ANN401 (the parameters, each of its own type)
) -> None:
    """Train a model on the photographs of DATA, a folder that `prumo retina convert` has seen.

    With folds, every photograph is judged by a network that has not seen it, and the model itself
    is trained on all of them. A training that was stopped goes on when it is called again.
    Thresholds and calibration are chosen on photographs that the network was not trained on.
    """
    from prumo_retina.training import TrainingOrder, train

    given = {name: value for name, value in options.items() if value is not None}
    order = TrainingOrder(data, out, network, weights, given, restart)
    with shown_progress() as progress:
        model = train(order, progress)
    for warning in model.warnings:
        click.echo(f"WARNING: {warning}", err=True)
    if as_json:
        told = {**model.description.model_dump(mode="json"), "warnings": model.warnings}
        print_json(told)
        return
    for line in _lines(model, data):
        click.echo(line)


def _lines(model: TrainedModel, data: Path) -> Iterator[str]:
    facts, description = model.facts, model.description
    seconds = facts["metrics"]["train_seconds"]
    yield (
        f"{model.folder}: {description.network} for {description.task}, trained in {seconds:.1f} s "
        f"on {facts['device']}"
    )
    yield f"{facts['judged_on']}: {_figures(facts['figures'])}"
    folds: list[Mapping[str, Any]] = facts["folds"] or []
    for fold in folds:
        yield f"  {fold['fold']}: {fold['photographs']} photographs, {_figures(fold)}"
    for name, title in _FIGURES.items():
        values = [fold[name] for fold in folds if name in fold]
        if len(values) > 1:
            yield f"  {title} over folds: {fmean(values):.3f} ± {stdev(values):.3f}"
    for point in description.points:
        mark = "*" if point.name == description.point else " "
        yield (
            f"{mark} {point.name}: refer from {point.threshold:.3f}, sensitivity "
            f"{point.sensitivity:.3f}, specificity {point.specificity:.3f}"
        )
    yield f"judge it with:  prumo retina evaluate {model.folder} {data}"


def _figures(figures: Mapping[str, float]) -> str:
    return ", ".join(
        f"{title} {figures[name]:.3f}" for name, title in _FIGURES.items() if name in figures
    )
