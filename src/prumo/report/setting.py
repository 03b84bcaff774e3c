"""Where and with what the runs were made: machine, versions, data, network."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from prumo.message import Message, Series
from prumo.quantity import Quantity
from prumo.results.columns import machine_facts, versions_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prumo.results.record import RunRecord


DIGITS = 2
MEASURES = (
    ("load_average", Message("load average"), ""),
    ("steal_percent", Message("processor time taken by the host"), "%"),
    ("pressure_cpu_percent", Message("time in which tasks waited for a processor"), "%"),
    ("pressure_io_percent", Message("time in which tasks waited for a disk"), "%"),
)


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
    return list({str(value): _value(value) for value in values if value and str(value)}.values())


def _value(value: Any) -> Value:  # noqa: ANN401 (whatever a record holds)
    return value if isinstance(value, (Message, Series)) else str(value)


def _system(machine: dict[str, Any]) -> str:
    host = machine.get("host")
    if not isinstance(host, dict):
        return ""
    words = [host.get("system"), host.get("kernel"), host.get("container")]
    return ", ".join(str(word) for word in words if word)


def _gpus(machine: dict[str, Any]) -> list[str]:
    gpus = machine.get("gpus")
    devices = gpus.get("devices") if isinstance(gpus, dict) else None
    return [str(device.get("name")) for device in devices or [] if isinstance(device, dict)]


def _data(record: RunRecord) -> Series | None:
    data = record.data
    source, images, shape = data.get("source"), data.get("images"), data.get("shape")
    if source is None:
        return None
    values = {
        "name": str(record.parameters.get("dataset") or data.get("name") or "data"),
        "source": source,
    }
    facts: list[object] = [
        Message("{name}: generated, not real images", values)
        if source == "generated"
        else Message("{name}: real, from {source}", values)
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
