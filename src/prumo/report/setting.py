"""Where and with what the runs were made: machine, versions, data, network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.report.number import quantity
from prumo.results.condition import machine_name, versions_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prumo.results.record import RunRecord

Fact = tuple[str, list[str]]


def setting(records: Sequence[RunRecord]) -> list[Fact]:
    """Titled facts, each with every value that occurs in the runs."""
    facts = [
        ("Machine", _each(machine_name(record.machine) for record in records)),
        ("System", _each(_system(record.machine) for record in records)),
        ("GPU", _each(text for record in records for text in _gpus(record.machine))),
        ("Device", _each(record.device for record in records)),
        ("Threads", _each(record.threads for record in records)),
        ("Versions", _each(versions_text(record.versions) for record in records)),
        ("Environment", _each(record.environment.get("name") for record in records)),
        ("Data", _each(_data(record) for record in records)),
        ("Network", _each(_network(record.network) for record in records)),
        ("Imported", _each(record.imported for record in records)),
        ("Sampler", _sampler(records)),
        ("Run from", _period(records)),
    ]
    return [(title, values) for title, values in facts if values]


def _each(values: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(str(value) for value in values if value))


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


def _data(record: RunRecord) -> str:
    data = record.data
    source = data.get("source")
    if source is None:
        return ""
    name = str(record.parameters.get("dataset") or data.get("name") or "data")
    origin = "generated, not real images" if source == "generated" else f"real, from {source}"
    facts = [
        f"{data['images']:,} images" if isinstance(data.get("images"), int) else "",
        "\N{MULTIPLICATION SIGN}".join(map(str, data["shape"]))
        if isinstance(data.get("shape"), list)
        else "",
        f"{data['classes']} classes" if data.get("classes") else "",
    ]
    return ", ".join([f"{name}: {origin}", *filter(None, facts)])


def _network(network: dict[str, Any]) -> str:
    name = network.get("name")
    if not name:
        return ""
    parameters, flops = network.get("parameters"), network.get("flops")
    facts = [
        f"{parameters:,} parameters" if isinstance(parameters, int) else "",
        f"{flops:,.0f} FLOPs per image" if isinstance(flops, (int, float)) else "",
    ]
    return ", ".join([str(name), *filter(None, facts)])


def _sampler(records: Sequence[RunRecord]) -> list[str]:
    costs = [(record.sampler, record.wall_seconds or 0) for record in records if record.sampler]
    if not costs:
        return []
    periods = sorted({cost.period_seconds for cost, _ in costs})
    cpu = sum(cost.cpu_seconds for cost, _ in costs)
    wall = sum(seconds for _, seconds in costs)
    share = f", {100 * cpu / wall:.2g} % of one core" if wall > 0 else ""
    memory = max(cost.memory_bytes for cost, _ in costs)
    every = " or ".join(f"{period:g}" for period in periods)
    return [f"a sample every {every} s{share}, {quantity(memory, 'B')} of memory"]


def _period(records: Sequence[RunRecord]) -> list[str]:
    moments = sorted(record.started for record in records if record.started)
    return [f"{moments[0]} to {moments[-1]}"] if moments else []
