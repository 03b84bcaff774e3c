"""The proof that frameworks train the same network, for the terminal and the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from prumo.report.number import MISSING

if TYPE_CHECKING:
    from rich.console import Console

    from prumo.results.equality import Equality, FrameworkEquality, NetworkEquality

HEADS = ("Framework", "Parameters", "Scores differ by", "Loss", "After one step", "")


@dataclass(frozen=True)
class EqualityRow:
    """One framework as text."""

    framework: str
    parameters: str
    score_difference: str
    loss: str
    loss_after: str
    state: str
    findings: tuple[str, ...]

    @property
    def cells(self) -> tuple[str, ...]:
        """The row's texts under the heads."""
        return (
            self.framework,
            self.parameters,
            self.score_difference,
            self.loss,
            self.loss_after,
            self.state,
        )


def equality_rows(network: NetworkEquality) -> list[EqualityRow]:
    """A row for every framework of a network."""
    return [_row(row, network) for row in network.frameworks]


def compared_networks(equality: Equality) -> list[NetworkEquality]:
    """The networks that two frameworks or more have built."""
    return [network for network in equality.networks if network.reference]


def verdict(equality: Equality) -> str:
    """What the whole check says, in a sentence."""
    proven = compared_networks(equality)
    if not equality.holds:
        return "Frameworks of this study do not train the same networks."
    if not proven:
        return "There was nothing to compare: no network was built by two frameworks."
    if len(proven) < len(equality.networks):
        return "The same networks, proven equal (in fp32) wherever two frameworks built one."
    return "The same networks, proven equal (in fp32)."


def method(equality: Equality) -> str:
    """How it was found out, in a sentence."""
    tolerances = equality.tolerances
    return (
        "From one seed the same weights and images went into every framework, in single precision "
        "on the processor. Equal means: as many parameters, scores within "
        f"{tolerances.score:g} of the largest, a loss within {tolerances.loss:g} of itself, and a "
        f"step of SGD, at a rate that changes it a little, that changes it by as much within "
        f"{100 * tolerances.step:g} %."
    )


def print_equality(equality: Equality, console: Console) -> None:
    """A table for each network, then the verdict."""
    for network in equality.networks:
        console.print(_table(network))
        for row in equality_rows(network):
            for finding in row.findings:
                console.print(Text(f"  {row.framework}: {finding}"))
        console.print()
    console.print(Text(verdict(equality), style="bold"))
    console.print(Text(method(equality), style="dim"))


def _table(network: NetworkEquality) -> Table:
    title = Text(f"{network.title}: {network.parameters:,} parameters")
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, head in enumerate(HEADS):
        is_number = 0 < place < len(HEADS) - 1
        table.add_column(head, justify="right" if is_number else "left", no_wrap=is_number)
    for row in equality_rows(network):
        table.add_row(*row.cells)
    return table


def _row(row: FrameworkEquality, network: NetworkEquality) -> EqualityRow:
    is_reference = row.framework == network.reference
    name = row.framework.partition("@")[0]
    return EqualityRow(
        framework=f"{name} {row.version}" if row.version else row.framework,
        parameters=MISSING if row.parameters is None else f"{row.parameters:,}",
        score_difference="reference" if is_reference else _number(row.score_difference, "g", 2),
        loss=_number(row.loss, "f", 6),
        loss_after=_number(row.loss_after, "f", 6),
        state=row.state.value,
        findings=row.findings,
    )


def _number(value: float | None, form: str, digits: int) -> str:
    return MISSING if value is None else f"{value:.{digits}{form}}"
