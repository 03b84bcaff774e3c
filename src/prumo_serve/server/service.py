"""The state that all requests share: what is served, and whether it can be."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING

from prumo_serve.server.boundary import ByteBudget
from prumo_serve.server.log import log_event, log_progress
from prumo_serve.server.refusal import not_ready

if TYPE_CHECKING:
    from prumo_serve.package import Package
    from prumo_serve.server.engine import Engine
    from prumo_serve.server.metrics import Metrics
    from prumo_serve.server.model_holder import FileWatch, ModelHolder, ServedModel
    from prumo_serve.server.queue import Outcome
    from prumo_serve.server.settings import Settings

# Ours: for loading to come to its end, which is the cleanest one.
_END_SECONDS = 1.0


class Service:
    """Begins without a model; a thread loads it while the server answers that it is not ready."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.bodies = ByteBudget(settings.limits.waiting_bytes)
        self.is_draining = False
        self.failure: Exception | None = None
        self._began = monotonic()
        self._lock = threading.Lock()
        self._act: Callable[[Exception], None] | None = None
        self._loading: threading.Thread | None = None
        self._package: Package | None = None
        self._model: ModelHolder | None = None
        self._engine: Engine | None = None
        self._watch: FileWatch | None = None

    @cached_property
    def metrics(self) -> Metrics:
        """What is counted; imported when it is first needed, while the model loads."""
        from prumo_serve.server.metrics import Metrics  # noqa: PLC0415

        return Metrics()

    def begin_loading(self) -> None:
        """Load the model in a thread of its own; only the first call does something."""
        if self._loading is None:
            # What a start makes is kept: looking for garbage in it would only take longer.
            gc.disable()
            self._loading = threading.Thread(target=self._load, name="prumo-loading", daemon=True)
            self._loading.start()

    def wait_until_loaded(self, seconds: float) -> bool:
        """Whether loading has ended, well or not, after so long at most."""
        if self._loading is None:
            return False
        self._loading.join(seconds)
        return not self._loading.is_alive()

    def on_failure(self, act: Callable[[Exception], None]) -> None:
        """Act, in any thread, if the model cannot be loaded; also if that is known already."""
        with self._lock:
            self._act = act
            failure = self.failure
        if failure is not None:
            act(failure)

    def why_not_ready(self) -> str:
        """A reason in words; empty where requests are answered well and soon."""
        if self.is_draining:
            return "the server is shutting down"
        if self.failure is not None:
            return "the model could not be loaded"
        if self._engine is None or self._model is None or self._watch is None:
            return "the model is being loaded"
        if not self._model.is_answering():
            return "the network has failed and is being loaded again"
        if changed := self._watch.changed():
            return f"{changed} of the model was changed on disk; start the server again"
        return ""

    def require_ready(self) -> None:
        """Refuse a request while there is such a reason."""
        if reason := self.why_not_ready():
            raise not_ready(reason)

    @property
    def waiting_images(self) -> int:
        """Those that were accepted and are not being computed yet."""
        return 0 if self._engine is None else self._engine.queue.waiting_images

    @property
    def engine(self) -> Engine:
        """What answers; a refusal until the model is loaded."""
        if self._engine is None:
            raise not_ready(self.why_not_ready())
        return self._engine

    @property
    def model(self) -> ServedModel:
        """What is served; a refusal until it is loaded."""
        if self._model is None:
            raise not_ready(self.why_not_ready())
        return self._model.current

    @property
    def is_busy(self) -> bool:
        """Whether a thread still loads or computes, also after `close`."""
        is_loading = self._loading is not None and self._loading.is_alive()
        return is_loading or (self._engine is not None and self._engine.is_busy)

    def close(self) -> None:
        """Finish what was begun and let go of the model."""
        if self._loading is not None:
            self._loading.join(_END_SECONDS)
        for part in (self._engine, self._model, self._package):
            if part is not None:
                part.close()

    def _load(self) -> None:
        try:
            self._open()
        except Exception as error:  # noqa: BLE001 (whoever runs the server decides what to do)
            with self._lock:
                self.failure = error
                act = self._act
            if act is not None:
                act(error)
        finally:
            # The modules and the model stay; later searches, which hold up requests, pass by them.
            gc.freeze()
            gc.enable()

    def _open(self) -> None:
        # Imported here, in the thread that loads, while others start to listen.
        from prumo_serve.package import open_or_package  # noqa: PLC0415
        from prumo_serve.runtimes import return_freed_memory  # noqa: PLC0415
        from prumo_serve.server.engine import Engine  # noqa: PLC0415
        from prumo_serve.server.model_holder import (  # noqa: PLC0415
            FileWatch,
            ModelHolder,
            loaded_model,
            model_files,
        )

        self._package = package = open_or_package(self.settings.model, log_progress())
        # Before the network is read, so that no change falls between.
        watch = FileWatch(model_files(self.settings, package))
        served = loaded_model(package, self.settings)
        return_freed_memory()
        self._watch = watch
        self._model = ModelHolder(served, self.settings)
        self._engine = Engine(self._model, self.settings, self._count_image)
        self._report_ready(served)

    def _count_image(self, outcome: Outcome) -> None:
        # Not made in the thread that loads: the first request may make it at the same time.
        self.metrics.count_image(outcome)

    def _report_ready(self, model: ServedModel) -> None:
        seconds = monotonic() - self._began
        manifest, settings = model.manifest, self.settings
        runtime = settings.runtime or manifest.network.runtime
        lone = f" ({model.threads} for a lone request)" if model.crowd is not None else ""
        log_event(
            f"ready after {seconds:.2f} s: {manifest.name} {manifest.version} on {runtime} "
            f"({manifest.network.precision}), {settings.workers} x {settings.threads} threads"
            f"{lone}, batches up to {settings.max_batch}",
            {
                "event": "ready",
                "seconds": round(seconds, 3),
                "model": manifest.name,
                "version": manifest.version,
                "runtime": runtime,
                "precision": manifest.network.precision,
            },
        )
