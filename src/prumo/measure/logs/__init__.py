"""The logs of libraries that were not run by Prumo: one file for each kind of log."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from prumo.measure.logs.caffe import CAFFE
from prumo.measure.logs.tensorflow import TENSORFLOW

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prumo.measure.logs.log import LogKind

KINDS: Mapping[str, LogKind] = MappingProxyType({kind.name: kind for kind in (CAFFE, TENSORFLOW)})
