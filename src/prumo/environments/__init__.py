"""Isolated framework installations with locks.

Each framework and version lives in a folder of its own in the user's cache, so that two versions
of one library, or two libraries that cannot share a numpy, can be compared. How it gets there is
its installer's business: pip in a virtual environment, or the packages of a Debian release.
"""

from prumo.environments.framework import Framework, Request
from prumo.environments.frameworks import FRAMEWORKS, find_framework
from prumo.environments.setup import StudyRequests, ensure, ensure_companion, study_requests
from prumo.environments.store import Environment, environments, existing, remove, worker_path

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
