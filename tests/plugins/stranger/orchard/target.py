"""A target: a WSGI application, served by the standard library."""

import sys
from collections.abc import Sequence

from prumo.errors import InputError
from prumo_endpoint.targets import NO_OPTIONS, TargetOptions
from prumo_endpoint.targets.process import ProcessTarget


class WsgiTarget(ProcessTarget):
    """`prumo endpoint check wsgi://my_module:application`."""

    noun = "a WSGI application"

    @classmethod
    def from_words(cls, words: Sequence[str], options: TargetOptions = NO_OPTIONS) -> "WsgiTarget":
        """The application of this name."""
        if len(words) != 1 or ":" not in words[0]:
            raise InputError(f"{' '.join(words)!r}: right is wsgi://MODULE:NAME")
        return cls([sys.executable, "-m", "orchard.serve_wsgi", words[0]], options.port)
