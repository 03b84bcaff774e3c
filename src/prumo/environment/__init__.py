"""Isolated framework installations with locks.

Each framework and version lives in a folder of its own in the user's cache, so that two versions
of one library, or two libraries that cannot share a numpy, can be compared. How it gets there is
its installer's business: pip in a virtual environment, or the packages of a Debian release.
"""

from prumo.environment.companion import ensure_companion
from prumo.environment.framework import Framework, Request
from prumo.environment.frameworks import FRAMEWORKS, find_framework
from prumo.environment.record import Environment
from prumo.environment.setup import ensure
from prumo.environment.store import environments, existing, remove
from prumo.environment.study_requests import StudyRequests, study_requests
from prumo.environment.worker_source import worker_path

__all__ = [
    "FRAMEWORKS",
    "Environment",
    "Framework",
    "Request",
    "StudyRequests",
    "ensure",
    "ensure_companion",
    "environments",
    "existing",
    "find_framework",
    "remove",
    "study_requests",
    "worker_path",
]
