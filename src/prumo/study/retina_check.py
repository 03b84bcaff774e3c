"""What is wrong with a study of trainings on fundus photographs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.study.parameters import is_given, place
from prumo.study.plan import occurring
from prumo.study.problem import Problem
from prumo.study.retina_parameters import LIBRARY, SCRATCH
from prumo_worker.retina.backbones.names import FACTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.study.model import Study
    from prumo.study.problem import KeyPath
    from prumo.study.scenario import Level
    from prumo.study.workload import Retina


def retina_problems(study: Study, workload: Retina) -> Iterator[Problem]:
    """What its sections say against each other."""
    if workload.data and is_given(study, "images"):
        yield Problem(
            ("fixed" if "images" in study.fixed else "factors", "images"),
            "tells how many photographs to generate, and workload.data names real ones",
        )
    if study.measure.profile:
        yield Problem(("measure", "profile"), "trainings on photographs are not profiled")


def retina_value_problems(path: KeyPath, name: str, level: Level) -> Iterator[Problem]:
    """What a study cannot give to a parameter although a single training can."""
    if name == "weights" and level not in {SCRATCH, LIBRARY}:
        yield Problem(
            path, f"a study begins from `{SCRATCH}` or from the `{LIBRARY}`'s own weights"
        )


def retina_scenario_problems(study: Study) -> Iterator[Problem]:
    """What single scenarios combine that does not go together."""
    found: dict[Problem, None] = {}
    for values in occurring(study, ("network", "image_size")):
        least = FACTS[str(values["network"])].smallest_size
        if int(values["image_size"]) < least:
            message = f"{values['network']} needs photographs of {least} pixels or more"
            found[Problem(place(study, values, "image_size", "network"), message)] = None
    for values in occurring(study, ("device", "strategy", "machine", "environment")):
        device, strategy = values["device"], values["strategy"]
        if strategy != "auto" and (device == "tpu") != (strategy == "tpu"):
            message = f"the strategy {strategy} does not go with the device {device}"
            found[Problem(place(study, values, "strategy"), message)] = None
    for values in occurring(study, ("frozen", "weights")):
        if values["frozen"] and values["weights"] == SCRATCH:
            message = f"a frozen backbone without weights has nothing to tell; `weights: {LIBRARY}`"
            found[Problem(place(study, values, "frozen"), message)] = None
    yield from found
