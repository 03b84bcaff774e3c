"""The model that is served: opened, loaded and warmed."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo.model.answer.probability import probabilities_of
from prumo.model.manifest import MANIFEST_FILE
from prumo.model.preprocessing import preprocessing
from prumo.model.runtimes import Resources, load_network

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prumo.model.manifest import Manifest
    from prumo.model.package import Package
    from prumo.model.preprocessing import Preprocessing
    from prumo.model.runtimes import LoadedNetwork
    from prumo.serve.settings import Settings

HEAT_MAP_OUTPUT = "heat_map"
"""What the small network beside a network calls the map that it makes."""


@dataclass(frozen=True)
class ServedModel:
    """All that an answer needs; may be asked from several threads at once."""

    package: Package
    network: LoadedNetwork
    heat_map: LoadedNetwork | None
    """None where the package has none, or the settings want none."""
    preprocessing: Preprocessing

    @property
    def manifest(self) -> Manifest:
        """What the model is."""
        return self.package.manifest

    @property
    def is_ready(self) -> bool:
        """Whether its networks can answer now."""
        return self.network.is_ready and (self.heat_map is None or self.heat_map.is_ready)

    def scores(
        self, batch: np.ndarray, wants_heat_map: Sequence[bool]
    ) -> tuple[np.ndarray, list[np.ndarray | None]]:
        """A row of scores for each image, and heat maps of those that want one."""
        output, described = self.manifest.output.tensor, self.manifest.heat_map
        wanted = [number for number, wants in enumerate(wants_heat_map) if wants]
        if not wanted or self.heat_map is None or described is None:
            return self.network.run(batch, [output])[output], [None] * len(batch)
        outputs = self.network.run(batch, [output, described.features])
        heat_maps = self.heat_map.run(outputs[described.features][wanted], [HEAT_MAP_OUTPUT])
        found: list[np.ndarray | None] = [None] * len(batch)
        for number, heat_map in zip(wanted, heat_maps[HEAT_MAP_OUTPUT], strict=True):
            found[number] = heat_map
        return outputs[output], found

    def warm(self) -> None:
        """Ask for a first answer, which is slower than all others, before anybody waits for it.

        Raises:
            ScoresError: The network does not give what its manifest says.
        """
        wanted = self.manifest.input
        shape = (wanted.height, wanted.width, 3)
        if wanted.layout == "NCHW":
            shape = (3, wanted.height, wanted.width)
        scores, _ = self.scores(np.zeros((1, *shape), wanted.dtype), [self.heat_map is not None])
        probabilities_of(scores[0], self.manifest.output, len(self.manifest.labels))

    def close_networks(self) -> None:
        """Let go of the networks; the package stays."""
        self.network.close()
        if self.heat_map:
            self.heat_map.close()


def loaded_model(package: Package, settings: Settings) -> ServedModel:
    """Load the networks of a package and warm them.

    Raises:
        PrumoError: Whatever is wrong with them.
    """
    manifest = package.manifest
    resources = Resources(threads=settings.threads, callers=settings.workers)
    with ExitStack() as opened:
        runtime = settings.runtime or manifest.network.runtime
        network = load_network(package.network_path, runtime, resources)
        opened.callback(network.close)
        heat_map = _heat_map(package, resources) if settings.heat_maps else None
        if heat_map:
            opened.callback(heat_map.close)
        made = preprocessing(manifest, settings.limits.pixels)
        model = ServedModel(package, network, heat_map, made)
        model.warm()
        opened.pop_all()
    return model


def model_files(settings: Settings, package: Package) -> tuple[Path, ...]:
    """Those that the answers depend on; a change of one on disk must be noticed."""
    files = [package.folder / name for name in (MANIFEST_FILE, *package.manifest.files)]
    if settings.model.is_file():
        files.append(settings.model)
    return tuple(files)


def _heat_map(package: Package, resources: Resources) -> LoadedNetwork | None:
    path, described = package.heat_map_path, package.manifest.heat_map
    if path is None or described is None:
        return None
    return load_network(path, described.network.runtime, resources)
