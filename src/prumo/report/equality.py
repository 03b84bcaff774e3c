"""The proof that frameworks train the same network, for the terminal and the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from prumo.message import Message
from prumo.quantity import MISSING

if TYPE_CHECKING:
    from rich.console import Console

    from prumo.report.language import Language
    from prumo.results.equality import Equality, NetworkEquality

HEADS: tuple[Message | str, ...] = (
    Message("Framework"),
    Message("Parameters"),
    Message("Scores differ by"),
    Message("Loss"),
    Message("After one step"),
    "",
)


class EqualityRow(NamedTuple):
    """One framework as text, under the heads; then what was found."""

    framework: str
    parameters: str
    score_difference: str
    loss: str
    loss_after: str
    state: str
    findings: tuple[str, ...]


def equality_rows(network: NetworkEquality, language: Language) -> list[EqualityRow]:
    """A row for every framework of a network."""

    def number(value: float | None, form: str) -> str:
        return MISSING if value is None else language.formatted(value, form)

    rows = []
    for row in network.frameworks:
        name = f"{row.framework.partition('@')[0]} {row.version}" if row.version else row.framework
        score = number(row.score_difference, ".2g")
        is_reference = row.framework == network.reference
        rows.append(
            EqualityRow(
                framework=name,
                parameters=number(row.parameters, ",d"),
                score_difference=language.say("reference") if is_reference else score,
                loss=number(row.loss, ".6f"),
                loss_after=number(row.loss_after, ".6f"),
                state=language.say(row.state.value),
                findings=row.findings,
            )
        )
    return rows


def compared_networks(equality: Equality) -> list[NetworkEquality]:
    """The networks that two frameworks or more have built."""
    return [network for network in equality.networks if network.reference]


def network_title(network: NetworkEquality) -> Message:
    """What was compared, and how large it is."""
    values = {"network": network.architecture.title, "number": float(network.parameters)}
    return Message("{network}: {number:,.0f} parameters", values)


def verdict(equality: Equality) -> Message:
    """What the whole check says, in a sentence."""
    proven = compared_networks(equality)
    if not equality.holds:
        return Message("Frameworks of this study do not train the same networks.")
    if not proven:
        return Message("There was nothing to compare: no network was built by two frameworks.")
    if len(proven) < len(equality.networks):
        return Message(
            "The same networks, proven equal (in fp32) wherever two frameworks built one."
        )
    return Message("The same networks, proven equal (in fp32).")


def method(equality: Equality) -> Message:
    """How it was found out, in a sentence."""
    tolerances = equality.tolerances
    return Message(
        "From one seed the same weights and images went into every framework, in single precision "
        "on the processor. Equal means: as many parameters, scores within {score:g} of the "
        "largest, a loss within {loss:g} of itself, and a step of SGD, at a rate that changes it "
        "a little, that changes it by as much within {step:g} %.",
        {
            "score": float(tolerances.score),
            "loss": float(tolerances.loss),
            "step": 100 * tolerances.step,
        },
    )


def print_equality(equality: Equality, console: Console, language: Language) -> None:
    """A table for each network, then the verdict."""
    for network in equality.networks:
        console.print(_table(network, language))
        for row in equality_rows(network, language):
            for finding in row.findings:
                console.print(Text(f"  {row.framework}: {finding}"))
        console.print()
    console.print(Text(language.say(verdict(equality)), style="bold"))
    console.print(Text(language.say(method(equality)), style="dim"))


def _table(network: NetworkEquality, language: Language) -> Table:
    title = Text(language.say(network_title(network)))
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, head in enumerate(HEADS):
        is_number = 0 < place < len(HEADS) - 1
        table.add_column(
            language.say(head), justify="right" if is_number else "left", no_wrap=is_number
        )
    for row in equality_rows(network, language):
        *cells, _ = row
        table.add_row(*map(str, cells))
    return table
