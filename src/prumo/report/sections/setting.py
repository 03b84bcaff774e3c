"""What the results rest on: machine, versions and data, equal networks, how to repeat them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Self

from rich.text import Text

from prumo.message import Message, Series
from prumo.quantity import Quantity
from prumo.report.equality import HEADS, equality_rows, method, network_title, verdict
from prumo.report.sections.section import PageSection, Section
from prumo.results.columns import machine_facts, versions_text
from prumo.results.folder import STUDY_FILE
from prumo.study import Imported
from prumo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.results.equality import Equality
    from prumo.results.record import RunRecord
    from prumo.results.tables import Results

DIGITS = 2
MEASURES = (
    ("load_average", Message("load average"), ""),
    ("steal_percent", Message("processor time taken by the host"), "%"),
    ("pressure_cpu_percent", Message("time in which tasks waited for a processor"), "%"),
    ("pressure_io_percent", Message("time in which tasks waited for a disk"), "%"),
)

Value = Message | Series | str
Fact = tuple[Message, list[Value]]


def setting(records: Sequence[RunRecord]) -> list[Fact]:
    """Titled facts, each with every value that occurs in the runs."""
    facts = [
        (Message("Machine"), _each(machine_facts(record.machine) for record in records)),
        (Message("System"), _each(_system(record.machine) for record in records)),
        (Message("GPU"), _each(text for record in records for text in _gpus(record.machine))),
        (Message("Noise"), _each(noise_facts(records))),
        (Message("Device"), _each(record.device for record in records)),
        (Message("Threads"), _each(record.threads for record in records)),
        (Message("Versions"), _each(versions_text(record.versions) for record in records)),
        (Message("Environment"), _each(record.environment.get("name") for record in records)),
        (Message("Data"), _each(_data(record) for record in records)),
        (Message("Network"), _each(_network(record.network) for record in records)),
        (Message("Imported"), _each(record.imported for record in records)),
        (Message("Sampler"), _sampler(records)),
        (Message("Run from"), _period(records)),
    ]
    return [(title, values) for title, values in facts if values]


def _each(values: Iterable[Any]) -> list[Value]:
    """Every value once, messages as they are and all else as text."""
    found: dict[str, Value] = {
        str(value): value if isinstance(value, (Message, Series)) else str(value)
        for value in values
        if value and str(value)
    }
    return list(found.values())


def _system(machine: dict[str, Any]) -> str:
    host = _part(machine, "host")
    words = [host.get("system"), host.get("kernel"), host.get("container")]
    return ", ".join(str(word) for word in words if word)


def _gpus(machine: dict[str, Any]) -> list[str]:
    devices = _part(machine, "gpus").get("devices") or []
    return [str(device.get("name")) for device in devices if isinstance(device, dict)]


def _data(record: RunRecord) -> Series | None:
    data = record.data
    source, images, shape = data.get("source"), data.get("images"), data.get("shape")
    if source is None:
        return None
    name = str(record.parameters.get("dataset") or data.get("name") or "data")
    is_generated = source == "generated"
    facts: list[object] = [
        Message(
            "{name}: generated, not real images" if is_generated else "{name}: real, from {source}",
            {"name": name, "source": source},
        )
    ]
    if isinstance(images, int):
        facts.append(Message("{images:,.0f} images", {"images": float(images)}))
    if isinstance(shape, list):
        facts.append("\N{MULTIPLICATION SIGN}".join(map(str, shape)))
    if data.get("classes"):
        facts.append(Message("{classes} classes", {"classes": data["classes"]}))
    return Series(tuple(facts))


def _network(network: dict[str, Any]) -> Series | None:
    name = network.get("name")
    if not name:
        return None
    parameters, flops = network.get("parameters"), network.get("flops")
    facts: list[object] = [str(name)]
    if isinstance(parameters, int):
        facts.append(Message("{number:,.0f} parameters", {"number": float(parameters)}))
    if isinstance(flops, (int, float)):
        facts.append(Message("{number:,.0f} FLOPs per image", {"number": float(flops)}))
    return Series(tuple(facts))


def _sampler(records: Sequence[RunRecord]) -> list[Value]:
    costs = [(record.sampler, record.wall_seconds or 0) for record in records if record.sampler]
    if not costs:
        return []
    periods = sorted({cost.period_seconds for cost, _ in costs})
    cpu = sum(cost.cpu_seconds for cost, _ in costs)
    wall = sum(seconds for _, seconds in costs)
    memory = max(cost.memory_bytes for cost, _ in costs)
    facts = [
        Message("a sample every {period:g} s", {"period": periods[0]})
        if len(periods) == 1
        else Message(
            "a sample every {shortest:g} to {longest:g} s",
            {"shortest": periods[0], "longest": periods[-1]},
        )
    ]
    if wall > 0:
        facts.append(Message("{percent:.2g} % of one core", {"percent": 100 * cpu / wall}))
    facts.append(Message("{memory} of memory", {"memory": Quantity(memory, "B")}))
    return [Series(tuple(facts))]


def _period(records: Sequence[RunRecord]) -> list[Value]:
    moments = sorted(record.started for record in records if record.started)
    if not moments:
        return []
    return [Message("{first} to {last}", {"first": moments[0], "last": moments[-1]})]


@dataclass(frozen=True)
class SettingSection(Section):
    """Where and with what the runs were made."""

    name = "setting"
    records: tuple[RunRecord, ...]

    @classmethod
    def of(cls, results: Results, report: Report, /) -> Self:
        """The facts in the records of all runs."""
        return cls(report, results.records)

    def page(self, _figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """Each fact with its values, and the parameters that all runs share."""
        facts = setting(self.records)
        if not facts:
            return None
        values = {"setting": facts, "parameters": _common_parameters(self.records)}
        return PageSection(self.name, language.say("Machine, versions and data"), "setting", values)


def noise_facts(records: Sequence[RunRecord]) -> list[Message]:
    """What others took of the machine just before each run, and how steady the machine was."""
    before = [_part(record.machine, "noise_before") for record in records]
    facts = []
    for name, title, unit in MEASURES:
        if found := _numbers(noise.get(name) for noise in before):
            facts.append(
                Message(
                    "{measure}: {middle} before the typical run, {most} before the worst",
                    {
                        "measure": title,
                        "middle": Quantity(median(found), unit, DIGITS),
                        "most": Quantity(max(found), unit, DIGITS),
                    },
                )
            )
    steady = [_part(_part(record.machine, "noise"), "steadiness") for record in records]
    if spreads := _numbers(part.get("variation_percent") for part in steady):
        facts.append(
            Message(
                "a fixed piece of work, repeated, took times that vary by {percent:.2g} %",
                {"percent": max(spreads)},
            )
        )
    return facts


def _part(facts: dict[str, Any], name: str) -> dict[str, Any]:
    found = facts.get(name)
    return found if isinstance(found, dict) else {}


def _numbers(values: Iterable[object]) -> list[float]:
    return [float(value) for value in values if isinstance(value, (int, float))]


@dataclass(frozen=True)
class RepeatSection(Section):
    """How to repeat the study."""

    name = "repeat"
    results: Results

    @classmethod
    def of(cls, results: Results, report: Report, /) -> Self:
        """The study and the packages of these results."""
        return cls(report, results)

    def page(self, _figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """The commands, the plan and the packages."""
        results = self.results
        is_imported = results.study is not None and isinstance(results.study.workload, Imported)
        if is_imported or not (results.path / STUDY_FILE).is_file():
            return None
        values = {
            "plan": {
                name: value
                for name, value in results.plan.items()
                if not isinstance(value, (dict, list))
            },
            "packages": _packages(results.records),
            "study_name": results.study_name,
            "folder": results.path.resolve().name,
            "version": __version__,
        }
        return PageSection(self.name, language.say("How to repeat this"), "repeat", values)


@dataclass(frozen=True)
class EqualitySection(Section):
    """The proof that compared frameworks train the same networks."""

    name = "equality"
    equality: Equality | None
    """None where nobody checked."""

    @classmethod
    def of(cls, results: Results, report: Report, /) -> Self:
        """The proof that is kept with these results."""
        return cls(report, results.equality)

    def page(self, _figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """The verdict, a table for each network, and how it was found out."""
        if self.equality is None:
            return None
        values = {
            "verdict": verdict(self.equality),
            "method": method(self.equality),
            "heads": HEADS,
            "networks": [
                (network_title(network), equality_rows(network, language))
                for network in self.equality.networks
            ],
        }
        return PageSection(self.name, language.say("The same network"), "equality", values)

    def print(self, console: Console, language: Language, /) -> None:
        """The verdict; without figures, only where networks differ."""
        has_figures = self.report.main_metric is not None
        if self.equality is not None and (has_figures or not self.equality.holds):
            console.print()
            console.print(Text(language.say(verdict(self.equality))))

    def document(self, _language: Language, /) -> dict[str, Any]:
        """Every number of the proof."""
        if self.equality is None:
            return {"equality": None}
        proof = self.equality.model_dump(mode="json")
        return {"equality": {**proof, "equal": self.equality.holds}}


def _common_parameters(records: tuple[RunRecord, ...]) -> dict[str, str]:
    if not records:
        return {}
    return {
        name: f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in records[0].parameters.items()
        if all(record.parameters.get(name) == value for record in records[1:])
    }


def _packages(records: tuple[RunRecord, ...]) -> dict[str, list[str]]:
    packages: dict[str, list[str]] = {}
    for record in records:
        if found := _part(record.environment, "packages"):
            name = str(record.environment.get("name") or "environment")
            packages.setdefault(name, [f"{one} {version}" for one, version in found.items()])
    return packages
