"""Which PyTorch this is, and what of its build decides about speed."""

from __future__ import annotations

import re

import numpy as np
import torch


def versions() -> dict[str, str]:
    """PyTorch's version, and those of the libraries it computes with."""
    found = {"pytorch": str(torch.__version__), "numpy": str(np.__version__)}
    if torch.version.cuda is not None:
        found["cuda"] = torch.version.cuda
        found["cudnn"] = str(torch.backends.cudnn.version())
    return found


def build_facts() -> dict[str, str]:
    """The lines of PyTorch's own account of its build that decide about speed."""
    account = torch.__config__.show()
    patterns = {
        "compiler": r"^\s*- ((?:GCC|Clang|clang|MSVC)\b.*)$",
        "mkl": r"^\s*- .*Math Kernel Library Version ([\d.]+)",
        "onednn": r"^\s*- .*MKL-DNN (v\S+)",
        "openmp": r"^\s*- (OpenMP \d+)",
        "blas": r"\bBLAS_INFO=(\w+)",
        "optimization": r"\bCXX_FLAGS=.*?\s(-O\w+)",
    }
    found = {name: re.search(pattern, account, re.MULTILINE) for name, pattern in patterns.items()}
    facts = {name: match.group(1).strip() for name, match in found.items() if match}
    return {**facts, "cpu_capability": torch.backends.cpu.get_cpu_capability()}
