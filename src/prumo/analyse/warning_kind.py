"""Every warning about results, with its advice."""

from __future__ import annotations

from enum import StrEnum


class WarningKind(StrEnum):
    """Every warning there is; the value is the advice."""

    UNREADABLE = (
        "Look at the files; remove the folder of a broken run and `prumo run` repeats that run."
    )
    UNFINISHED = "Let the study end, or run `prumo run` again: finished runs are kept."
    FEW_RUNS = (
        "Raise `replications` in the study and run it again: finished runs are kept. "
        "Two runs give an interval, five or more a useful one."
    )
    WIDE_INTERVAL = (
        "Do not rank scenarios that are closer than their intervals. More replications narrow "
        "them: four times the runs, half the width."
    )
    OUTLIERS = (
        "They are kept and shown. Look for what else the machine did then, prefer the median when "
        "it tells another story than the mean, and repeat the study on a quiet machine."
    )
    DRIFT = (
        "The machine changed while the study ran: heat, frequency limits or other load. Let it "
        "settle first, keep `order: interleaved`, and repeat the study."
    )
    CLOCK_RESOLUTION = (
        "A difference smaller than such a step is not seen, and equal times may be unequal. Time "
        "more work at once (more epochs, more images, larger batches), or take the times from a "
        "finer clock."
    )
    SAMPLER_COSTLY = "Raise `measure.sample_seconds`: the sampler took part of what it measured."
    NO_SAMPLES = (
        "CPU, memory, GPU and energy figures of these runs are missing or stop early; the notes in "
        "their run.json say why. Times are not affected."
    )
    FEW_SAMPLES = (
        "Lower `measure.sample_seconds` or make runs longer before reading CPU, memory, GPU and "
        "energy figures. Times are not affected."
    )
    GENERATED_DATA = (
        "Times, throughput and memory hold for data of this shape. Loss and accuracy say nothing "
        "about the real task: name a folder under `workload.data` to train on real images."
    )
    NOISY_MACHINE = (
        "Stop other programs, or use a machine of your own, and repeat the runs; on a rented "
        "machine choose a type that does not share its processors. A framework that uses all cores "
        "slows down far more than the others take once they compute too: where a machine must be "
        "shared, set `measure.threads` to fewer than its cores."
    )
    ODD_LOSS = (
        "These runs did not learn: their times hold, their losses and accuracies say nothing. "
        "Look at the learning rate, the optimizer and the number of epochs."
    )
    SWAP_USED = (
        "A run that swaps measures the disk. Use smaller batches or images, or a machine with "
        "more memory, and do not compare these times with others."
    )
    SEVERAL_MACHINES = (
        "Differences between scenarios may be differences between machines. Make `machine` a "
        "factor of the study, or compare only runs of one machine."
    )
    SAME_COMPUTER = (
        "Run the part of each machine on that machine (`prumo run --only`) and bring the results "
        "together with `prumo merge`; until then believe no difference between these machines, in "
        "time or in cost."
    )
    MIXED_VERSIONS = (
        "Part of the spread comes from the versions, and the mean is of neither. Name the versions "
        "under `versions` in the study and repeat the runs that were made with others."
    )
    MIXED_DATA = (
        "The files of the data set changed between the runs, and the mean is of neither. Put the "
        "old files back, or repeat the study in a results folder of its own."
    )
    UNEQUAL_DATA = (
        "Differences between these scenarios may be differences between their data. Give all of "
        "them the same files under `workload.data`, and repeat the ones that had others."
    )
    UNPROVEN = (
        "The differences between these frameworks may be differences between networks. "
        "`prumo check` proves them equal, or says what differs."
    )
    MIXED_SETTINGS = (
        "Part of the spread comes from the settings, and the mean is of neither. Keep `measure` "
        "as it is from the first run to the last, and repeat the runs that were made otherwise."
    )
