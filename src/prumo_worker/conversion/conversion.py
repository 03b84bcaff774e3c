"""The task `model_conversion`: another runtime's network, and what the original answers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from prumo_worker.conversion.request import read_wish

if TYPE_CHECKING:
    from prumo_worker.journal import Journal
    from prumo_worker.task import Task

_MODULES = {
    "retina": "tensorflow_conversion",
    "keras": "tensorflow_conversion",
    "saved_model": "tensorflow_conversion",
    "pytorch": "pytorch_conversion",
}


def convert(task: Task, journal: Journal) -> dict[str, float]:
    """Convert in the framework that the network is of, imported only now."""
    wish = read_wish(task)
    wish.out.mkdir(parents=True, exist_ok=True)
    module = import_module(f"prumo_worker.conversion.{_MODULES[wish.origin]}")
    module.convert(wish, journal)
    return {}
