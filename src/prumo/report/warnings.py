"""The catalogue of warnings: every text that weakens a result, with its advice.

What calls for them is found elsewhere: in `find_warnings` for results and amounts, in `machine`
for a machine. `docs/warnings.md` explains each by its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from prumo.message import Message


@dataclass(frozen=True)
class WarningText:
    """What a warning says, and what to do about it."""

    text: str
    advice: str = ""
    plural: str = ""
    """The text where the value `count` is not one."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """Texts that stand inside of it, by name."""


class Catalogue(Enum):
    """Warnings whose values are their texts.

    >>> str(WarningKind.FEW_SAMPLES.message(least=5, runs="2 runs"))
    'Fewer than 5 samples were taken in 2 runs.'
    """

    value: WarningText

    @property
    def key(self) -> str:
        """The warning's name for programs, such as `wide_interval`."""
        return self.name.lower()

    @property
    def advice(self) -> Message:
        """What to do about it."""
        return Message(self.value.advice)

    def message(self, **values: object) -> Message:
        """What it says of these values."""
        return Message(self.value.text, values, self.value.plural)

    def part(self, name: str, **values: object) -> Message:
        """One of the texts that stand inside of it."""
        return Message(self.value.parts[name], values)

    @classmethod
    def texts(cls) -> Iterator[tuple[str, str]]:
        """Every text of the catalogue, with its plural or an empty one."""
        for kind in cls:
            yield kind.value.text, kind.value.plural
            yield from ((text, "") for text in (kind.value.advice, *kind.value.parts.values()))


class WarningKind(Catalogue):
    """What can weaken results, the gravest first."""

    UNREADABLE = WarningText(
        "{count} run folder could not be read and is not in any figure: {names}.",
        "Look at the files; remove the folder of a broken run and `prumo run` repeats that run.",
        "{count} run folders could not be read and are not in any figure: {names}.",
    )
    UNFINISHED = WarningText(
        "{count} run began and did not end yet, or was stopped: {names}.",
        "Let the study end, or run `prumo run` again: finished runs are kept.",
        "{count} runs began and did not end yet, or were stopped: {names}.",
    )
    UNPROVEN = WarningText(
        "Nothing proves that frameworks train the same network: {names}.",
        "The differences between these frameworks may be differences between networks. "
        "`prumo check` proves them equal, or says what differs.",
        parts={"network": "{network} at {size} pixels ({frameworks})"},
    )
    SEVERAL_MACHINES = WarningText(
        "Runs from {total} machines are mixed: {names}.",
        "Differences between scenarios may be differences between machines. Make `machine` a "
        "factor of the study, or compare only runs of one machine.",
    )
    SAME_COMPUTER = WarningText(
        "{findings}",
        "Run the part of each machine on that machine (`prumo run --only`) and bring the results "
        "together with `prumo merge`; until then believe no difference between these machines, in "
        "time or in cost.",
        parts={
            "machines": "{labels} were measured on the same computer ({computer}), as far as their "
            "runs tell: their times differ by chance only and say nothing about these machines."
        },
    )
    MIXED_VERSIONS = WarningText(
        "The runs of {scenarios} were made with different versions: {names}.",
        "Part of the spread comes from the versions, and the mean is of neither. Name the versions "
        "under `versions` in the study and repeat the runs that were made with others.",
    )
    MIXED_SETTINGS = WarningText(
        "The runs of {scenarios} were not made alike: {names}.",
        "Part of the spread comes from the settings, and the mean is of neither. Keep `measure` "
        "as it is from the first run to the last, and repeat the runs that were made otherwise.",
    )
    MIXED_DATA = WarningText(
        "The runs of {scenarios} were trained on different data: {names}.",
        "The files of the data set changed between the runs, and the mean is of neither. Put the "
        "old files back, or repeat the study in a results folder of its own.",
    )
    UNEQUAL_DATA = WarningText(
        "{scenarios} asked for the same data and were not trained on the same files: {names}.",
        "Differences between these scenarios may be differences between their data. Give all of "
        "them the same files under `workload.data`, and repeat the ones that had others.",
    )
    DRIFT = WarningText(
        "{metric} changed with the order of the runs: about {change:+.1f} % from the first to the "
        "last.",
        "The machine changed while the study ran: heat, frequency limits or other load. Let it "
        "settle first, keep `order: interleaved`, and repeat the study.",
    )
    SWAP_USED = WarningText(
        "The machine swapped during {runs}: {names}.",
        "A run that swaps measures the disk. Use smaller batches or images, or a machine with "
        "more memory, and do not compare these times with others.",
    )
    NOISY_MACHINE = WarningText(
        "The machine was not quiet: {findings}.",
        "Stop other programs, or use a machine of your own, and repeat the runs; on a rented "
        "machine choose a type that does not share its processors. A framework that uses all cores "
        "slows down far more than the others take once they compute too: where a machine must be "
        "shared, set `measure.threads` to fewer than its cores.",
        parts={
            "stolen": "the host took {worst:.1f} % of the processors at worst, more than "
            "{limit:.0f} % in {runs}",
            "others": "other programs used {worst:.0f} % of the processors at worst, more than "
            "{limit:.0f} % in {runs}",
        },
    )
    FEW_RUNS = WarningText(
        "A single finished run in {scenarios}, so no interval can be given: {names}.",
        "Raise `replications` in the study and run it again: finished runs are kept. "
        "Two runs give an interval, five or more a useful one.",
    )
    WIDE_INTERVAL = WarningText(
        "The interval is wider than ±{limit:.0f} % of the mean in {scenarios}: {names}.",
        "Do not rank scenarios that are closer than their intervals. More replications narrow "
        "them: four times the runs, half the width.",
        parts={"scenario": "{scenario} (±{width:.0f} %)"},
    )
    OUTLIERS = WarningText(
        "One run stands far from its replications in {scenarios}: {names}.",
        "They are kept and shown. Look for what else the machine did then, prefer the median when "
        "it tells another story than the mean, and repeat the study on a quiet machine.",
    )
    CLOCK_RESOLUTION = WarningText(
        "The clock is coarse for what it timed: {findings}.",
        "A difference smaller than such a step is not seen, and equal times may be unequal. Time "
        "more work at once (more epochs, more images, larger batches), or take the times from a "
        "finer clock.",
        parts={
            "steps": "{metric} comes in steps of {step}, up to {percent:.2g} % of a mean",
            "machine": "a {metric} is only {times:.2g} steps of the machine's clock",
        },
    )
    ODD_LOSS = WarningText(
        "The loss {findings}.",
        "These runs did not learn: their times hold, their losses and accuracies say nothing. "
        "Look at the learning rate, the optimizer and the number of epochs.",
        parts={
            "flat": "did not change in {runs} ({names})",
            "rising": "rose in {runs} ({names})",
        },
    )
    GENERATED_DATA = WarningText(
        "Generated data, not real images, in {runs}.",
        "Times, throughput and memory hold for data of this shape. Loss and accuracy say nothing "
        "about the real task: name a folder under `workload.data` to train on real images.",
    )
    SAMPLER_COSTLY = WarningText(
        "The sampler used more than {limit:.0f} % of one core in {runs}, {worst:.1f} % at worst.",
        "Raise `measure.sample_seconds`: the sampler took part of what it measured.",
    )
    NO_SAMPLES = WarningText(
        "The sampler did not work to its end in {runs}: {names}.",
        "CPU, memory, GPU and energy figures of these runs are missing or stop early; the notes in "
        "their run.json say why. Times are not affected.",
    )
    FEW_SAMPLES = WarningText(
        "Fewer than {least} samples were taken in {runs}.",
        "Lower `measure.sample_seconds` or make runs longer before reading CPU, memory, GPU and "
        "energy figures. Times are not affected.",
    )


class CostNote(Catalogue):
    """What can weaken amounts of money; their advice is part of the text."""

    MISSING_SCENARIOS = WarningText(
        "Without a finished run, and so not part of this answer: {missing} of {planned} ({names})."
    )
    OTHER_CORES = WarningText(
        "Measured on a computer with {cores}, priced as {price} with {vcpus:.3g}: {names}. "
        "That machine would take another time."
    )
    OLD_PRICES = WarningText(
        "Prices older than {limit} days on {day}, so that amounts may have changed since: {names}. "
        "`prumo price update` fetches newer ones.",
        parts={"price": "{price} ({count} days)"},
    )


class MachineWarning(Catalogue):
    """What can make figures from a machine doubtful."""

    BUSY = WarningText(
        "load average {load:.2f} on {cores} usable cores",
        "Other work runs here: stop it, or wait until the load falls.",
    )
    STEAL = WarningText(
        "{percent:.1f} % of processor time stolen",
        "Other virtual machines share the processor: use dedicated cores, or more replications.",
    )
    CPU_PRESSURE = WarningText(
        "pressure on the processor {percent:.1f} % of the time",
        "Tasks wait for the processor: stop other work, or use fewer threads.",
    )
    MEMORY_PRESSURE = WarningText(
        "pressure on the memory {percent:.1f} % of the time",
        "Tasks wait for memory: free some, or use smaller batches.",
    )
    IO_PRESSURE = WarningText(
        "pressure on the disk {percent:.1f} % of the time",
        "Tasks wait for the disk: let copies and downloads end first.",
    )
    SWAP = WarningText(
        "{used:.0f} MiB in swap",
        "Part of the memory is swapped out: free memory before measuring.",
    )
    LITTLE_MEMORY = WarningText(
        "{free:.1f} of {usable:.1f} GiB free",
        "Little memory is free: large batches may fail here for want of it.",
    )
    LITTLE_DISK = WarningText(
        "{free:.1f} GiB free on {path}",
        "The disk is almost full: free space, or choose another results folder.",
    )
    GOVERNOR = WarningText(
        "governor '{governor}'",
        "The clock rate follows the load: set the governor to 'performance' "
        "(cpupower frequency-set -g performance).",
    )
    QUOTA = WarningText(
        "quota {quota:.2f} cores",
        "The quota is not a whole number of cores: threads will be stopped now and then.",
    )
    UNSTEADY = WarningText(
        "variation {percent:.1f} %",
        "The same work takes different times: use more replications in interleaved order.",
    )
    HICCUPS = WarningText(
        "slowest repetition {ratio:.2f} times the fastest",
        "Single repetitions are held up: look at medians and at every point, not at one run.",
    )


CATALOGUES: tuple[type[Catalogue], ...] = (WarningKind, CostNote, MachineWarning)
