"""`prumo network`: what can be trained, with layers, shapes, parameters and FLOPs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from prumo.cli.console import print_json, shown_progress, table_console
from prumo_worker.networks import NAMES
from prumo_worker.networks.catalog import CATALOG
from prumo_worker.networks.operation import describe

if TYPE_CHECKING:
    from collections.abc import Iterable


_NUMBERS = ("classes", "parameters", "GFLOPs", "FLOPs")


@click.group(
    "network", epilog="Example:  prumo network show alexnet --image-size 227 --classes 1000"
)
def command() -> None:
    """Show the networks that can be trained."""


@command.command("list", epilog="Example:  prumo network list --json")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array.")
def list_networks(as_json: bool) -> None:
    """List Prumo's networks with the image sizes and classes they were designed for."""
    from prumo.study.network import find_network, network_account

    accounts = [network_account(find_network(name)) for name in NAMES]
    if as_json:
        told = [
            {key: value for key, value in account.items() if key != "layers"}
            | {"summary": CATALOG[account["name"]].summary}
            for account in accounts
        ]
        print_json(told)
        return
    rows = (
        [
            account["name"],
            describe((account["channels"], account["image_size"], account["image_size"])),
            f"{account['classes']:,}",
            f"{account['parameters']:,}",
            _giga(account["flops"]),
            CATALOG[account["name"]].summary,
        ]
        for account in accounts
    )
    _print_table(["network", "image", "classes", "parameters", "GFLOPs", ""], rows)
    click.echo("A study can also name a .yaml or .py file that defines a network.")


@command.command(
    "show",
    epilog="Example:  prumo network show alexnet --image-size 227 --classes 1000 --json",
)
@click.argument("network")
@click.option("--image-size", type=click.IntRange(1, 4096), help="Side of the images in pixels.")
@click.option("--channels", type=click.IntRange(1), help="Channels of the images, usually 3.")
@click.option("--classes", type=click.IntRange(1), help="Number of classes.")
@click.option("--framework", help="With --check: the framework, such as pytorch or pytorch@2.13.0.")
@click.option("--check", is_flag=True, help="Build it in the framework and train one step.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(  # noqa: PLR0913 (one for each option)
    network: str,
    image_size: int | None,
    channels: int | None,
    classes: int | None,
    framework: str | None,
    check: bool,
    as_json: bool,
) -> None:
    """Show the layers of NETWORK: a name, or the path of a .yaml or .py file."""
    from prumo.study.network import find_network, network_account

    if check != bool(framework):
        raise click.UsageError("--check and --framework go together")
    net = find_network(network, image_size, channels, classes)
    account = network_account(net)
    if framework:
        from prumo.run.equality import build

        with shown_progress() as progress:
            answer = build(net, framework, progress)
        figures = ("version", "parameters", "loss", "loss_after")
        account["check"] = {
            "framework": framework,
            **{figure: getattr(answer, figure) for figure in figures},
        }
    if as_json:
        print_json(account)
    else:
        _print_account(account)


def _print_account(account: dict[str, Any]) -> None:
    _print_table(
        ["layer", "operation", "from", "output", "parameters", "FLOPs"],
        map(_layer_row, account["layers"]),
    )
    image = describe((account["channels"], account["image_size"], account["image_size"]))
    click.echo(
        f"{account['name']} on {image} with {account['classes']:,} classes: "
        f"{account['parameters']:,} parameters\n"
        f"({account['trained_parameters']:,} trained), "
        f"{_giga(account['flops'])} GFLOPs for one image forward"
    )
    for head, weight in account["auxiliary"].items():
        click.echo(f"auxiliary head {head}: its loss counts {weight:g}")
    if "check" in account:
        check = account["check"]
        click.echo(
            f"{check['framework']} {check['version']} builds it with {check['parameters']:,} "
            f"parameters;\nloss {check['loss']:.6g}, after one step {check['loss_after']:.6g} "
            f"(changed by {check['loss_after'] - check['loss']:+.2g})"
        )


def _layer_row(layer: dict[str, Any]) -> list[str]:
    settings = (f"{name} {_value(value)}" for name, value in layer["settings"].items())
    return [
        layer["name"],
        " ".join([layer["operation"], *settings]),
        ", ".join(layer["inputs"]),
        describe(layer["output_shape"]),
        f"{layer['parameters']:,}" if layer["parameters"] else "",
        f"{layer['flops']:,}" if layer["flops"] else "",
    ]


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return describe(value)
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _giga(flops: int) -> str:
    return f"{flops / 1e9:.3f}"


def _print_table(header: list[str], rows: Iterable[list[str]]) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in header:
        table.add_column(title, justify="right" if title in _NUMBERS else "left")
    for row in rows:
        table.add_row(*map(escape, row))
    table_console().print(table)
