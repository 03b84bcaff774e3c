"""A tournament for people, in five lines and a table, and for programs."""

from __future__ import annotations

from dataclasses import asdict
from statistics import fmean
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from prumo.quantity import Quantity, digits
from prumo_endpoint.load.request_table import requests_needed
from prumo_endpoint.traces import DAY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from prumo_endpoint.keep_warm.tournament import Endpoint, Entry, Interval, Tournament

FORMAT = 1
_DIGITS = 3
# Below it a policy is not worth a sentence.
_LEAST_AVOIDED = 0.01
_HALF = 0.5
_MANY_REMAIN = 0.1
_NO_CENTS = 100
_COLUMNS, _ANSWER_LINES = 80, 5
# With fewer, one call more or less changes a share by more than a percentage point.
_FEW_CALLS = 100


def print_tournament(
    tournament: Tournament, endpoint: Endpoint, remarks: Sequence[str], console: Console
) -> None:
    """The answer, then a row per policy."""
    for line in answer(tournament, endpoint):
        console.print(Text(line))
    console.print(_table(tournament, endpoint.prices.currency))
    for sentences in (*_reading(tournament, endpoint), *remarks):
        for line in wrap(sentences, _COLUMNS, break_on_hyphens=False):
            console.print(Text(line, style="dim"))


def answer(tournament: Tournament, endpoint: Endpoint) -> list[str]:
    """What a reader wants to know first, in at most five lines; cautions before all."""
    lines: list[str] = []
    for sentence in (*_cautions(tournament, endpoint), *_sentences(tournament, endpoint)):
        wrapped = wrap(sentence, _COLUMNS)
        if len(lines) + len(wrapped) <= _ANSWER_LINES:
            lines += wrapped
    return lines


def _cautions(tournament: Tournament, endpoint: Endpoint) -> list[str]:
    """Why the figures may say nothing at all."""
    found = []
    calls, length = tournament.entries[0].calls, tournament.shortest_trace_seconds
    if calls < _FEW_CALLS or length < DAY_SECONDS:
        found.append(
            f"Caution: only {calls:,} {'call' if calls == 1 else 'calls'} and {_seconds(length)} "
            f"of traffic{' in the shortest trace' if tournament.traces > 1 else ''}; a month needs "
            f"a day and {_FEW_CALLS} calls."
        )
    cold, warm = fmean(endpoint.times.cold_seconds), fmean(endpoint.times.warm_seconds)
    if cold < warm:
        found.append(
            f"Caution: cold answers ({_seconds(cold)}) are faster than warm ones "
            f"({_seconds(warm)}); swapped?"
        )
    return found


def _sentences(tournament: Tournament, endpoint: Endpoint) -> list[str]:
    currency = endpoint.prices.currency
    never, *others = tournament.entries
    first = (
        f"Nothing kept warm: {never.cold_calls:,} of {never.calls:,} answers are cold "
        f"({_percent(never.cold_share.value)}), {_money(_cost(never), currency)} a month."
    )
    lines = [first]
    if not never.cold_calls:
        return [*lines, "There is nothing to keep warm."]
    useful = [entry for entry in others if _at_least(entry) >= _LEAST_AVOIDED]
    if useful:
        best = max(useful, key=lambda entry: (entry.avoided_share.value, -_cost(entry)))
        lines.append(f"Fewest cold: {_offer(best, never, currency)}.")
        half = [entry for entry in useful if entry.avoided_share.value >= _HALF]
        cheap = min(half, key=_cost, default=best)
        if cheap is not best:
            lines.append(f"Cheapest for half: {_offer(cheap, never, currency)}.")
    else:
        lines.append("No policy avoids cold answers for certain.")
    remaining = tournament.cold_calls_beside_one / never.cold_calls
    if remaining >= _MANY_REMAIN:
        lines.append(
            f"{_percent(remaining)} stay cold even beside one warm instance: calls at the same "
            "time."
        )
    return lines


def tournament_document(
    tournament: Tournament, endpoint: Endpoint, remarks: Sequence[str]
) -> dict[str, Any]:
    """Everything that was found, for JSON."""
    times = endpoint.times
    return {
        "format": FORMAT,
        "traces": tournament.traces,
        "days": tournament.days,
        "cold_calls_beside_one": tournament.cold_calls_beside_one,
        "idle_timeout_seconds": endpoint.idle_timeout_seconds,
        "prices": asdict(endpoint.prices),
        "times": {
            kind: {"n": len(values), "mean_seconds": fmean(values)}
            for kind, values in (("cold", times.cold_seconds), ("warm", times.warm_seconds))
        },
        "intervals": {
            "confidence": tournament.confidence,
            "method": "bootstrap over blocks of the traces",
            "blocks": tournament.blocks,
            "block_seconds": tournament.block_seconds,
        },
        "policies": [asdict(entry) for entry in tournament.entries],
        "cautions": _cautions(tournament, endpoint),
        "answer": answer(tournament, endpoint),
        "remarks": list(remarks),
    }


def _table(tournament: Tournament, currency: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("policy", no_wrap=True)
    has_p99 = tournament.entries[0].p99_seconds is not None
    for title in ("cold", "avoided %", "per month", *(["p99"] if has_p99 else []), "pings/d"):
        table.add_column(title, justify="right", no_wrap=True)
    for entry in tournament.entries:
        table.add_row(
            Text(
                f"{entry.policy}{' *' if entry.on_front else ''}", "bold" if entry.on_front else ""
            ),
            _percent(entry.cold_share.value),
            _percents(entry.avoided_share),
            _relative(entry.monthly_cost, currency),
            *([_seconds(entry.p99_seconds)] if entry.p99_seconds is not None else []),
            digits(entry.pings_per_day, _DIGITS),
        )
    return table


def _reading(tournament: Tournament, endpoint: Endpoint) -> list[str]:
    times = endpoint.times
    where = (
        f"{100 * tournament.confidence:g} % intervals by bootstrap over {_blocks(tournament)}"
        if tournament.blocks
        else "The trace is too short for intervals"
    )
    billed = "whole" if endpoint.prices.bills_start else "as long as a warm one"
    calls, needed = tournament.entries[0].calls, requests_needed(0.99)
    no_p99 = f" No p99: n = {calls:,} < {needed}." if calls < needed else ""
    measured = (
        f"Cold {_seconds(fmean(times.cold_seconds))} ({len(times.cold_seconds)} measured), billed "
        f"{billed}; warm {_seconds(fmean(times.warm_seconds))} ({len(times.warm_seconds)}); idle "
        f"time-out {_seconds(endpoint.idle_timeout_seconds)}."
    )
    return [
        f"* No other policy has both fewer cold answers and a lower cost. {where}.{no_p99}",
        measured,
    ]


def _blocks(tournament: Tournament) -> str:
    length = tournament.block_seconds
    if 0.9 * DAY_SECONDS < length < 1.1 * DAY_SECONDS:
        return f"{tournament.blocks} days"
    return f"{tournament.blocks} blocks of {_seconds(length)}"


def _offer(entry: Entry, never: Entry, currency: str) -> str:
    more = _cost(entry) - _cost(never)
    offer = f"{entry.policy} avoids {100 * entry.avoided_share.value:.3g} %"
    if more <= 0:
        return f"{offer} and costs {_money(-more, currency)} a month less"
    avoided = never.monthly_cold_calls - entry.monthly_cold_calls
    of_thousand = _money(1000 * more / avoided, currency)
    return f"{offer}, +{_money(more, currency)} a month ({of_thousand} per 1,000)"


def _cost(entry: Entry) -> float:
    return entry.monthly_cost.value


def _at_least(entry: Entry) -> float:
    """What a policy avoids at least."""
    share = entry.avoided_share
    return share.value if share.low is None else share.low


def _percents(share: Interval) -> str:
    """A share in percent with its interval."""
    value = f"{100 * share.value:.3g}"
    if share.low is None or share.high is None:
        return value
    return f"{value} [{100 * share.low:.3g}, {100 * share.high:.3g}]"


def _relative(cost: Interval, currency: str) -> str:
    text = _money(cost.value, currency)
    if cost.low is None or cost.high is None or not cost.value:
        return text
    percent = 50 * (cost.high - cost.low) / cost.value
    return f"{text} ±{f'{percent:.0f}' if percent >= 1 else '<1'} %"


def _percent(share: float) -> str:
    return f"{100 * share:.{_DIGITS if share >= _LEAST_AVOIDED else _DIGITS - 1}g} %"


def _money(amount: float, currency: str) -> str:
    """From a hundred on without cents."""
    if amount < _NO_CENTS:
        return str(Quantity(amount, currency, _DIGITS))
    return str(Quantity(round(amount), currency)).removesuffix(".00")


def _seconds(seconds: float) -> str:
    return str(Quantity(seconds, "s", _DIGITS))
