"""Why a conversion can fail."""

from __future__ import annotations

from prumo.errors import PrumoError


class ConversionError(PrumoError):
    """A network cannot be converted, with the reason."""


class DisagreementError(ConversionError):
    """A converted network does not answer what the original answers."""
