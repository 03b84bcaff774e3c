"""The model that is served: loaded, warmed, and loaded again when its network has failed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from prumo.backoff import Backoff
from prumo_serve.classification import probabilities_of
from prumo_serve.manifest import HEAT_MAP_TENSOR, MANIFEST_FILE
from prumo_serve.package.archive import require_unchanged
from prumo_serve.runtimes import Resources, load_network, runtime_named
from prumo_serve.server.models import prediction_models
from prumo_serve.task import preprocessing

if TYPE_CHECKING:
    from prumo_serve.manifest import Manifest
    from prumo_serve.package import Package
    from prumo_serve.runtimes import LoadedNetwork
    from prumo_serve.server.models import PredictionModels
    from prumo_serve.server.settings import Settings
    from prumo_serve.task import Preprocessing


_LOG = logging.getLogger("prumo_serve.server")
_FIRST_AGAIN_SECONDS = 10.0
_LONGEST_AGAIN_SECONDS = 3600.0


@dataclass(frozen=True)
class ServedModel:
    """All that an answer needs; may be asked from several threads at once."""

    package: Package
    network: LoadedNetwork
    """With all cores for a lone request, or as many for each where `crowd` is None."""
    threads: int
    """Of that one."""
    crowd: CrowdNetwork | None
    heat_map: LoadedNetwork | None
    """None where the package has none, or the settings want none."""
    preprocessing: Preprocessing
    predictions: PredictionModels
    warm_up_seconds: float = 0.0
    """How long its first answer took, before it was served."""

    @property
    def manifest(self) -> Manifest:
        """What the model is."""
        return self.package.manifest

    @property
    def is_ready(self) -> bool:
        """Whether its networks can answer now."""
        return self.network.is_ready and (self.heat_map is None or self.heat_map.is_ready)

    def computed(
        self, batch: np.ndarray, wants_heat_map: Sequence[bool], *, is_alone: bool
    ) -> tuple[np.ndarray, list[np.ndarray | None], int]:
        """Scores and heat maps, and on how many threads they were computed."""
        if not is_alone and self.crowd is not None and (network := self.crowd.loaded()):
            try:
                return *self.scores(batch, wants_heat_map, network), self.crowd.threads
            except Exception as error:  # noqa: BLE001 (the first network answers instead)
                self.crowd.give_up(network, error)
        return *self.scores(batch, wants_heat_map, self.network), self.threads

    def scores(
        self, batch: np.ndarray, wants_heat_map: Sequence[bool], network: LoadedNetwork
    ) -> tuple[np.ndarray, list[np.ndarray | None]]:
        """A row of scores for each image, and heat maps of those that want one."""
        output, described = self.manifest.output.tensor, self.manifest.heat_map
        wanted = [number for number, wants in enumerate(wants_heat_map) if wants]
        if not wanted or self.heat_map is None or described is None:
            return network.run(batch, [output])[output], [None] * len(batch)
        outputs = network.run(batch, [output, described.features])
        heat_maps = self.heat_map.run(outputs[described.features][wanted], [HEAT_MAP_TENSOR])
        found: list[np.ndarray | None] = [None] * len(batch)
        for number, heat_map in zip(wanted, heat_maps[HEAT_MAP_TENSOR], strict=True):
            found[number] = heat_map
        return outputs[output], found

    def warm(self) -> None:
        """Ask for a first answer, which is slower than all others, before anybody waits for it."""
        wanted = self.manifest.input
        image = np.zeros((1, *wanted.shape), wanted.dtype)
        scores, _ = self.scores(image, [self.heat_map is not None], self.network)
        probabilities_of(scores[0], self.manifest.output, len(self.manifest.labels))

    def close_networks(self) -> None:
        """Let go of the networks; the package stays."""
        self.network.close()
        if self.crowd:
            self.crowd.close()
        if self.heat_map:
            self.heat_map.close()


class CrowdNetwork:
    """The network once more, with few threads for each of many callers, loaded when they come.

    Cores that each compute a batch of their own answer more than cores that share one, but a server
    that is asked one thing at a time needs neither the time nor the memory of a second network.
    """

    def __init__(self, package: Package, runtime: str, resources: Resources) -> None:
        self._package = package
        self._runtime = runtime
        self._resources = resources
        self._lock = threading.Lock()
        self._is_closed = False
        self._load_at = 0.0
        self._backoff = Backoff(_FIRST_AGAIN_SECONDS, _LONGEST_AGAIN_SECONDS)
        self._network: LoadedNetwork | None = None

    @property
    def threads(self) -> int:
        """That work on one batch."""
        return self._resources.threads

    def loaded(self) -> LoadedNetwork | None:
        """The network; None until it is loaded, which the first who asks begins."""
        with self._lock:
            if monotonic() < self._load_at or self._is_closed:
                return self._network
            self._load_at = inf
        threading.Thread(target=self._load, name="prumo-crowd", daemon=True).start()
        return None

    def give_up(self, network: LoadedNetwork, error: Exception) -> None:
        """Let one go that failed; it is loaded again after a while, longer each time."""
        with self._lock:
            if self._network is not network:
                return
            self._network = None
        self._try_later()
        _LOG.error("the second network failed: %s: %s", type(error).__name__, error)
        network.close()

    def _try_later(self) -> None:
        with self._lock:
            self._load_at = monotonic() + self._backoff.delay()

    def close(self) -> None:
        """Let the network go, also one that is still being loaded."""
        with self._lock:
            self._is_closed = True
            network, self._network = self._network, None
        if network is not None:
            network.close()

    def _load(self) -> None:
        package, wanted = self._package, self._package.manifest.input
        with ExitStack() as opened:
            try:
                # Another model must not answer beside the first one unnoticed.
                require_unchanged(package.folder, package.manifest, package.folder)
                network = load_network(package.network_path, self._runtime, self._resources)
                opened.callback(network.close)
                network.run(np.zeros((1, *wanted.shape), wanted.dtype), network.output_names[:1])
            except Exception as error:  # noqa: BLE001 (the first network goes on answering)
                _LOG.warning(
                    "all requests share one network, a second one cannot be loaded: %s", error
                )
                self._try_later()
                return
            with self._lock:
                if not self._is_closed:
                    self._network = network
                    opened.pop_all()


def loaded_model(package: Package, settings: Settings) -> ServedModel:
    """Load the networks of a package and warm them."""
    manifest = package.manifest
    resources = Resources(threads=settings.threads, callers=settings.workers)
    with ExitStack() as opened:
        runtime = settings.runtime or manifest.network.runtime
        first, crowd = resources, None
        if (
            settings.lone_threads > settings.threads
            and runtime_named(runtime).is_cheap_to_load_twice
        ):
            first = replace(resources, threads=settings.lone_threads, may_spin=settings.may_spin)
            crowd = CrowdNetwork(package, runtime, resources)
        network = load_network(package.network_path, runtime, first)
        opened.callback(network.close)
        heat_map, described = None, manifest.heat_map
        if settings.heat_maps and described is not None:
            path = package.folder / described.network.file
            heat_map = load_network(path, described.network.runtime, resources)
            opened.callback(heat_map.close)
        made = preprocessing(manifest, settings.limits.pixels)
        answers = prediction_models(manifest)
        model = ServedModel(package, network, first.threads, crowd, heat_map, made, answers)
        began = monotonic()
        model.warm()
        model = replace(model, warm_up_seconds=monotonic() - began)
        opened.pop_all()
    return model


def model_files(settings: Settings, package: Package) -> tuple[Path, ...]:
    """Those that the answers depend on; a change of one on disk must be noticed."""
    files = [package.folder / name for name in (MANIFEST_FILE, *package.manifest.files)]
    if settings.model.is_file():
        files.append(settings.model)
    return tuple(files)


class ModelHolder:
    """The model as it is now, and whether it still answers."""

    def __init__(self, model: ServedModel, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._is_closed = threading.Event()
        self.current = model
        self.is_broken = False

    def is_answering(self) -> bool:
        """Whether it would answer now; a network that died unnoticed is loaded again."""
        if not self.is_broken and not self.current.is_ready:
            self._reload()
        return not self.is_broken

    def examine(self) -> None:
        """Ask the network something; if it cannot answer, it is loaded again."""
        try:
            self.current.warm()
        except Exception:  # noqa: BLE001 (whatever it is, the network does not answer)
            self._reload()

    def close(self) -> None:
        """Let go of the networks; the package stays."""
        self._is_closed.set()
        self.current.close_networks()

    def _reload(self) -> None:
        """Load the network again beside the workers, once however many notice its failure."""
        with self._lock:
            if self.is_broken:
                return
            self.is_broken = True
        threading.Thread(target=self._reload_until_loaded, name="prumo-reload", daemon=True).start()

    def _reload_until_loaded(self) -> None:
        # A process that dies at once must not be started all the time.
        backoff = Backoff()
        while not self._is_closed.wait(backoff.delay()):
            package = self.current.package
            try:
                # Another model must not take its place unnoticed.
                require_unchanged(package.folder, package.manifest, package.folder)
                loaded = loaded_model(package, self._settings)
            except Exception as error:  # noqa: BLE001 (it is tried again until the server ends)
                _LOG.error("the network cannot be loaded again: %s", error)
                continue
            failed, self.current = self.current, loaded
            self.is_broken = False
            _LOG.warning("the network has been loaded again")
            failed.close_networks()
            return


_LEAST_SECONDS_BETWEEN = 1.0


class FileWatch:
    """Looks only when it is asked, and not more than once in a second: an idle server rests."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._seen = {file: _mark(file) for file in files}
        self._looked = monotonic()
        self._changed = ""

    def changed(self) -> str:
        """The name of a file that was changed, replaced or removed; empty where none was.

        One that was changed stays so: nobody knows what was read of it.
        """
        if not self._changed and monotonic() - self._looked >= _LEAST_SECONDS_BETWEEN:
            self._looked = monotonic()
            different = (file.name for file, mark in self._seen.items() if _mark(file) != mark)
            self._changed = next(different, "")
        return self._changed


def _mark(file: Path) -> tuple[int, ...] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
