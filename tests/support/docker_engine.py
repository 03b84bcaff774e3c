"""A real Docker engine of the tests' own, and images that need no registry."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import onnxruntime

from prumo.supervise.guard import GuardedProcess, Order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

START_SECONDS = 60.0
LOOK_SECONDS = 0.1
NEEDED = ("docker", "dockerd", "ldd")
# What a server imports, compiled too, so that no container has to do that again.
IMPORTED_FILES = """
import runpy, sys
runpy.run_path(sys.argv[1])
import encodings.idna, encodings.latin_1
for module in list(sys.modules.values()):
    for name in ("__file__", "__cached__"):
        if getattr(module, name, None):
            print(getattr(module, name))
"""


def missing_program() -> str | None:
    """The first program that an engine needs and this machine lacks."""
    return next((program for program in NEEDED if shutil.which(program) is None), None)


@contextmanager
def docker_engine() -> Iterator[str]:
    """An engine with a store of its own, ended afterwards; what DOCKER_HOST is for it."""
    # In a short path: the name of a socket may have 108 bytes.
    with tempfile.TemporaryDirectory(prefix="prumo-docker-") as folder:
        host = f"unix://{folder}/socket"
        order = Order(
            command=_engine_command(Path(folder), host),
            directory=folder,
            environment=dict(os.environ),
            log=f"{folder}/engine.log",
            stop_seconds=30.0,
        )
        with GuardedProcess(order) as engine:
            try:
                _wait_for(host, engine, Path(order.log))
                yield host
            finally:
                engine.stop()
                engine.wait(order.stop_seconds)
                for mounted in Path(folder).glob("exec/netns/*"):
                    subprocess.run(["umount", mounted], check=False, capture_output=True)


def import_image(name: str, files: Mapping[str, Path], entry_point: str = "") -> None:
    """An image of these files, by the names that they have in it."""
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w") as archive:
            # The engine would make the folders that no entry names, for root alone.
            for folder in sorted({parent for name in files for parent in Path(name).parents}):
                entry = tarfile.TarInfo(str(folder))
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)
            for inside, path in files.items():
                archive.add(path.resolve(), inside)
        file.seek(0)
        change = [f"--change=ENTRYPOINT {entry_point}"] if entry_point else []
        subprocess.run(
            ["docker", "import", *change, "-", name],
            stdin=file,
            check=True,
            stdout=subprocess.DEVNULL,
        )


def import_debian(name: str, folder: Path) -> None:
    """The smallest Debian with Python as an image, for what is built on a base."""
    mirror = os.environ.get("PRUMO_DEBIAN_MIRROR", "http://deb.debian.org/debian")
    packages = "--include=python3"
    subprocess.run(
        ["debootstrap", "--variant=minbase", packages, "bookworm", str(folder), mirror],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    left_out = ["./dev", "./proc", "./sys", "./var/cache/apt/archives", "./var/lib/apt/lists"]
    options = [f"--exclude={path}" for path in left_out]
    with subprocess.Popen(
        ["tar", "--create", "--directory", str(folder), *options, "."], stdout=subprocess.PIPE
    ) as archive:
        subprocess.run(
            ["docker", "import", "-", name],
            stdin=archive.stdout,
            check=True,
            stdout=subprocess.DEVNULL,
        )
    shutil.rmtree(folder)


def import_python(name: str) -> None:
    """This machine's Python as an image: enough of a base, in seconds, for a lean server."""
    python = image_python()
    library = Path("/usr/lib") / python.name
    runtime = Path(onnxruntime.__file__).parent.glob("capi/*.so*")
    needed = libraries([python, *library.glob("lib-dynload/*.so"), *runtime])
    import_image(
        name,
        {
            f"/usr/bin/{python.name}": python,
            "/usr/bin/python3": python,
            str(library): library,
            **needed,
        },
    )


def python_files(script: Path) -> dict[str, Path]:
    """A script at the root, with what it needs of this machine's Python, and a shell."""
    python, shell = image_python(), Path("/bin/sh")
    told = subprocess.run(
        [python, "-SE", "-c", IMPORTED_FILES, script], check=True, capture_output=True, text=True
    ).stdout
    files = {path for path in map(Path, told.splitlines()) if path.is_file()}
    binaries = [python, shell, *(path for path in files if path.suffix == ".so")]
    needed = {str(path): path for path in sorted({*files, *binaries})}
    return {**needed, **libraries(binaries), script.name: script}


def image_python() -> Path:
    """The interpreter of an image: the system's, which is small, or else this one."""
    return Path(shutil.which("python3", path="/usr/bin") or sys.executable).resolve()


def libraries(binaries: Sequence[Path]) -> dict[str, Path]:
    """The shared libraries that binaries load, by their names on this machine."""
    told = subprocess.run(
        ["ldd", *binaries], check=True, capture_output=True, text=True
    ).stdout.split()
    return {word: Path(word) for word in told if word.startswith("/") and not word.endswith(":")}


def _engine_command(folder: Path, host: str) -> list[str]:
    return [
        "dockerd",
        f"--host={host}",
        f"--data-root={folder}/data",
        f"--exec-root={folder}/exec",
        f"--pidfile={folder}/pid",
        "--bridge=none",
        "--iptables=false",
        "--ip6tables=false",
    ]


def _wait_for(host: str, engine: GuardedProcess, log: Path) -> None:
    give_up = time.monotonic() + START_SECONDS
    while subprocess.run(
        ["docker", "--host", host, "version"], capture_output=True, check=False
    ).returncode:
        if engine.wait(LOOK_SECONDS) is not None or time.monotonic() > give_up:
            raise RuntimeError(f"the Docker engine does not start: {log.read_text()[-2000:]}")
