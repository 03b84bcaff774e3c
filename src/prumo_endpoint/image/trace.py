"""Which files of an image a run touches: strace, brought into the container from this machine.

strace is started by its own loader with its own libraries, so that it works in any image, also in
one without a shell. A container may trace its own processes; only to end one takes root here.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from prumo.errors import UnavailableError

_TOOLS = "/.prumo-trace"
_LOG = "/.prumo-log"
_LOADER = "loader"
_TRACE_FILE = "trace"
_MOST_LINKS = 40
_CALL = re.compile(
    r'^\d+\s+\w+\((?:(?:AT_FDCWD|\d+)<(?P<folder>[^>]*)>, )?"(?P<path>(?:[^"\\]|\\.)*)"'
)
_LOADER_NAME = re.compile(rb"\0(/[\w./-]*/ld[\w.-]*\.so[\w.]*)\0")
_INTERPRETER = re.compile(rb"#![ \t]*(/[^\s]+)")
_OPENED = re.compile(r"= \d+<(?P<path>/[^>]*)>$")


class Tracer:
    """What `docker run` needs to trace a command, and what was found.

    tracer = Tracer(folder)
    docker("run", *tracer.options(), IMAGE, *tracer.command(["python3", "-m", "prumo", "serve"]))
    tracer.touched("/")
    """

    def __init__(self, folder: Path) -> None:
        program = shutil.which("strace")
        if program is None:
            raise UnavailableError(
                "an image's files are traced with strace, and there is no such program here; on "
                "Debian and Ubuntu: apt install strace"
            )
        self._tools, self._log = folder / "tools", folder / "log"
        self._tools.mkdir(parents=True)
        self._log.mkdir()
        folder.chmod(0o755)
        # The user of a container is any user.
        self._log.chmod(0o777)
        shutil.copy(program, self._tools / "strace")
        listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True)
        for library in re.findall(r"/\S+", listed.stdout):
            name = _LOADER if "/ld-" in library else Path(library).name
            shutil.copy(library, self._tools / name)

    def options(self) -> list[str]:
        """For `docker run`, before the image."""
        return [
            *("--no-healthcheck", "--cap-add", "SYS_PTRACE"),
            *("--mount", f"type=bind,source={self._tools},target={_TOOLS},readonly"),
            *("--mount", f"type=bind,source={self._log},target={_LOG}"),
            *("--entrypoint", f"{_TOOLS}/{_LOADER}"),
        ]

    def command(self, command: Sequence[str]) -> list[str]:
        """For `docker run`, behind the image."""
        strace = [f"{_TOOLS}/strace", "--follow-forks", "--seccomp-bpf", "--decode-fds=path", "-qq"]
        strace += ["--string-limit=4096", "--trace=%file", f"--output={_LOG}/{_TRACE_FILE}"]
        return ["--library-path", _TOOLS, *strace, *command]

    def touched(self, folder: str) -> set[str]:
        """Every path that was named or opened, absolute; `folder` is where the command began."""
        try:
            with (self._log / _TRACE_FILE).open(encoding="utf-8", errors="replace") as lines:
                return set(named_paths(lines, folder))
        except OSError as error:
            raise UnavailableError(
                f"the traced container left no trace: {error.strerror}. Does the engine allow "
                "ptrace, and does it run on this machine?"
            ) from error


def named_paths(lines: Iterable[str], folder: str) -> Iterator[str]:
    r"""The paths in lines of strace, whether the call succeeded or not.

    >>> lines = ['7 openat(AT_FDCWD</srv>, "a\\303\\251", O_RDONLY) = 3</data/a>']
    >>> list(named_paths(lines, "/"))
    ['/srv/aé', '/data/a']
    """
    for line in lines:
        if call := _CALL.match(line):
            path = os.fsdecode(ast.literal_eval(f'b"{call["path"]}"'))
            yield os.path.join(call["folder"] or folder, path)  # noqa: PTH118 (of another machine)
        if opened := _OPENED.search(line.rstrip()):
            yield opened["path"]


def loader_of(head: bytes) -> str | None:
    """The loader or interpreter that the beginning of a program names.

    >>> loader_of(b"#!/bin/sh -e")
    '/bin/sh'
    """
    found = _LOADER_NAME.search(head) if head.startswith(b"\x7fELF") else _INTERPRETER.match(head)
    return None if found is None else os.fsdecode(found[1])


def resolved(path: str, links: Mapping[str, str]) -> list[str]:
    """A path and every link on its way, as files of an image: without a slash before them.

    >>> resolved("/lib/x.so/../y.so", {"lib": "usr/lib", "usr/lib/y.so": "/opt/y.so.1"})
    ['lib', 'usr/lib/y.so', 'opt/y.so.1']
    """
    passed: list[str] = []
    waiting = list(reversed(PurePosixPath("/", path).parts[1:]))
    done: list[str] = []
    while waiting:
        part = waiting.pop()
        if part == "..":
            done = done[:-1]
            continue
        name = "/".join([*done, part])
        target = links.get(name)
        if target is None or len(passed) > _MOST_LINKS:
            done.append(part)
            continue
        passed.append(name)
        if target.startswith("/"):
            done = []
        waiting += reversed([each for each in target.split("/") if each not in {"", "."}])
    return [*passed, "/".join(done)]


def terminate(pid: int) -> None:
    """Ask a traced process to end, which in a container may be one of another user."""
    try:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    except PermissionError as error:
        reason = "the traced server is a process of another user: run this command as root"
        raise UnavailableError(reason) from error
