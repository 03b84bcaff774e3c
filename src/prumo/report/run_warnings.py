"""What weakens the figures of runs: their machine, versions, data, losses and sampler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from prumo.message import Message, Series, counted, listed
from prumo.statistics.same_computer import same_computers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.evidence import Evidence

# Ours: well below the run-to-run noise of a quiet machine.
SAMPLER_CPU_PERCENT = 1.0
# Ours: a mean over fewer samples says little about a run.
FEWEST_SAMPLES = 5
# Ours: a guest that waits for its host this often is slower by about as much.
STEAL_PERCENT = 1.0
OTHERS_CPU_PERCENT = 10.0


def several_machines(evidence: Evidence) -> Message | None:
    """Runs of more than one machine where no factor says so."""
    known = evidence.finished_conditions.filter(pl.col("machine").is_not_null())
    # Machines may differ between the levels of a machine factor: that is what it is for.
    mixed = (
        known.group_by("machine_level")
        .agg(pl.col("machine").n_unique())
        .filter(pl.col("machine") > 1)
    )
    if mixed.is_empty():
        return None
    machines = sorted(known.join(mixed, on="machine_level", how="semi")["machine"].unique())
    return Message(
        "Runs from {total} machines are mixed: {names}.",
        # The name of a machine has commas of its own.
        {"total": len(machines), "names": Series(tuple(machines), "; ")},
    )


def same_computer(evidence: Evidence) -> Message | None:
    """Machines of the study that were one computer."""
    found = [shared.message() for shared in same_computers(evidence.finished_conditions)]
    return Message("{findings}", {"findings": Series(tuple(found), " ")}) if found else None


def mixed_versions(evidence: Evidence) -> Message | None:
    """Runs of one scenario with other versions of what they ran."""
    mixed = _scenarios_with_several(evidence, "versions")
    if not mixed:
        return None
    named = [f"{name} ({' / '.join(values)})" for name, values in mixed.items()]
    return Message(
        "The runs of {scenarios} were made with different versions: {names}.",
        {"scenarios": counted(len(mixed), "scenario"), "names": listed(named)},
    )


def mixed_settings(evidence: Evidence) -> Message | None:
    """Runs of one scenario on another device, with other threads or measured in another way."""
    differences: dict[str, list[str]] = {}
    for column in ("device", "threads", "settings"):
        for name in _scenarios_with_several(evidence, column):
            differences.setdefault(name, []).append(column)
    if not differences:
        return None
    named = [f"{name} ({', '.join(columns)})" for name, columns in differences.items()]
    return Message(
        "The runs of {scenarios} were not made alike: {names}.",
        {"scenarios": counted(len(named), "scenario"), "names": listed(named)},
    )


def mixed_data(evidence: Evidence) -> Message | None:
    """Runs of one scenario that were trained on other files."""
    mixed = _scenarios_with_several(evidence, "data_content")
    if not mixed:
        return None
    return Message(
        "The runs of {scenarios} were trained on different data: {names}.",
        {"scenarios": counted(len(mixed), "scenario"), "names": listed(list(mixed))},
    )


def unequal_data(evidence: Evidence) -> Message | None:
    """Scenarios that asked for the same data and were trained on other files, or on none."""
    is_generated = pl.col("data_source") == "generated"
    trained_on = pl.when(is_generated).then(pl.lit("generated")).otherwise("data_content")
    unequal = (
        evidence.finished_conditions.select("scenario", "data_asked", trained_on=trained_on)
        .drop_nulls()
        # Where the runs of one scenario differ already, that is said by itself.
        .filter(pl.col("trained_on").n_unique().over("scenario") == 1)
        .filter(pl.col("trained_on").n_unique().over("data_asked") > 1)
        .unique("scenario", maintain_order=True)
    )
    if unequal.is_empty():
        return None
    return Message(
        "{scenarios} asked for the same data and were not trained on the same files: {names}.",
        {
            "scenarios": counted(unequal.height, "scenario"),
            "names": listed(unequal["scenario"].to_list()),
        },
    )


def noisy_machine(evidence: Evidence) -> Message | None:
    """Time that a host or other programs took."""
    conditions = evidence.finished_conditions
    found = []
    stolen = conditions.filter(pl.col("steal_percent_mean") > STEAL_PERCENT)
    if stolen.height:
        worst = stolen.select(pl.col("steal_percent_mean").max()).item()
        found.append(
            Message(
                "the host took {worst:.1f} % of the processors at worst, more than {limit:.0f} % "
                "in {runs}",
                {"worst": worst, "limit": STEAL_PERCENT, "runs": counted(stolen.height, "run")},
            )
        )
    others = pl.col("cpu_percent_mean") - pl.col("tree_cpu_percent_mean") / pl.col("cores")
    disturbed = conditions.filter(others > OTHERS_CPU_PERCENT)
    if disturbed.height:
        worst = disturbed.select(others.max()).item()
        found.append(
            Message(
                "other programs used {worst:.0f} % of the processors at worst, more than "
                "{limit:.0f} % in {runs}",
                {
                    "worst": worst,
                    "limit": OTHERS_CPU_PERCENT,
                    "runs": counted(disturbed.height, "run"),
                },
            )
        )
    if not found:
        return None
    return Message(
        "The machine was not quiet: {findings}.", {"findings": Series(tuple(found), "; ")}
    )


def generated_data(evidence: Evidence) -> Message | None:
    """Runs that trained on no real images."""
    generated = evidence.finished_conditions.filter(pl.col("data_source") == "generated")
    if generated.is_empty():
        return None
    return Message(
        "Generated data, not real images, in {runs}.", {"runs": counted(generated.height, "run")}
    )


def sampler_costly(evidence: Evidence) -> Message | None:
    """Runs from which the sampler took a part."""
    share = 100 * pl.col("sampler_cpu_seconds") / pl.col("wall_seconds")
    costly = evidence.finished_conditions.filter(share > SAMPLER_CPU_PERCENT)
    if costly.is_empty():
        return None
    worst = costly.select(share.max()).item()
    return Message(
        "The sampler used more than {limit:.0f} % of one core in {runs}, {worst:.1f} % at worst.",
        {"limit": SAMPLER_CPU_PERCENT, "runs": counted(costly.height, "run"), "worst": worst},
    )


def no_samples(evidence: Evidence) -> Message | None:
    """Runs whose sampler took nothing, or died and left no account of what it took."""
    # An imported run had no sampler that could fail.
    measured = evidence.finished_conditions.filter(~pl.col("imported"))
    unsampled = measured.filter(pl.col("samples").fill_null(0) == 0)
    if unsampled.is_empty():
        return None
    return Message(
        "The sampler did not work to its end in {runs}: {names}.",
        _runs_named(unsampled["run"].to_list()),
    )


def few_samples(evidence: Evidence) -> Message | None:
    """Runs too short for the sampler's period."""
    few = evidence.finished_conditions.filter(pl.col("samples").is_between(1, FEWEST_SAMPLES - 1))
    if few.is_empty():
        return None
    return Message(
        "Fewer than {least} samples were taken in {runs}.",
        {"least": FEWEST_SAMPLES, "runs": counted(few.height, "run")},
    )


def odd_loss(evidence: Evidence) -> Message | None:
    """Runs whose loss did not fall."""
    found = []
    if flat := _runs_with(evidence, "flat_loss"):
        found.append(Message("did not change in {runs} ({names})", _runs_named(flat)))
    if rising := _runs_with(evidence, "rising_loss"):
        found.append(Message("rose in {runs} ({names})", _runs_named(rising)))
    if not found:
        return None
    return Message("The loss {findings}.", {"findings": Series(tuple(found), "; ")})


def swap_used(evidence: Evidence) -> Message | None:
    """Runs that were slowed by the disk."""
    swapping = _runs_with(evidence, "swap_used")
    if not swapping:
        return None
    return Message("The machine swapped during {runs}: {names}.", _runs_named(swapping))


def _runs_named(runs: Sequence[str]) -> dict[str, object]:
    return {"runs": counted(len(runs), "run"), "names": listed(runs)}


def _runs_with(evidence: Evidence, anomaly: str) -> list[str]:
    conditions = evidence.finished_conditions
    found = conditions.filter(pl.col("anomalies").list.contains(anomaly))
    return [str(name) for name in found["run"]]


def _scenarios_with_several(evidence: Evidence, column: str) -> dict[str, list[str]]:
    """The scenarios whose finished runs differ in a condition, with the values that occur."""
    return {
        str(scenario): [str(value) for value in values]
        for (scenario,), group in evidence.finished_conditions.group_by(
            "scenario", maintain_order=True
        )
        if len(values := group[column].drop_nulls().unique(maintain_order=True)) > 1
    }
