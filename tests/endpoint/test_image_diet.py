"""What stays of an image, and when two images answer the same."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from contextlib import nullcontext
from pathlib import Path

import pytest

from prumo.errors import InputError
from prumo.progress import Silent
from prumo_endpoint.bodies import Body
from prumo_endpoint.image import diet
from prumo_endpoint.image.diet import kept_names
from prumo_endpoint.image.rehearsal import Answer, differences, rehearsal
from prumo_endpoint.image.trace import loader_of, named_paths, resolved


def test_paths_are_found_in_what_strace_writes() -> None:
    lines = [
        '7 execve("/usr/bin/python3", ["python3"], 0x7 /* 3 vars */) = 0\n',
        '7 openat(AT_FDCWD</srv>, "a\\303\\251 \\"b", O_RDONLY) = 3</data/a>\n',
        '8 newfstatat(4</opt>, "x", 0x7, 0) = -1 ENOENT (No such file)\n',
        '8 readlink("l", "t", 9) = 1\n',
        '9 openat(AT_FDCWD</>, "/half", O_RDONLY <unfinished ...>\n',
        "9 +++ exited with 0 +++\n",
    ]

    assert list(named_paths(lines, "/w")) == [
        *("/usr/bin/python3", '/srv/aé "b', "/data/a", "/opt/x", "/w/l", "/half")
    ]


def test_the_loader_of_a_program_is_found_in_its_head() -> None:
    head = Path(sys.executable).read_bytes()[:4096]

    assert Path(str(loader_of(head))).exists()
    assert loader_of(b"#! /usr/bin/env python3") == "/usr/bin/env"
    assert loader_of(b"\x7fELF without any") is None
    assert loader_of(b"words") is None


def test_links_that_lead_in_circles_come_to_an_end() -> None:
    assert resolved("/a", {"a": "b", "b": "a"})


def test_touched_files_stay_with_their_links_and_folders() -> None:
    members = {
        name: _member(name, link)
        for name, link in {
            **dict.fromkeys(["opt", "usr/lib/y.so.1", "etc/passwd", "usr/share/man", "tmp"], ""),
            "lib": ">usr/lib",
            "usr/lib/y.so": ">y.so.1",
            "bin/one": "=bin/two",
            "bin/two": "",
            "opt/ml/model/m": "",
            "srv/mine": "",
            "srv/other": "",
        }.items()
    }

    kept = kept_names(members, {"/lib/y.so", "/bin/one", "/not/there"}, ["/srv/m*"])

    assert kept == members.keys() - {"usr/share/man", "srv/other"}


def _member(name: str, link: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type = {">": tarfile.SYMTYPE, "=": tarfile.LNKTYPE}.get(link[:1], tarfile.REGTYPE)
    member.linkname = link[1:]
    return member


def test_a_rehearsal_has_every_kind_of_body_and_the_users_own() -> None:
    asked = dict(rehearsal([Body(b"mine", "text/csv")]))

    types = {
        request.headers.get("Content-Type", "").partition(";")[0] for request in asked.values()
    }
    assert types >= {"image/jpeg", "image/png", "application/json", "multipart/form-data"}
    assert asked["payload 1"].body == b"mine"


def test_an_answer_that_differs_in_one_bit_is_found() -> None:
    one = {"a": Answer(200, "application/json", "0.1"), "b": Answer(200, "t", "x")}

    assert differences(one, dict(one)) == []
    assert differences(one, {**one, "a": Answer(200, "application/json", "0.10000000000000002")})


def test_a_health_check_that_fails_from_the_start_proves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 1, "", "")

    monkeypatch.setattr(diet, "docker", failing)
    monkeypatch.setattr(diet, "_docker", failing)
    monkeypatch.setattr(diet, "_await_ready", lambda *_: None)
    monkeypatch.setattr(diet, "removed_afterwards", nullcontext)
    monkeypatch.setattr(diet, "answers", lambda *_: {})
    monkeypatch.setattr(diet, "_config", lambda _: {"Healthcheck": {"Test": ["CMD", "check"]}})

    with pytest.raises(InputError, match="health check of mine fails with exit code 1"):
        diet._compared(diet.DietPlan("mine", "smaller"), "trial", [], Silent(), (0, 0))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_server_of_another_user_is_not_left_running_unnoticed(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "from prumo.errors import UnavailableError\n"
        "from prumo_endpoint.image.trace import terminate\n"
        "os.setuid(65534)\n"
        "try:\n"
        "    terminate(int(sys.argv[1]))\n"
        "except UnavailableError as error:\n"
        "    print(error)\n"
    )
    with subprocess.Popen(["sleep", "60"]) as server:
        try:
            command = [sys.executable, "-c", program, str(server.pid)]
            told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
            assert server.poll() is None
        finally:
            server.kill()

    assert "as root" in told.stdout, told.stderr
