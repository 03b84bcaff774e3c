"""Compressed size, and seconds from start to first answer, of the four images of a server.

    python -m benchmarks.images

The images are built first (docs/images.md) and found under the names of `IMAGES`. In every round
each is started once at 1, 2 and 3 GB, by turns, on a local serverless endpoint: the request that
finds no container starts one and waits for its answer. Our image must have at most 120 MB
compressed and be the first to answer at every size of memory.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from math import inf
from typing import TYPE_CHECKING

from prumo.errors import UnavailableError
from prumo.progress import SILENT
from prumo.statistics.interval import mean_interval
from prumo_endpoint.bodies import drawn_body
from prumo_endpoint.exchange import exchange
from prumo_endpoint.image.engine import Engine, chosen_engine
from prumo_endpoint.image.layers import saved_image
from prumo_endpoint.targets import TargetOptions
from prumo_endpoint.targets.serverless import ServerlessTarget

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.statistics.interval import Interval

OURS = "prumo-lean"
IMAGES = (OURS, "prumo-reduced", "prumo-two-stage", "prumo-naive")
MEMORIES_MB = (1024, 2048, 3072)
ROUNDS = 7
MOST_BYTES = 120_000_000
START_SECONDS = 300.0

Starts = dict[tuple[str, int], list[float]]
"""Image and memory in MB → seconds from start to first answer, by rounds; infinite without one."""


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.images")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--network", help="a network of Docker, as `prumo endpoint check` takes it")
    given = parser.parse_args(arguments)
    try:
        engine = chosen_engine("docker")
    except UnavailableError as error:
        print(f"images: not measured, {error}")
        return 0
    missing = [image for image in IMAGES if engine.facts(image) is None]
    if missing:
        print(f"images: not measured, there is no {', '.join(missing)}; docs/images.md builds them")
        return 0
    return judged(sizes(engine, IMAGES), cold_starts(IMAGES, given.rounds, given.network))


def sizes(engine: Engine, images: Sequence[str]) -> dict[str, int]:
    """Image → compressed bytes."""
    found = {}
    for image in images:
        with saved_image(engine, image, SILENT) as saved:
            found[image] = saved.size(SILENT).compressed_bytes
    return found


def cold_starts(
    images: Sequence[str],
    rounds: int,
    network: str | None,
    memories_mb: Sequence[int] = MEMORIES_MB,
) -> Starts:
    """By turns, and in the other direction every second time, so that a disturbance hits all."""
    request = drawn_body().request()
    found: Starts = {(image, memory): [] for memory in memories_mb for image in images}
    with ExitStack() as stack:
        servers = {}
        for image, memory in found:
            options = TargetOptions(network=network, memory_mb=memory)
            target = ServerlessTarget.from_words([image], options)
            servers[image, memory] = stack.enter_context(target.running())
        # The first round fills the machine's file cache and does not count.
        for number in range(rounds + 1):
            for case in list(servers)[:: -1 if number % 2 else 1]:
                server = servers[case]
                answer = exchange(server.address, request, START_SECONDS)
                seconds = answer.seconds if answer.succeeded else inf
                if server.instances is not None:
                    server.instances.stop_idle()
                if number:
                    found[case].append(seconds)
                    print(f"{case[0]} {case[1]} MB {seconds:.2f} s", file=sys.stderr)
    return found


def judged(compressed: Mapping[str, int], starts: Starts) -> int:
    ours, *others = compressed
    is_over = compressed[ours] > MOST_BYTES
    for image, size in compressed.items():
        limit = f" (limit {MOST_BYTES / 1e6:.0f})" if image == ours else ""
        times = size / compressed[ours]
        print(f"{image}: {size / 1e6:.1f} MB compressed{limit}, {times:.2f} times {ours}")
    for memory in sorted({memory for _, memory in starts}):
        for image in compressed:
            seconds = starts[image, memory]
            if failed := seconds.count(inf):
                print(f"{image} at {memory} MB: {failed} of {len(seconds)} starts did not answer")
                is_over |= image == ours
                continue
            line = f"{image} at {memory} MB: {shown(mean_interval(seconds))} s to the first answer"
            if image in others:
                pairs = zip(seconds, starts[ours, memory], strict=True)
                ratio = mean_interval([theirs / own for theirs, own in pairs])
                is_over |= ratio.mean <= 1
                line += f", {shown(ratio)} times {ours} (limit: more than 1)"
            print(line)
    return int(is_over)


def shown(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return f"{interval.mean:.2f}"
    return f"{interval.mean:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
