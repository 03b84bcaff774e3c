"""Pooled features of photographs, computed once for a backbone and kept for every head."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo_worker.retina.backbones import Backbone
    from prumo_worker.retina.recipe import RetinaRecipe

_DIGITS = 16


class FeatureStore:
    """Features by the hash of the photograph, in one file for each backbone; or in memory only."""

    def __init__(self, folder: str | None, key: str) -> None:
        self._path = Path(folder) / f"{key}.npz" if folder else None
        self._rows: dict[str, np.ndarray] = {}
        if self._path:
            self._rows = _read(self._path)

    def lacks(self, digests: Sequence[str]) -> list[str]:
        """Those that must be computed, each once."""
        return [digest for digest in dict.fromkeys(digests) if digest not in self._rows]

    def add(self, digests: Sequence[str], features: np.ndarray) -> None:
        """Keep the features of these photographs too; on disk they are whole or as before."""
        self._rows.update(zip(digests, features))
        if self._path:
            _write(self._path, self._rows)

    def features(self, digests: Sequence[str]) -> np.ndarray:
        """One row of float32 for each photograph."""
        return np.stack([self._rows[digest] for digest in digests])


def feature_key(backbone: Backbone, recipe: RetinaRecipe) -> str:
    """Changes with whatever changes features: network, weights, pixels' scale, size, precision."""
    digest = sha256()
    for array in backbone.network.get_weights():
        digest.update(np.ascontiguousarray(array).tobytes())
    how = backbone.normalization
    facts = [recipe.image_size, recipe.precision, how.offset, how.scale, how.channels]
    digest.update(json.dumps(facts).encode())
    return f"{recipe.network}-{recipe.image_size}-{digest.hexdigest()[:_DIGITS]}"


def _read(path: Path) -> dict[str, np.ndarray]:
    """What an earlier training kept; nothing where there is no file or it is damaged."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            return dict(zip(kept["digests"].tolist(), kept["features"]))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return {}


def _write(path: Path, rows: dict[str, np.ndarray]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{os.getpid()}.{path.name}")
    digests, features = np.array(list(rows)), np.stack(list(rows.values()))
    np.savez(beside, digests=digests, features=features)
    beside.replace(path)
