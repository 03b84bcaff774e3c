"""Operation times of devices that are not here, out of traces as XLA's profiler writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.device_profile_process import device_spans

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.frameworks

TRACE = """
planes {
  name: "/host:CPU"
  lines { name: "python" events { metadata_id: 1 duration_ps: 9000000000000 } }
  event_metadata { key: 1 value { id: 1 name: "on the host" } }
}
planes {
  name: "/device:GPU:0"
  lines {
    name: "Stream #13(Compute)"
    events { metadata_id: 1 duration_ps: 2000000000 }
    events { metadata_id: 2 offset_ps: 2000000000 duration_ps: 500000000 }
    events { metadata_id: 1 offset_ps: 3000000000 duration_ps: 1000000000 }
  }
  lines { name: "Steps" events { metadata_id: 3 duration_ps: 9000000000 } }
  event_metadata { key: 1 value { id: 1 name: "sm80_xmma_fprop" } }
  event_metadata { key: 2 value { id: 2 name: "relu_kernel" } }
  event_metadata { key: 3 value { id: 3 name: "step 1" } }
}
planes {
  name: "/device:TPU:0"
  lines { name: "XLA Ops" events { metadata_id: 1 duration_ps: 4000000000 } }
  lines { name: "XLA Modules" events { metadata_id: 2 duration_ps: 9000000000 } }
  event_metadata { key: 1 value { id: 1 name: "fusion.7" } }
  event_metadata { key: 2 value { id: 2 name: "jit_step" } }
}
"""


@pytest.mark.parametrize("framework", ["tensorflow", "tensorflow@2.14.0", "jax"])
def test_kernels_of_a_stream_and_operations_of_a_tpu_are_counted_once(
    framework: str, framework_python: Callable[[str], Path]
) -> None:
    family = framework.partition("@")[0]
    spans = device_spans(framework_python(framework), family, TRACE)
    assert [name for name, _ in spans] == [
        "sm80_xmma_fprop",
        "relu_kernel",
        "sm80_xmma_fprop",
        "fusion.7",
    ]
    assert [seconds for _, seconds in spans] == pytest.approx([2e-3, 5e-4, 1e-3, 4e-3])
