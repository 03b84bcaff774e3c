from __future__ import annotations

import errno

import numpy as np
import pytest

from prumo_worker.networks import NetworkError
from prumo_worker.task import DataError, TaskError, Unavailable, kind_of


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB."),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes"),
        RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
        RuntimeError("Traceback …\nMXNetError: Failed to allocate CPU Memory"),
        ImportError("libtorch_cpu.so: failed to map segment from shared object"),
    ],
)
def test_a_failed_allocation_is_out_of_memory(error: Exception) -> None:
    assert kind_of(error) == "out_of_memory"


def test_an_array_too_large_for_numpy_is_out_of_memory() -> None:
    with pytest.raises(MemoryError) as caught:
        np.empty(1 << 60, dtype=np.uint8)
    assert kind_of(caught.value) == "out_of_memory"


def test_a_framework_that_could_not_load_for_want_of_memory_is_out_of_memory() -> None:
    error = Unavailable("pytorch cannot be imported")
    error.__cause__ = ImportError("failed to map segment from shared object")
    assert kind_of(error) == "out_of_memory"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Unavailable("no CUDA device"), "unavailable"),
        (DataError("truncated"), "invalid"),
        (TaskError("epochs"), "invalid"),
        (NetworkError("too small"), "invalid"),
        (ValueError("out of memory"), "crashed"),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), "crashed"),
    ],
)
def test_other_failures_have_their_kinds(error: Exception, kind: str) -> None:
    assert kind_of(error) == kind
