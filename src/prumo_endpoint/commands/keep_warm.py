"""`prumo endpoint keep-warm`: which policy avoids cold answers, and for how much money."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import print_json, shown_progress, table_console
from prumo.cli.numbers import FiniteFloatRange
from prumo.cli.options import confidence_option, duration

if TYPE_CHECKING:
    from prumo.money.billing import Rate
    from prumo_endpoint.keep_warm.measured import MeasuredEndpoint
    from prumo_endpoint.keep_warm.policy import Policy
    from prumo_endpoint.keep_warm.times import AnswerTimes

EPILOG = """\b
Examples:
  prumo endpoint keep-warm calls.csv --cold 12.5 --warm 0.36 --memory-gb 2
  prumo endpoint keep-warm invocations.csv --function c13acdc7 \\
    --results results/memory --scenario C2 \\
    --idle-timeout 10min --figure keep-warm.svg
"""
_HOURS = re.compile(r"(\d{1,2})-(\d{1,2})")
_LAST_HOUR = 24
_THRESHOLDS = (0.1, 0.5)
_PIXEL_RATIO = 2.0
_MEMORY_GB = 2


def hours(text: str) -> tuple[int, int]:
    """The hours of a day such as 8-18.

    >>> hours("22-6")
    (22, 6)
    """
    found = _HOURS.fullmatch(text.strip())
    if found is None or max(int(found[1]), int(found[2])) > _LAST_HOUR or found[1] == found[2]:
        raise click.BadParameter(f"'{text}' is not a part of the day; write it as 8-18 or 22-6")
    return int(found[1]), int(found[2])


@click.command(epilog=EPILOG)
@click.argument(
    "traces", metavar="TRACE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option("--cold", metavar="TIME|CSV", help="Of a cold answer, as 12.5 or 1.2s; or a file.")
@click.option("--warm", metavar="TIME|CSV", help="Of a warm answer, as 0.36 or 37ms; or a file.")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Take the price, and times that are not given, from the runs of a results folder.",
)
@click.option(
    "--scenario", default="", metavar="NAME", help="Any of the endpoint in the results, such as C2."
)
@click.option(
    "--idle-timeout",
    type=duration,
    default="10min",
    show_default=True,
    metavar="TIME",
    help="After how long the platform stops an idle instance.",
)
@click.option(
    "--memory-gb",
    type=click.IntRange(1, 6),
    metavar="N",
    help="Memory size, which decides SageMaker's price.  [default: that of the results, or 2]",
)
@click.option("--price", metavar="PRICE", help="Another price per second, as provider/sku@region.")
@click.option(
    "--provisioned-price",
    type=FiniteFloatRange(0),
    metavar="AMOUNT",
    help="Of a provisioned instance per second, as 0.00001.  [default: the catalog's]",
)
@click.option(
    "--provisioned-work-price",
    type=FiniteFloatRange(0),
    metavar="AMOUNT",
    help="Of its work per second.  [default: the catalog's, or as on demand]",
)
@click.option(
    "--free-start",
    is_flag=True,
    help="The platform does not bill the start: a cold answer costs as much as a warm one.",
)
@click.option(
    "--ping",
    "pings",
    type=duration,
    multiple=True,
    metavar="TIME",
    help="Distance of pings; repeatable.  [default: 5min, and 90 % of the idle time-out]",
)
@click.option(
    "--hours",
    "part_of_day",
    type=hours,
    default="8-18",
    show_default=True,
    metavar="FROM-UNTIL",
    help="Hours of the policy `schedule`, by the clock of the trace.",
)
@click.option(
    "--provisioned",
    "instances",
    type=click.IntRange(1, 200),
    multiple=True,
    default=(1,),
    show_default=True,
    metavar="N",
    help="Provisioned instances; repeatable.",
)
@click.option(
    "--function", default="", metavar="NAME", help="One function or app of an Azure trace."
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    metavar="N",
    help="Of everything that is drawn.",
)
@confidence_option
@click.option(
    "--figure",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw cold answers avoided against money, as .svg or .png.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(  # noqa: PLR0913 (one argument per option)
    traces: tuple[Path, ...],
    cold: str | None,
    warm: str | None,
    results: Path | None,
    scenario: str,
    idle_timeout: float,
    memory_gb: int | None,
    price: str | None,
    provisioned_price: float | None,
    provisioned_work_price: float | None,
    free_start: bool,
    pings: tuple[float, ...],
    part_of_day: tuple[int, int],
    instances: tuple[int, ...],
    function: str,
    seed: int,
    confidence: float,
    figure: Path | None,
    as_json: bool,
) -> None:
    """Compare ways to keep a serverless endpoint warm, on traces of calls.

    Every TRACE is the traffic of one endpoint: a CSV file with a column of arrival times, or calls
    of Azure Functions (2019 or 2021), or a folder of such files. Policies are simulated with the
    cold and warm times that you measured: nothing kept warm, pings at equal distances or in some
    hours, provisioned concurrency, the hybrid histogram (Shahrad et al. 2020), and a forecaster.
    A call that arrives while all instances are busy starts another one.
    """
    import vl_convert

    from prumo.money.catalog import provisioned_names
    from prumo.money.price import Kind
    from prumo.report.file import write_file
    from prumo_endpoint.keep_warm.figure import pareto_figure
    from prumo_endpoint.keep_warm.measured import MeasuredEndpoint
    from prumo_endpoint.keep_warm.provisioned import Provisioned
    from prumo_endpoint.keep_warm.report import print_tournament, tournament_document
    from prumo_endpoint.keep_warm.tournament import Endpoint, Prices, compared
    from prumo_endpoint.traces import Trace

    if figure is not None and figure.suffix not in {".svg", ".png"}:
        raise click.UsageError(f"--figure draws .svg or .png, and not '{figure.name}'.")
    if scenario and results is None:
        raise click.UsageError(f"--scenario {scenario} needs the --results that it is of.")
    measured = MeasuredEndpoint.of(results, scenario) if results is not None else None
    times, remarks = _times(cold, warm, measured)
    rate, remark = _rate(measured, memory_gb, price)
    if rate.kind is not Kind.SERVERLESS:
        raise click.UsageError(f"{rate.price} is no price of a serverless endpoint per second.")
    remarks.append(f"{remark} Data in and out is not counted.")
    ready, work = _provisioned_rates(rate, measured)
    if provisioned_price is None and ready is not None:
        provisioned_price = ready.cost(1.0, exact=True)
        remarks.append(f"Provisioned concurrency: {ready.price}, {ready.as_of}.")
    if provisioned_work_price is None and work is not None:
        provisioned_work_price = work.cost(1.0, exact=True)
    endpoint = Endpoint(
        times,
        Prices(
            rate.cost(1.0, exact=True),
            provisioned_price,
            provisioned_work_price,
            rate.currency,
            bills_start=not free_start,
        ),
        idle_timeout,
    )
    policies = _policies(idle_timeout, pings, part_of_day)
    if provisioned_price is None:
        remarks.append(
            f"Provisioned concurrency is left out: {provisioned_names(rate.price)[0]} is not "
            f"known; --provisioned-price 0.00001 gives it, in {rate.currency} per second."
        )
    else:
        policies += map(Provisioned, dict.fromkeys(instances))
    with shown_progress() as progress:
        progress.show("reading the trace")
        arrivals = [Trace(path, function, seed=seed).arrivals() for path in traces]
        tournament = compared(policies, arrivals, endpoint, confidence, seed, progress)
    remarks += dict.fromkeys(one.remark for one in arrivals if one.remark)
    if figure is not None:
        svg = pareto_figure(tournament, rate.currency).svg
        is_png = figure.suffix == ".png"
        write_file(figure, vl_convert.svg_to_png(svg, scale=_PIXEL_RATIO) if is_png else svg + "\n")
    if as_json:
        print_json(tournament_document(tournament, endpoint, remarks))
    else:
        print_tournament(tournament, endpoint, remarks, table_console())
    if figure is not None:
        click.echo(f"Figure: {figure}", err=as_json)


def _policies(
    idle_timeout: float, pings: tuple[float, ...], part_of_day: tuple[int, int]
) -> list[Policy]:
    """Those that need no price of their own."""
    from prumo_endpoint.keep_warm.fixed_hours import FixedHours
    from prumo_endpoint.keep_warm.forecaster import Forecaster
    from prumo_endpoint.keep_warm.hybrid_histogram import HybridHistogram
    from prumo_endpoint.keep_warm.ping import LEAST_PING_SECONDS, Ping
    from prumo_endpoint.keep_warm.policy import refresh_seconds

    every = pings or (300.0, max(LEAST_PING_SECONDS, refresh_seconds(idle_timeout)))
    return [
        *map(Ping, dict.fromkeys(every)),
        FixedHours(*part_of_day),
        HybridHistogram(),
        *map(Forecaster, _THRESHOLDS),
    ]


def _times(
    cold: str | None, warm: str | None, measured: MeasuredEndpoint | None
) -> tuple[AnswerTimes, list[str]]:
    """From the options, and where they say nothing from the results; with what to say of that."""
    from prumo_endpoint.keep_warm.times import AnswerTimes, measured_seconds

    found, sources = [], []
    for kind, given in (("cold", cold), ("warm", warm)):
        if given is not None:
            found.append(measured_seconds(given))
        elif measured is not None:
            found.append(measured.seconds(kind))
            sources.append(f"{kind} from {measured.sources(kind)}")
        else:
            raise click.UsageError("give --cold and --warm, or --results with both.")
    return AnswerTimes(*found), [f"Times: {', '.join(sources)}."] if sources else []


def _rate(
    measured: MeasuredEndpoint | None, memory_gb: int | None, price: str | None
) -> tuple[Rate, str]:
    """The price per second, and where it is from."""
    from prumo.money.billing import rate_of
    from prumo.money.catalog import load_catalog
    from prumo.money.price import Purchase

    kept = measured.rate if measured is not None and price is None else None
    known_gb = measured.memory_gb if measured is not None and price is None else None
    if memory_gb not in {None, known_gb} and (kept or known_gb):
        size = f"{known_gb} GB" if known_gb else "another size"
        raise click.UsageError(
            f"--memory-gb {memory_gb} is not what was measured: {size}"
            f"{f' ({kept.price})' if kept else ''}. Leave it out, or give --price to compute with "
            "another price."
        )
    if kept is not None:
        return kept, f"Price: {kept.price}, {kept.as_of}, as kept with the results."
    size_gb = memory_gb or known_gb or _MEMORY_GB
    name = price or f"sagemaker/serverless-{size_gb}gb@us-east-1"
    rate = rate_of(load_catalog().named(name), Purchase.ON_DEMAND)
    remark = f"Price: {rate.price}, {rate.as_of}."
    replaced = {other.price for other in measured.rates} - {rate.price} if measured else set()
    if replaced:
        remark += f" The results keep {' and '.join(sorted(replaced))}; --price counts."
    elif measured is not None and not (price or memory_gb or known_gb):
        remark += f" The results do not say the memory size: {_MEMORY_GB} GB are assumed."
    return rate, remark


def _provisioned_rates(
    rate: Rate, measured: MeasuredEndpoint | None
) -> tuple[Rate | None, Rate | None]:
    """Of a ready instance and of its work: as kept with the results, or else of the catalog."""
    from prumo.money.billing import rate_of
    from prumo.money.catalog import load_catalog, provisioned_names
    from prumo.money.price import Purchase

    known = {
        price.name: rate_of(price, Purchase.ON_DEMAND)
        for price in load_catalog().provisioned(rate.price)
        if price is not None
    }
    known |= measured.kept_rates if measured is not None else {}
    ready, work = (known.get(name) for name in provisioned_names(rate.price))
    return (
        ready if ready and ready.currency == rate.currency else None,
        work if work and work.currency == rate.currency else None,
    )
