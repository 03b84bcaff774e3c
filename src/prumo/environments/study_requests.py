"""The environments that a study needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.environments.frameworks import find_framework
from prumo.environments.store import existing
from prumo.errors import UnavailableError

if TYPE_CHECKING:
    from prumo.environments.framework import Request
    from prumo.study import Study

RETINA_FRAMEWORK = "tensorflow"
"""Models on fundus photographs are trained in this one alone."""


@dataclass(frozen=True)
class StudyRequests:
    """What to set up for a study, and why its other frameworks cannot be."""

    requests: tuple[Request, ...]
    unavailable: tuple[str, ...]


def study_requests(study: Study) -> StudyRequests:
    """Look at the frameworks of all scenarios; only trainings have any."""
    requests: list[Request] = []
    unavailable: list[str] = []
    for framework in _frameworks(study):
        try:
            request = find_framework(framework, versions=study.versions)
            if not existing(request):
                request.framework.installer.require(request)
            requests.append(request)
        except UnavailableError as error:
            unavailable.append(str(error))
    return StudyRequests(tuple(requests), tuple(unavailable))


def _frameworks(study: Study) -> list[str]:
    if study.workload.kind == "retina":
        return [RETINA_FRAMEWORK]
    if study.workload.kind != "training":
        return []
    named = (str(scenario.parameters["framework"]) for scenario in study.scenarios())
    return list(dict.fromkeys(named))
