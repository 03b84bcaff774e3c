"""Frameworks from a Debian release; the real one is Caffe's."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from prumo.environments import debian_root
from prumo.environments.frameworks import find_framework
from prumo.environments.setup import ensure
from prumo.environments.store import environments, existing
from prumo.errors import SetupError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prumo.environments.framework import Request
    from prumo.environments.store import Environment
    from support.heard_progress import Heard

UNREACHABLE = "http://127.0.0.1:9/debian"


@pytest.fixture
def caffe() -> Request:
    return find_framework("caffe", machine="cpu")


def test_a_machine_without_debootstrap_is_told_what_to_install(
    cache: Path, caffe: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(cache))
    monkeypatch.setattr(debian_root, "_SYSTEM_PROGRAMS", ())

    with pytest.raises(UnavailableError, match=r"needs debootstrap .* apt install debootstrap"):
        ensure(caffe)

    assert environments() == []


def test_a_kind_of_machine_without_packages_is_told_which_have_them(
    caffe: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")

    with pytest.raises(UnavailableError, match="for Linux on x86_64 and aarch64"):
        caffe.framework.installer.require(caffe)


@pytest.mark.parametrize("text", ["caffe@0.15.0", "caffe@1.0.0+cu130"])
def test_a_release_has_one_build_of_one_version(text: str) -> None:
    request = find_framework(text)

    with pytest.raises(UnavailableError, match=r"bullseye has 1\.0\.0, built for processors"):
        request.framework.installer.require(request)


@pytest.mark.usefixtures("debootstrap")
def test_a_mirror_out_of_reach_is_named_and_nothing_half_made_stays(
    cache: Path, caffe: Request, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(debian_root.MIRROR_VARIABLE, UNREACHABLE)

    with pytest.raises(SetupError) as caught:
        ensure(caffe, heard)

    assert f"could not download Debian bullseye from {UNREACHABLE}" in str(caught.value)
    assert debian_root.MIRROR_VARIABLE in str(caught.value)
    assert str(cache / "logs" / f"{caffe.name}.log") in str(caught.value)
    assert list((cache / "environments").iterdir()) == []
    assert any("Release" in activity for activity in heard.shown)


@pytest.fixture
def debootstrap() -> None:
    if not shutil.which("debootstrap", path="/usr/sbin:/usr/bin"):
        pytest.skip("debootstrap is not installed")


@pytest.fixture(scope="module")
def real(framework_python: Callable[[str], Path]) -> Environment:
    framework_python("caffe")
    environment = existing(find_framework("caffe"))
    assert environment is not None
    return environment


@pytest.mark.frameworks
def test_the_real_caffe_runs_on_the_python_of_its_release(real: Environment) -> None:
    script = "import sys; print(sys.version_info[:2]); import caffe; print(caffe.__version__)"

    assert _run(real.python, "-I", "-c", script) == ["(3, 9)", "1.0.0"]
    assert real.python_version.startswith("3.9.")


@pytest.mark.frameworks
def test_the_real_caffe_takes_no_library_from_the_machine(real: Environment) -> None:
    script = "import caffe; print(open('/proc/self/maps').read())"
    libraries = {line.split()[-1] for line in _run(real.python, "-c", script) if ".so" in line}

    assert any("openblas-pthread" in library for library in libraries)
    assert {library for library in libraries if not library.startswith(str(real.path))} == set()


@pytest.mark.frameworks
def test_the_real_caffe_sees_the_files_of_the_machine(real: Environment, tmp_path: Path) -> None:
    (tmp_path / "note").write_text("here")

    assert _run(real.python, "-c", f"print(open({str(tmp_path / 'note')!r}).read())") == ["here"]


@pytest.mark.frameworks
def test_what_was_unpacked_is_written_down(real: Environment) -> None:
    assert real.build.startswith("1.0.0+git")
    assert real.packages["caffe"] == real.build
    assert real.packages["python3-numpy"].startswith("1:1.19.")
    assert f"caffe=={real.build}" in (real.path / "lock.txt").read_text().splitlines()
    assert real in environments()


def _run(python: Path, *words: str) -> list[str]:
    done = subprocess.run([python, *words], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()
