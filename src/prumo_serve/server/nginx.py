"""NGINX before Gunicorn, with a process for each worker: the configuration, and running both."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from string import Template
from textwrap import indent
from typing import IO, TYPE_CHECKING, Any

from prumo.errors import PrumoError, UnavailableError
from prumo.supervise.child import end
from prumo.supervise.parent_death import dies_with_parent
from prumo_serve.server.boundary import BOOT_ID_HEADER
from prumo_serve.server.log import log_event, set_up_log
from prumo_serve.server.refusal import (
    headers_too_large,
    malformed,
    not_ready,
    too_large,
    took_too_long,
)
from prumo_serve.server.stacks import address_of, listening_socket, report_address

if TYPE_CHECKING:
    from prumo_serve.server.settings import Settings

DRAIN_SECONDS = 20
"""For the requests under way, of the 30 s that platforms leave to a server that is to end."""
READY_FILE = "ready"
"""There from the first worker on that has loaded its model, which it describes."""
DRAINING_FILE = "draining"
"""There while the server ends, and says that it is not ready."""
# So much more than the workers have themselves, so that theirs is the error that is answered.
_ANSWER_MARGIN_SECONDS = 5

# SageMaker wants it back with every answer.
_ECHO = "X-Amzn-SageMaker-Custom-Attributes"
SETTINGS_VARIABLE = "PRUMO_SERVE_SETTINGS"
"""Where a worker finds its settings, as `Settings.to_json` writes them."""
FOLDER_VARIABLE = "PRUMO_SERVE_FOLDER"
"""Where it finds what it shares with NGINX."""
# Debian keeps it where only root's PATH looks.
_PROGRAM_FOLDERS = (os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin")
_LOOK_SECONDS = 0.1
# Ours: for requests that are on their way over connections which are open already.
_GRACE_SECONDS = 1.0
# All together stay below the 30 s after which platforms kill.
_NGINX_END_SECONDS = DRAIN_SECONDS + 1
_GUNICORN_END_SECONDS = 6
# As the configuration writes them, and as NGINX itself does when it cannot go on:
# `2026/01/02 03:04:05 [emerg] 12#12: *3 what happened, client: ADDRESS, …, host: "HEADER"`
_REFUSAL_LINE = re.compile(r"refusal (\d+) ([\d.]+) (\d+) (\d+)\n")
_TROUBLE_LINE = re.compile(r"\S+ \S+ \[(?:alert|emerg)\] \S+ (?:\*\d+ )?(.*?)(?:, client: .*)?\n")


def run(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT; the exit code."""
    program = _nginx_program()
    set_up_log(settings.log_format, settings.log_level)
    ending = threading.Event()
    with (
        _set_by_signal(ending),
        tempfile.TemporaryDirectory(prefix="prumo-serve-") as name,
        listening_socket(settings) as listening,
    ):
        folder = Path(name)
        # NGINX's worker is another user where root starts it, and must reach the sockets.
        folder.chmod(0o711)
        report_address(listening, settings)
        nginx = _started_nginx(program, settings, folder, listening)
        listening.close()
        gunicorn = _started_gunicorn(settings, folder)
        try:
            _supervise({"NGINX": nginx, "Gunicorn": gunicorn}, ending)
            log_event("shutting down", {"event": "draining"})
            # Before it stops listening, it is not ready any more, and hangs up after answers.
            (folder / DRAINING_FILE).touch()
            ending.clear()
            ending.wait(_GRACE_SECONDS)
        finally:
            end(nginx, _NGINX_END_SECONDS, signal.SIGQUIT, group=True)
            end(gunicorn, _GUNICORN_END_SECONDS, group=True)
    log_event("ended", {"event": "ended"})
    return 0


def _nginx_program() -> str:
    if find_spec("gunicorn") is None or find_spec("uvicorn_worker") is None:
        raise UnavailableError("the stack nginx needs Gunicorn: pip install 'prumo[serve]'")
    program = shutil.which("nginx", path=os.pathsep.join(_PROGRAM_FOLDERS))
    if program is None:
        raise UnavailableError(
            "the stack nginx needs NGINX, which is not installed; on Debian and Ubuntu: "
            "apt install nginx. Without it: --stack lean"
        )
    return program


def _started_nginx(
    program: str, settings: Settings, folder: Path, listening: socket.socket
) -> subprocess.Popen[str]:
    address = address_of(listening)
    configuration = folder / "nginx.conf"
    configuration.write_text(nginx_configuration(settings, folder, address), encoding="utf-8")
    words = [program, "-p", str(folder), "-c", str(configuration), "-e", "stderr"]
    process = _started(
        [*words, "-g", "daemon off;"],
        # By this variable NGINX itself hands open sockets to its successor when it is upgraded.
        {"NGINX": f"{listening.fileno()};"},
        stderr=subprocess.PIPE,
        pass_fds=[listening.fileno()],
    )
    threading.Thread(target=_pass_on, args=[process.stderr], daemon=True).start()
    return process


def _started_gunicorn(settings: Settings, folder: Path) -> subprocess.Popen[str]:
    metrics = folder / "metrics"
    metrics.mkdir(mode=0o700)
    worker = replace(settings, model=settings.model.absolute(), workers=1)
    sockets = [f"unix:{worker_socket(folder, index)}" for index in range(settings.workers)]
    words = [sys.executable, "-m", "gunicorn", "--config", f"python:{__package__}.gunicorn"]
    return _started(
        [*words, "--workers", str(settings.workers), *(f"--bind={name}" for name in sockets)],
        {
            SETTINGS_VARIABLE: worker.to_json(),
            FOLDER_VARIABLE: str(folder),
            # Prometheus' own.
            "PROMETHEUS_MULTIPROC_DIR": str(metrics),
        },
    )


def _started(
    command: Sequence[str],
    variables: dict[str, str],
    **options: Any,  # noqa: ANN401 (of Popen)
) -> subprocess.Popen[str]:
    """A process that ends with this one, and that Ctrl-C reaches only through this one."""
    return subprocess.Popen(
        dies_with_parent(command),
        env=dict(os.environ) | variables,
        stdin=subprocess.DEVNULL,
        process_group=0,
        text=True,
        errors="replace",
        **options,
    )


def _supervise(processes: Mapping[str, subprocess.Popen[str]], ending: threading.Event) -> None:
    """Return when the stack is to end; Gunicorn itself looks after its workers."""
    while not ending.wait(_LOOK_SECONDS):
        for name, process in processes.items():
            if process.poll() is not None:
                raise StackError(
                    f"{name} has ended with code {process.returncode}, so that nothing can be "
                    "answered any more; its log above should say why"
                )


@contextmanager
def _set_by_signal(event: threading.Event) -> Iterator[None]:
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: event.set()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _pass_on(lines: IO[str]) -> None:
    """Pass on what NGINX says, in the form of the other lines and without who asked what."""
    for line in lines:
        if refusal := _REFUSAL_LINE.fullmatch(line):
            status, seconds, received, sent = refusal.groups()
            log_event(
                f"refused by NGINX {status} {float(seconds) * 1000:.1f} ms",
                {
                    "event": "refusal",
                    "status": int(status),
                    "seconds": float(seconds),
                    "received_bytes": int(received),
                    "sent_bytes": int(sent),
                },
            )
        elif trouble := _TROUBLE_LINE.fullmatch(line):
            log_event(f"NGINX: {trouble[1]}", {"event": "trouble"}, logging.ERROR)


def nginx_configuration(settings: Settings, folder: Path, address: str) -> str:
    """The content of `nginx.conf`; sockets and temporary files are in the folder."""
    limits = settings.limits
    template = _Template(Path(__file__).with_name("nginx.conf.template").read_text("utf-8"))
    return template.substitute(
        folder=folder,
        address=address,
        ready=folder / READY_FILE,
        draining=folder / DRAINING_FILE,
        # Never given up: what waits at its socket, the successor of a dead worker answers.
        workers=_indented(
            f"server unix:{worker_socket(folder, index)} max_fails=0;"
            for index in range(settings.workers)
        ),
        refusals=_indented(_refusals(settings)),
        body_bytes=limits.body_bytes,
        body_seconds=ceil(limits.body_seconds),
        header_seconds=ceil(limits.header_seconds),
        header_bytes=limits.header_bytes,
        answer_seconds=ceil(limits.timeout_seconds) + _ANSWER_MARGIN_SECONDS,
        drain_seconds=DRAIN_SECONDS,
    )


def worker_socket(folder: Path, index: int) -> Path:
    """Where a worker listens. Each has its own, so that NGINX can spread requests evenly."""
    return folder / f"worker-{index}.sock"


def _refusals(settings: Settings) -> Iterator[str]:
    """What NGINX refuses by itself, in the form of all other errors."""
    limits = settings.limits
    by_code = {
        "400 405 414 501": malformed("the request is not HTTP as this server speaks it"),
        "413": too_large(f"the body is larger than {limits.body_bytes} bytes"),
        "494": headers_too_large(f"the headers are larger than {limits.header_bytes} bytes"),
        "502 503": not_ready("no worker is ready to answer"),
        "504": took_too_long("the time limit came before the answer"),
    }
    for codes, refusal in by_code.items():
        path = f"/refusals/{refusal.kind}"
        yield f"error_page {codes} ={refusal.status.value} {path};"
        yield f"location = {path} {{"
        yield "    internal;"
        yield "    access_log /dev/stderr refusal;"
        for name, value in refusal.headers.items():
            yield f"    add_header {name} {value} always;"
        yield f"    add_header {_ECHO} $http_{_ECHO.lower().replace('-', '_')} always;"
        yield f"    add_header {BOOT_ID_HEADER} {settings.boot_id} always;"
        yield f"    return {refusal.status.value} '{json.dumps(refusal.document)}';"
        yield "}"


def _indented(lines: Iterable[str]) -> str:
    return indent("\n".join(lines), " " * 8)


class StackError(PrumoError):
    """A part of the stack ended though nobody asked it to."""


class _Template(Template):
    # NGINX itself has the dollar.
    delimiter = "%"
