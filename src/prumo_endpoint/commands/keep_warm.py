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
    from prumo_endpoint.keep_warm.policy import Policy
    from prumo_endpoint.keep_warm.times import AnswerTimes

EPILOG = """\b
Examples:
  prumo endpoint keep-warm calls.csv --cold 12.5 --warm 0.36 --memory-gb 2
  prumo endpoint keep-warm invocations.csv --function c13acdc7 \\
    --results results/memory --scenario C2 --memory-gb 2 \\
    --idle-timeout 10min --figure keep-warm.svg
"""
_HOURS = re.compile(r"(\d{1,2})-(\d{1,2})")
_LAST_HOUR = 24
_THRESHOLDS = (0.1, 0.5)
_PIXEL_RATIO = 2.0


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
@click.option("--cold", metavar="SECONDS|CSV", help="Time of a cold answer, or a file of them.")
@click.option("--warm", metavar="SECONDS|CSV", help="Time of a warm answer, or a file of them.")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Take cold and warm times from the requests of a results folder.",
)
@click.option("--scenario", default="", metavar="NAME", help="Of the results folder, such as C2.")
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
    default=2,
    show_default=True,
    metavar="N",
    help="Memory size, which decides SageMaker's price.",
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
    memory_gb: int,
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

    from prumo.money.billing import rate_of
    from prumo.money.catalog import load_catalog, provisioned_names
    from prumo.money.price import Kind, Purchase
    from prumo.report.file import write_file
    from prumo_endpoint.keep_warm.fixed_hours import FixedHours
    from prumo_endpoint.keep_warm.forecaster import Forecaster
    from prumo_endpoint.keep_warm.hybrid_histogram import HybridHistogram
    from prumo_endpoint.keep_warm.ping import LEAST_PING_SECONDS, Ping
    from prumo_endpoint.keep_warm.policy import refresh_seconds
    from prumo_endpoint.keep_warm.provisioned import Provisioned
    from prumo_endpoint.keep_warm.report import pareto_figure, print_tournament, tournament_document
    from prumo_endpoint.keep_warm.tournament import Endpoint, Prices, compared
    from prumo_endpoint.traces import Trace

    if figure is not None and figure.suffix not in {".svg", ".png"}:
        raise click.UsageError(f"--figure draws .svg or .png, and not '{figure.name}'.")
    name = price or f"sagemaker/serverless-{memory_gb}gb@us-east-1"
    catalog = load_catalog()
    rate = rate_of(catalog.named(name), Purchase.ON_DEMAND)
    if rate.kind is not Kind.SERVERLESS:
        raise click.UsageError(f"{name} is no price of a serverless endpoint per second.")
    remarks = [f"Price: {rate.price}, {rate.as_of}; data in and out is not counted."]
    ready, work = (
        rate_of(one, Purchase.ON_DEMAND) if one and one.currency == rate.currency else None
        for one in catalog.provisioned(rate.price)
    )
    if provisioned_price is None and ready is not None:
        provisioned_price = ready.cost(1.0, exact=True)
        remarks.append(f"Provisioned concurrency: {ready.price}, {ready.as_of}.")
    if provisioned_work_price is None and work is not None:
        provisioned_work_price = work.cost(1.0, exact=True)
    endpoint = Endpoint(
        _times(cold, warm, results, scenario),
        Prices(
            rate.cost(1.0, exact=True),
            provisioned_price,
            provisioned_work_price,
            rate.currency,
            bills_start=not free_start,
        ),
        idle_timeout,
    )
    every = pings or (300.0, max(LEAST_PING_SECONDS, refresh_seconds(idle_timeout)))
    policies: list[Policy] = [Ping(seconds) for seconds in dict.fromkeys(every)]
    policies += [FixedHours(*part_of_day), HybridHistogram(), *map(Forecaster, _THRESHOLDS)]
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


def _times(cold: str | None, warm: str | None, results: Path | None, scenario: str) -> AnswerTimes:
    """From the options, and where they say nothing from the results folder."""
    from prumo_endpoint.keep_warm.times import AnswerTimes, measured_seconds, results_times

    if results is None:
        if cold is None or warm is None:
            raise click.UsageError("give --cold and --warm, or --results with both.")
        return AnswerTimes(measured_seconds(cold), measured_seconds(warm))
    if cold is not None and warm is not None:
        raise click.UsageError("--cold and --warm leave nothing to take from --results.")
    found = results_times(results, scenario)
    return AnswerTimes(
        found.cold_seconds if cold is None else measured_seconds(cold),
        found.warm_seconds if warm is None else measured_seconds(warm),
    )
