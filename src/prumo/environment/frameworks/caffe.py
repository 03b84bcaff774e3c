"""Caffe, which has no pip package; Debian 11 is the last release that has it."""

from __future__ import annotations

from prumo.environment.framework import Framework
from prumo.environment.installers.debian_root import DebianRoot

CAFFE = Framework(
    name="caffe",
    module="caffe",
    default_version="1.0.0",
    installer=DebianRoot(
        suite="bullseye",
        packages=("caffe", "python3-caffe"),
        version="1.0.0",
        interpreter="python3.9",
        programs=("caffe",),
        library_folders=("openblas-pthread",),
    ),
)
