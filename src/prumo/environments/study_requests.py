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


@dataclass(frozen=True)
class StudyRequests:
    """What to set up for a study, and why its other frameworks cannot be."""

    requests: tuple[Request, ...]
    unavailable: tuple[str, ...]


def study_requests(study: Study) -> StudyRequests:
    """Look for the frameworks that the study's workload asks for."""
    requests: list[Request] = []
    unavailable: list[str] = []
    for framework in study.workload.frameworks(study):
        try:
            request = find_framework(framework, versions=study.versions)
            if not existing(request):
                request.framework.installer.require(request)
            requests.append(request)
        except UnavailableError as error:
            unavailable.append(str(error))
    return StudyRequests(tuple(requests), tuple(unavailable))
