"""The guard's own process, `python -m prumo.supervise.watch`: one command and all that it starts.

It runs them to the end of the last process, and kills them when Prumo is gone.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import resource
import selectors
import signal
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from prumo.machine.cgroup import remove_groups
from prumo.machine.kernel import (
    cleans_up,
    descendants,
    kill_own_descendants,
    living_descendants,
    peak_resident_bytes,
    resident_bytes,
    signal_all,
)
from prumo.supervise.guard import ANNOUNCED, READY, Ending, Order
from prumo.supervise.parent_death import c_library, die_with_parent

CONTROLLER = 0
"""Orders come through this pipe, which is open as long as Prumo lives."""
REPORT = 1
TAIL_BYTES = 1024 * 1024
CHUNK_BYTES = 65536


def main() -> None:
    """Read the order, run it to its end, report how it went; leave nothing running."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if ANNOUNCED in sys.argv:
        os.write(REPORT, READY)
    # Unbuffered: what comes after the first line belongs to the watch.
    with os.fdopen(CONTROLLER, "rb", buffering=0, closefd=False) as controller:
        line = controller.readline()
    if not line.endswith(b"\n"):
        return
    if sys.platform == "linux":
        # Processes whose parent died become children of this one, so that none escapes.
        c_library().prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        ending = Watch(Order(**json.loads(line)), CONTROLLER).run()
    finally:
        kill_own_descendants()
    # Prumo may be gone by now, and then nobody asks.
    with contextlib.suppress(BrokenPipeError):
        os.write(REPORT, json.dumps(asdict(ending)).encode() + b"\n")


class CappedLog:
    """Takes output from a pipe; memory and disk stay bounded whatever the command prints."""

    def __init__(self, path: Path, limit_bytes: int) -> None:
        self.omitted_bytes = 0
        self._file = path.open("wb", buffering=0)
        self._room_bytes = limit_bytes
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0

    def take(self, pipe: int) -> bool:
        """Move what is there from the pipe to the file; False at the end of the output."""
        try:
            chunk = os.read(pipe, CHUNK_BYTES)
        except BlockingIOError:
            return True
        head, rest = chunk[: self._room_bytes], chunk[self._room_bytes :]
        if head:
            self._room_bytes -= len(head)
            self._write(head)
        if rest:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
            while self._tail_bytes - len(self._tail[0]) >= TAIL_BYTES:
                gone = self._tail.popleft()
                self._tail_bytes -= len(gone)
                self.omitted_bytes += len(gone)
        return bool(chunk)

    def close(self) -> None:
        """Write the kept end of a flood and close."""
        if self.omitted_bytes:
            self._write(b"\n[... %d bytes left out ...]\n" % self.omitted_bytes)
        for chunk in self._tail:
            self._write(chunk)
        self._file.close()

    def _write(self, chunk: bytes) -> None:
        try:
            self._file.write(chunk)
        except OSError:
            # A full disk must not block the command; what is lost is counted.
            self.omitted_bytes += len(chunk)


PR_SET_CHILD_SUBREAPER = 36
MEMORY_WATCH_SECONDS = 0.2
KILL_AGAIN_SECONDS = 0.05
FIRST_PEAK_SECONDS = 0.0001
LEAST_PEAK_BYTES = 128 * 1024
"""Below this, a program was only about to begin when its peak was looked at."""
PEAK_AGAIN_SHARE = 0.1
"""Of the time that a command has run: after this, its peak memory is looked at again."""
NEVER = float("inf")
PROGRAM_START = struct.Struct("ddd")
"""The monotonic clock, and the user and system time that the fork had used."""


class Watch:
    """Starts the command, obeys the pipe from Prumo, keeps the limits, cleans up."""

    def __init__(self, order: Order, controller: int) -> None:
        self._order = order
        self._controller = controller
        self._cause: str | None = None
        self._deadline = NEVER
        self._kill_at = NEVER
        self._usage: resource.struct_rusage | None = None
        self._peak_bytes = 0
        self._peak_at = NEVER
        # What the kernel counts for the command begins with this process, of which it is a fork.
        self._own_peak_bytes = 0
        self._program_start = mmap.mmap(-1, PROGRAM_START.size)
        """Written by the fork itself, before its program takes its place."""

    def run(self) -> Ending:
        """Run to the end of the last process and say how it went."""
        # Readable whenever a child ends.
        wake, alarm = os.pipe()
        os.set_blocking(alarm, False)
        signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._stop("stopped"))
        try:
            log = CappedLog(Path(self._order.log), self._order.log_bytes)
        except OSError as error:
            return Ending(failure=f"cannot write {self._order.log}: {error.strerror}")
        try:
            process = self._start()
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return Ending(failure=self._start_failure(error))
        began, user_before, system_before = PROGRAM_START.unpack_from(self._program_start)
        # Not ru_maxrss, which begins with the process that started this one.
        self._own_peak_bytes = peak_resident_bytes(os.getpid())
        self._peak_at = began
        if self._order.timeout_seconds is not None:
            self._deadline = began + self._order.timeout_seconds
        assert process.stdout is not None  # noqa: S101 (asked for as a pipe)
        output = process.stdout.fileno()
        status = self._watch(process.pid, output, log, wake, began)
        wall_seconds = time.monotonic() - began
        left_behind = kill_own_descendants()
        os.set_blocking(output, True)
        while log.take(output):
            pass
        log.close()
        exit_code = os.waitstatus_to_exitcode(status)
        usage = self._usage
        return Ending(
            exit_code=exit_code if exit_code >= 0 else None,
            signal=-exit_code if exit_code < 0 else None,
            cause=self._cause,
            wall_seconds=wall_seconds,
            user_seconds=max(0.0, usage.ru_utime - user_before) if usage else 0.0,
            system_seconds=max(0.0, usage.ru_stime - system_before) if usage else 0.0,
            max_rss_bytes=self._max_rss_bytes(),
            left_behind=len(left_behind),
            survivors=len(living_descendants(os.getpid())),
            log_omitted_bytes=log.omitted_bytes,
        )

    def _start(self) -> subprocess.Popen[bytes]:
        order, guard = self._order, os.getpid()
        c_library()
        # Inherited; the guard itself needs no dump.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        def enter() -> None:
            # As little as possible: what is done here is counted as the command's.
            die_with_parent(guard, signal.SIGKILL)
            if order.affinity:
                os.sched_setaffinity(0, order.affinity)
            for path in order.join:
                Path(path).write_text(str(os.getpid()), encoding="ascii")
            used = resource.getrusage(resource.RUSAGE_SELF)
            start = (time.monotonic(), used.ru_utime, used.ru_stime)
            PROGRAM_START.pack_into(self._program_start, 0, *start)

        # When memory runs out, the kernel shall kill the run and not Prumo. Inherited as well.
        with _oom_score("800"):
            return subprocess.Popen(
                order.command,
                cwd=order.directory,
                env=order.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=enter,  # noqa: PLW1509 (a guard has one thread)
            )

    def _start_failure(self, error: Exception) -> str:
        program = self._order.command[0]
        if isinstance(error, FileNotFoundError) and error.filename == self._order.directory:
            return f"no such folder to run in: {self._order.directory}"
        if isinstance(error, FileNotFoundError):
            return f"command not found: {program}"
        if isinstance(error, PermissionError):
            return f"not an executable file: {program}"
        return f"could not start {program}: {error}"

    def _watch(self, main_pid: int, output: int, log: CappedLog, wake: int, began: float) -> int:
        """Keep watch until the command itself has ended; its exit status."""
        os.set_blocking(output, False)
        selector = selectors.DefaultSelector()
        for descriptor in (output, self._controller, wake):
            selector.register(descriptor, selectors.EVENT_READ)
        while (status := self._reap(main_pid)) is None:
            for key, _ in selector.select(self._patience_seconds()):
                if key.fd == self._controller:
                    self._obey()
                elif key.fd == wake:
                    os.read(wake, 512)
                elif not log.take(output):
                    selector.unregister(output)
            self._keep_limits()
            self._look_at_peak(main_pid, began)
        return status

    def _patience_seconds(self) -> float | None:
        now = time.monotonic()
        soonest = self._deadline if self._cause is None else NEVER
        if self._kill_at < NEVER:
            soonest = min(soonest, max(self._kill_at, now + KILL_AGAIN_SECONDS))
        if self._order.memory_bytes is not None:
            soonest = min(soonest, now + MEMORY_WATCH_SECONDS)
        soonest = min(soonest, self._peak_at)
        return None if soonest == NEVER else max(0.0, soonest - now)

    def _obey(self) -> None:
        words = os.read(self._controller, 512).split()
        if not words:
            # Prumo is gone: nobody reads a report, all processes are to be ended, and nobody else
            # removes their control groups.
            kill_own_descendants()
            remove_groups(self._order.join)
            os._exit(0)
        self._stop("stopped")
        if b"kill" in words:
            self._kill_at = 0.0

    def _stop(self, cause: str) -> None:
        if self._cause is None:
            self._cause = cause
            self._kill_at = time.monotonic() + self._order.stop_seconds
            signal_all(descendants(os.getpid()), signal.SIGTERM)

    def _keep_limits(self) -> None:
        now = time.monotonic()
        if now >= self._deadline:
            self._stop("timeout")
        cap = self._order.memory_bytes
        if self._cause is None and cap is not None:
            held = sum(map(resident_bytes, descendants(os.getpid())))
            if held > cap:
                self._cause, self._kill_at = "memory", now
        if now >= self._kill_at:
            alive = living_descendants(os.getpid())
            signal_all([pid for pid in alive if not cleans_up(pid)], signal.SIGKILL)

    def _reap(self, main_pid: int) -> int | None:
        """Take note of ended processes; the command's exit status once it is among them."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return None
            if pid == 0:
                return None
            if pid == main_pid:
                self._usage = usage
                return status

    def _look_at_peak(self, main_pid: int, began: float) -> None:
        """Keep the command's own peak while it is below the guard's, which hides it at the end."""
        now = time.monotonic()
        if now < self._peak_at:
            return
        self._peak_bytes = max(self._peak_bytes, peak_resident_bytes(main_pid))
        wait = max(FIRST_PEAK_SECONDS, PEAK_AGAIN_SHARE * (now - began))
        self._peak_at = NEVER if self._peak_bytes > self._own_peak_bytes else now + wait

    def _max_rss_bytes(self) -> int:
        counted = self._usage.ru_maxrss * 1024 if self._usage else 0
        if counted > self._own_peak_bytes:
            return counted
        return self._peak_bytes if self._peak_bytes >= LEAST_PEAK_BYTES else 0


@contextlib.contextmanager
def _oom_score(score: str) -> Iterator[None]:
    """What this process forks in this block is killed sooner when memory runs out."""
    own, before = Path("/proc/self/oom_score_adj"), "0"
    with contextlib.suppress(OSError):
        before = own.read_text("ascii")
        own.write_text(score, encoding="ascii")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            own.write_text(before, encoding="ascii")


if __name__ == "__main__":
    main()
