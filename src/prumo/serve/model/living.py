"""A model that may fail while it is served, and is then loaded again."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from prumo.model.package.content import require_unchanged
from prumo.serve.model.served import loaded_model

if TYPE_CHECKING:
    from prumo.serve.model.served import ServedModel
    from prumo.serve.settings import Settings

_LOG = logging.getLogger("prumo.serve")
# Ours: a process that dies at once must not be started all the time.
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0


class LivingModel:
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
            self._renew()
        return not self.is_broken

    def examine(self) -> None:
        """Ask the network something; if it cannot answer, it is loaded again."""
        try:
            self.current.warm()
        except Exception:  # noqa: BLE001 (whatever it is, the network does not answer)
            self._renew()

    def close(self) -> None:
        """Let go of the networks; the package stays."""
        self._is_closed.set()
        self.current.close_networks()

    def _renew(self) -> None:
        """Load the network again beside the workers, once however many notice its end."""
        with self._lock:
            if self.is_broken:
                return
            self.is_broken = True
        threading.Thread(target=self._load_again, name="prumo-renewal", daemon=True).start()

    def _load_again(self) -> None:
        pause_seconds = _FIRST_PAUSE_SECONDS
        while not self._is_closed.wait(pause_seconds):
            try:
                renewed = self._loaded_again()
            except Exception as error:  # noqa: BLE001 (it is tried again until the server ends)
                _LOG.error("the network cannot be loaded again: %s", error)
                pause_seconds = min(2 * pause_seconds, _LONGEST_PAUSE_SECONDS)
                continue
            failed, self.current = self.current, renewed
            self.is_broken = False
            _LOG.warning("the network has been loaded again")
            failed.close_networks()
            return

    def _loaded_again(self) -> ServedModel:
        package = self.current.package
        # Another model must not take its place unnoticed.
        require_unchanged(package.folder, package.manifest, package.folder)
        return loaded_model(package, self._settings)
