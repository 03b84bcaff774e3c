"""The whole comparison: every network on every server that can be had here.

    python -m benchmarks.serving [--networks NAMES] [--servers NAMES] [--quick] [--markdown FILE]

Fails when a promise is not kept that this processor could keep, and with `CI=true` when a server
could not be measured. The first run also installs the other servers and converts the networks,
which takes some minutes.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.serving.contestants import MAKERS, WORKERS
from benchmarks.serving.limits import INT8_UNITS, has_int8_units, promises
from benchmarks.serving.networks import NETWORKS, served_network
from benchmarks.serving.table import told
from benchmarks.serving.trial import Effort, tried
from prumo.errors import UnavailableError
from prumo.machine.cpu import read_cpu
from prumo.supervise.interruption import sigterm_as_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from benchmarks.serving.contestants import Contestant
    from benchmarks.serving.networks import ServedNetwork
    from benchmarks.serving.trial import Trial
    from prumo.machine.cpu import Cpu

    Makers = dict[str, Callable[[ServedNetwork, int], Contestant]]

EFFORTS = {
    "mobilenet": Effort(starts=3, rounds=5, few_seconds=2.0, many_seconds=5.0),
    "vgg19": Effort(starts=1, rounds=3, few_seconds=3.0, many_seconds=6.0),
}
QUICK = Effort(starts=1, rounds=1, few_seconds=1.0, many_seconds=1.0)


def main(words: Sequence[str] = ()) -> int:
    options = _options(words)
    # An exception, so that no server outlives this process.
    with sigterm_as_interrupt():
        return _compared(options)


def judged(trials: Sequence[Trial], absent: set[str], *, int8_units: bool) -> int:
    """1 when a promise is broken, or where everything must be there and something is not.

    What only int8 units could keep is told in the table, but does not fail without them.
    """
    broken = any(
        promise.fails(has_int8_units=int8_units) for trial in trials for promise in promises(trial)
    )
    return int(broken or (bool(absent) and os.environ.get("CI") == "true"))


def _compared(options: argparse.Namespace) -> int:
    began = time.monotonic()
    cpu = read_cpu()
    int8_units = has_int8_units(cpu.vector_extensions)
    trials, absent = [], set[str]()
    for name in options.networks:
        network = served_network(name)
        makers, reasons = available(network, options.servers)
        absent |= reasons
        if not makers:
            continue
        trials.append(tried(network, makers, QUICK if options.quick else EFFORTS[name]))
        print(told(trials[-1], has_int8_units=int8_units), flush=True)
    notes = [*_place(cpu, time.monotonic() - began), *sorted(absent)]
    print(*notes, sep="\n")
    if options.markdown:
        tables = [told(trial, has_int8_units=int8_units) for trial in trials]
        parts = [*tables, *notes]
        options.markdown.write_text("\n".join(parts) + "\n", encoding="utf-8")
    return judged(trials, absent, int8_units=int8_units)


def available(network: ServedNetwork, wanted: Sequence[str]) -> tuple[Makers, set[str]]:
    """The servers that can be had here, and why the others cannot."""
    makers: Makers = {}
    reasons = set()
    for key in wanted:
        try:
            MAKERS[key](network, 0)
        except UnavailableError as reason:
            reasons.add(f"{key}: not measured: {reason}")
        else:
            makers[key] = MAKERS[key]
    return makers, reasons


def _place(cpu: Cpu, seconds: float) -> list[str]:
    place = (
        f"Measured in {seconds / 60:.1f} minutes on {cpu.usable_cores} cores of "
        f"{cpu.model or cpu.architecture}; the client runs on the same machine. Keras, LitServe, "
        f"BentoML and NGINX have {WORKERS} worker processes. Memory is that of all processes, "
        "what they share counted once; a percentile of too few answers is left out."
    )
    if has_int8_units(cpu.vector_extensions):
        return [place]
    return [
        place,
        (
            f"This processor has no int8 dot products ({', '.join(INT8_UNITS)}): int8 takes at "
            "best about half the time of fp32 here, so that the requests/s which int8 is to reach "
            "against Keras are told above, also when missed, but do not fail this run."
        ),
    ]


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__)
    parser.add_argument("--networks", type=_names(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--servers", type=_names(MAKERS), default=list(MAKERS))
    parser.add_argument("--quick", action="store_true", help="a second of each, to try it out")
    parser.add_argument("--markdown", type=Path, help="write the tables there too")
    return parser.parse_args(words)


def _names(known: Collection[str]) -> Callable[[str], list[str]]:
    def names(text: str) -> list[str]:
        wanted = text.split(",")
        if unknown := [name for name in wanted if name not in known]:
            raise argparse.ArgumentTypeError(f"{unknown[0]}: known are {', '.join(known)}")
        return wanted

    return names
