"""The plug-in points: what other packages can add to Prumo, found through entry points.

A package adds an implementation in its own `pyproject.toml`; Prumo's own implementations are
declared in the same way. Nothing is imported before it is asked for by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from prumo.errors import InputError, PluginError, did_you_mean

_Base = TypeVar("_Base")


@dataclass(frozen=True)
class PluginPoint:
    """One group of entry points.

    >>> "training" in WORKLOADS.names()
    True
    """

    group: str
    noun: str
    """What one implementation is called in messages."""

    def names(self) -> list[str]:
        """The names of all installed implementations, in alphabetical order."""
        return sorted(self._entries)

    def load(self, name: str) -> object:
        """The implementation with this name.

        Raises:
            InputError: No installed package has one of this name.
            PluginError: It cannot be imported.
        """
        entry = self._entries.get(name)
        if entry is None:
            raise InputError(f"no {self.noun} '{name}': {did_you_mean(name, self._entries)}")
        try:
            return entry.load()
        except Exception as error:
            package = entry.dist.name if entry.dist else "an unknown package"
            raise PluginError(
                f"the {self.noun} '{name}' of the package {package} cannot be loaded "
                f"({entry.value}): {type(error).__name__}: {error}"
            ) from error

    def load_class(self, name: str, base: type[_Base]) -> type[_Base]:
        """The implementation with this name, which must be a class derived from `base`."""
        found = self.load(name)
        if isinstance(found, type) and issubclass(found, base):
            return found
        right = f"{base.__module__}.{base.__qualname__}"
        raise PluginError(f"the {self.noun} '{name}' is no subclass of {right}: {found!r}")

    @cached_property
    def _entries(self) -> dict[str, EntryPoint]:
        """By name. Prumo's own count, so that no other package can replace one."""
        found: dict[str, EntryPoint] = {}
        for entry in entry_points(group=self.group):
            # Reading whose an entry is takes time: only where two have one name.
            if entry.name not in found or not _is_own(found[entry.name]):
                found[entry.name] = entry
        return found


def _is_own(entry: EntryPoint) -> bool:
    return entry.dist is not None and entry.dist.name == "prumo"


WORKLOADS = PluginPoint("prumo.workloads", "workload")
EXECUTORS = PluginPoint("prumo.executors", "executor")
PRICE_SOURCES = PluginPoint("prumo.price_sources", "price source")
RUNTIMES = PluginPoint("prumo.runtimes", "runtime")
TASKS = PluginPoint("prumo.tasks", "task")
TARGETS = PluginPoint("prumo.targets", "target")
COMMANDS = PluginPoint("prumo.commands", "command group")
TRANSLATIONS = PluginPoint("prumo.translations", "translation")
"""Packages with a folder `locale` of texts, such as `locale/pt_BR.po`."""
