"""A network of TensorFlow's for another runtime."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

# Errors only, and before the import: TensorFlow tells much about itself otherwise.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import tensorflow as tf

from prumo_worker.conversion.facts import asked_images, write_reference
from prumo_worker.conversion.keras_source import keras_source, retina_source
from prumo_worker.conversion.saved_model_source import saved_model_source
from prumo_worker.frameworks.tensorflow.build import memory_errors

if TYPE_CHECKING:
    from prumo_worker.conversion.request import Wish
    from prumo_worker.journal import Journal

HEAT_MAP_FILE = "heat_map.onnx"
_SOURCES = {
    "retina": retina_source,
    "keras": keras_source,
    "saved_model": saved_model_source,
}
# Runtime → the module that writes its form, imported when wanted: not all have tf2onnx.
_FORMS = {"onnxruntime": "onnx_form", "litert": "litert_form", "tensorflow": "saved_model_form"}


@memory_errors()
def convert(wish: Wish, journal: Journal) -> None:
    """Write the original's answers, the network, and the one for heat maps if there can be one."""
    source = _SOURCES[wish.origin](wish)
    journal.event("stage", text="asking the original")
    write_reference(wish.out, asked_images(source.facts, wish), source.reference)
    journal.event("stage", text="converting")
    form = import_module(f"prumo_worker.conversion.{_FORMS[wish.target]}")
    versions = {"tensorflow": tf.__version__, "keras": keras.__version__}
    versions.update(form.write(source.network, wish))
    if source.heat_map is not None:
        onnx_form = import_module("prumo_worker.conversion.onnx_form")
        versions.update(onnx_form.write_onnx(source.heat_map, wish.out / HEAT_MAP_FILE))
    journal.event("converted", network=source.facts.document(), versions=versions)
