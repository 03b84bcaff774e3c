"""`prumo estimate`: time and money of one training on a machine of the price catalog."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import print_json
from prumo.cli.options import earlier_option, exchange_options, language_option, purchase_option
from prumo.errors import InputError, UnavailableError, did_you_mean
from prumo.money.terms import Purchase
from prumo_worker.data import CATALOG
from prumo_worker.frameworks import NAMES as FRAMEWORKS
from prumo_worker.recipe import Recipe

if TYPE_CHECKING:
    from prumo.money.billing import Exchange
    from prumo.report.language import Language


@click.command(
    epilog="Example:  prumo estimate --network vgg19 --dataset cifar10 --epochs 200 "
    "--machine azure/Standard_NC4as_T4_v3"
)
@click.option("--network", required=True, help="One of Prumo's, or a .yaml or .py file.")
@click.option("--dataset", required=True, help=f"One of {', '.join(CATALOG)}.")
@click.option("--epochs", required=True, type=click.IntRange(1), help="Passes over the images.")
@click.option(
    "--machine", required=True, metavar="PROVIDER/SKU", help="Machine, as in `prumo price list`."
)
@click.option("--region", help="Region to rent it in.  [default: the cheapest]")
@click.option(
    "--images", type=click.IntRange(1), help="Number of images.  [default: the whole data set]"
)
@click.option(
    "--image-size",
    type=click.IntRange(1, 4096),
    help="Side of the images in pixels.  [default: that of the data set]",
)
@click.option("--batch-size", type=click.IntRange(1), default=Recipe.batch_size, show_default=True)
@click.option("--framework", type=click.Choice(FRAMEWORKS), default="pytorch", show_default=True)
@click.option(
    "--precision", type=click.Choice(["fp32", "bf16", "fp16"]), default="fp32", show_default=True
)
@earlier_option("Results measured on this kind of machine; repeatable.")
@purchase_option
@exchange_options
@language_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(  # noqa: PLR0913 (each option is an argument)
    network: str,
    dataset: str,
    epochs: int,
    machine: str,
    region: str | None,
    images: int | None,
    image_size: int | None,
    batch_size: int,
    framework: str,
    precision: str,
    earlier: tuple[Path, ...],
    purchase: Purchase | None,
    exchange: Exchange | None,
    language: Language,
    as_json: bool,
) -> None:
    """Estimate how long one training takes on a machine, what it costs, and how certain that is.

    Results from such a machine, given with --from, are scaled by FLOPs and bytes. Without
    them, the estimate is rough: it comes from the data sheet of the accelerator and has a wide
    interval.
    """
    from prumo.forecast.estimate import Training, estimate
    from prumo.money.billing import rate_of
    from prumo.money.catalog import load_catalog
    from prumo.report.cost_sentences import age_notes
    from prumo.report.forecast import estimate_sentences
    from prumo.results.tables import Results
    from prumo.study.network import find_network

    if dataset not in CATALOG:
        raise InputError(f"unknown data set '{dataset}'; {did_you_mean(dataset, CATALOG)}")
    card = CATALOG[dataset]
    net = find_network(network, image_size or card.image_size, card.channels, card.classes)
    training = Training(net, images or card.images, batch_size, epochs, framework, precision)
    if batch_size > training.images:
        raise InputError(f"a batch size of {batch_size} is more than {training.images} images")
    bought = purchase or Purchase.ON_DEMAND
    price = load_catalog().cheapest(machine, region, bought)
    told = estimate(training, price, rate_of(price, bought), [Results(path) for path in earlier])
    if told is None:
        raise UnavailableError(
            f"nothing is known of the speed of {price.accelerator or price.name}; results "
            "measured on it can be given with --from"
        )
    sentences = estimate_sentences(training, price, told, exchange)
    if told.rate is not None:
        sentences += age_notes({price.name: told.rate}, datetime.now(UTC).date())
    said = [language.say(sentence) for sentence in sentences]
    if as_json:
        document = {
            "machine": price.name,
            "seconds": told.seconds.model_dump(),
            "cost": told.cost.model_dump() if told.cost else None,
            "rate": told.rate.model_dump(mode="json") if told.rate else None,
            "rough": told.is_rough,
            "measured_runs": told.runs,
            "sentences": said,
        }
        print_json(document)
    else:
        for sentence in said:
            click.echo(sentence)
