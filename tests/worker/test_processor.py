from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prumo_worker.processor import vector_extensions

if TYPE_CHECKING:
    from pathlib import Path

X86 = "processor\t: 0\nflags\t\t: fpu sse4_2 avx avx2 fma avx512f avx512_bf16 amx_tile aes\n\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd evtstrm sve i8mm\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (X86 + X86, "amx_tile avx avx2 avx512_bf16 avx512f fma sse4_2"),
        (ARM, "asimd i8mm sve"),
        ("processor : 0\n", "unknown"),
    ],
)
def test_the_vector_instructions_are_those_that_linux_lists(
    tmp_path: Path, content: str, expected: str
) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(content)
    assert vector_extensions(file) == expected


def test_a_system_that_lists_nothing_is_unknown(tmp_path: Path) -> None:
    assert vector_extensions(tmp_path / "absent") == "unknown"
