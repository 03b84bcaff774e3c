"""What the sampler itself costs, so that its effect on a run can be judged."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def cpu_seconds() -> float:
    """Processor time of this process so far, in user and system mode."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def memory_bytes(status: Path = Path("/proc/self/status")) -> int:
    """The most memory this process held at once."""
    try:
        lines = status.read_text(encoding="ascii").splitlines()
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    # Not ru_maxrss: Linux carries the parent's size over into it when a process is started.
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
