"""What the fuzzer sends as an image or an array: real ones and damaged ones, in equal parts.

Schemathesis imports this file; without it, it would send random bytes only, which end at the door.
"""

from __future__ import annotations

import schemathesis
from hypothesis import strategies as st

from support.damaged_bodies import arrays, damaged, encoded_images

for _name, _contents in {
    "image/jpeg": encoded_images("JPEG"),
    "image/png": encoded_images("PNG"),
    "application/x-npy": arrays(),
}.items():
    schemathesis.openapi.media_type(_name, st.sampled_from(_contents) | damaged(_contents))
