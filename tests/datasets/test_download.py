"""Downloads from a real server that can be told to behave badly."""

from __future__ import annotations

import fcntl
import hashlib
import socket
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from prumo.cli.data import command
from prumo.datasets.download import Offer, RemoteFile, download, fetch, offers
from prumo.errors import BusyError, DownloadError, InputError, StorageError
from prumo_worker.data import CATALOG
from support.heard_progress import Heard

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONTENT = bytes(range(256)) * 4000
FILE = RemoteFile("set.bin", len(CONTENT), hashlib.md5(CONTENT).hexdigest())  # noqa: S324


class Server(BaseHTTPRequestHandler):
    """Gives CONTENT as set.bin, in the way that a test chose."""

    ranges: ClassVar[bool] = True
    break_after: ClassVar[list[int]] = []
    """How many bytes to give before hanging up, for each of the first requests."""
    content: ClassVar[bytes] = CONTENT
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.headers.get("Range", ""))
        if self.path != "/files/set.bin":
            self.send_error(404)
            return
        start = self._start()
        if start >= len(self.content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            end = len(self.content)
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{end}")
        self.send_header("Content-Length", str(len(self.content) - start))
        self.end_headers()
        stop = start + self.break_after.pop(0) if self.break_after else None
        self.wfile.write(self.content[start:stop])

    def _start(self) -> int:
        asked = self.headers.get("Range", "")
        return int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.ranges else 0

    def log_message(self, *_: Any) -> None:
        """Be quiet."""


@contextmanager
def served(**behaviour: Any) -> Iterator[tuple[str, list[str]]]:
    handler = type("Chosen", (Server,), {"asked": [], **behaviour})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/files/", handler.asked  # type: ignore[attr-defined]
        finally:
            server.shutdown()
            thread.join()


def get(folder: Path, *places: str) -> bool:
    return download(FILE, places, folder, lambda _: None)


def whole(folder: Path) -> bool:
    return [file.name for file in folder.iterdir()] == ["set.bin"] and (
        folder / "set.bin"
    ).read_bytes() == CONTENT


def test_a_file_comes_whole_and_only_once(tmp_path: Path) -> None:
    heard: list[int] = []
    with served() as (place, asked):
        assert download(FILE, [place], tmp_path / "new", heard.append)
        assert not download(FILE, [place], tmp_path / "new", heard.append)
    assert whole(tmp_path / "new")
    assert len(asked) == 1
    assert heard[-1] == len(CONTENT)
    assert heard == sorted(heard)


def test_a_broken_connection_is_taken_up_where_it_broke(tmp_path: Path) -> None:
    with served(break_after=[300_000, 200_000]) as (place, asked):
        assert get(tmp_path, place)
    assert asked == ["", "bytes=300000-", "bytes=500000-"]
    assert whole(tmp_path)


def test_a_later_call_goes_on_where_the_first_stopped(tmp_path: Path) -> None:
    with served(break_after=[100, 100, 100]) as (place, asked):
        with pytest.raises(DownloadError, match="ended 1023700 bytes early, 3 times"):
            get(tmp_path, place)
        assert (tmp_path / "set.bin.part").stat().st_size == 300
        assert get(tmp_path, place)
    assert asked[-1] == "bytes=300-"
    assert whole(tmp_path)


def test_a_server_without_ranges_gives_the_whole_file_again(tmp_path: Path) -> None:
    (tmp_path / "set.bin.part").write_bytes(CONTENT[:5000])
    with served(ranges=False) as (place, _):
        assert get(tmp_path, place)
    assert whole(tmp_path)


def test_what_is_whole_already_is_not_fetched_again(tmp_path: Path) -> None:
    (tmp_path / "set.bin.part").write_bytes(CONTENT)
    with served() as (place, asked):
        assert get(tmp_path, place)
    assert asked == []
    assert whole(tmp_path)


@pytest.mark.parametrize("left", [CONTENT[::-1], CONTENT + b"more"])
def test_something_else_as_long_as_the_file_or_longer_is_fetched_anew(
    tmp_path: Path, left: bytes
) -> None:
    (tmp_path / "set.bin.part").write_bytes(left)
    with served() as (place, asked):
        assert get(tmp_path, place)
    assert asked == [""]
    assert whole(tmp_path)


def test_a_server_that_gives_more_than_the_file_is_cut_off(tmp_path: Path) -> None:
    heard: list[int] = []
    with served(content=CONTENT * 3) as (place, _), pytest.raises(DownloadError) as caught:
        download(FILE, [place], tmp_path, heard.append)
    assert "gave more than the published 1024000 bytes" in str(caught.value)
    assert max(heard) <= len(CONTENT)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_file_is_forgotten_and_the_mirror_is_asked(tmp_path: Path) -> None:
    with served(content=b"wrong" * 9) as (bad, _), served() as (good, asked):
        assert get(tmp_path, bad, good)
    assert asked == [""]
    assert whole(tmp_path)


def test_wrong_remains_of_another_file_do_not_harm(tmp_path: Path) -> None:
    (tmp_path / "set.bin.part").write_bytes(b"\1" * 777)
    with served() as (place, asked):
        assert get(tmp_path, place)
    assert asked == ["bytes=777-", ""]
    assert whole(tmp_path)


def test_when_no_place_has_it_every_reason_is_told(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        silent = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with served(content=b"x") as (place, _), pytest.raises(DownloadError) as caught:
            get(tmp_path, f"{place}none", silent, "http://name.invalid", place)
    message = str(caught.value)
    assert f"{place}none/set.bin: 404 Not Found" in message
    assert f"{silent}/set.bin: [Errno 111] Connection refused" in message
    assert "http://name.invalid/set.bin: " in message
    assert "gave 1 bytes with the MD5 sum 9dd4e461268c8034f5c8564e155c67a6, not the" in message
    assert list(tmp_path.iterdir()) == []


def test_only_http_is_fetched_from(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only http and https"):
        get(tmp_path, "file:///etc")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["http://[bad", "http://127.0.0.1:1/\xfc", "http://a b"])
def test_what_is_no_address_is_refused(tmp_path: Path, place: str) -> None:
    with pytest.raises(DownloadError, match=r"set\.bin: is not an address: "):
        get(tmp_path, place)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_finished_by_another_process_meanwhile_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock

    def lock_late(stream: Any, how: int) -> None:
        """The other process renames its file between our opening and our locking it."""
        monkeypatch.setattr(fcntl, "flock", lock)
        (tmp_path / "set.bin.part").rename(tmp_path / "of another")
        lock(stream, how)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    with served() as (place, _):
        assert get(tmp_path, place)
    assert (tmp_path / "of another").read_bytes() == b""
    assert (tmp_path / "set.bin").read_bytes() == CONTENT


def test_two_downloads_of_one_file_exclude_each_other(tmp_path: Path) -> None:
    with (tmp_path / "set.bin.part").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(BusyError, match="is being fetched by another process"):
            get(tmp_path, "http://127.0.0.1:1")


@pytest.mark.root
def test_a_full_disk_is_told_and_the_download_goes_on_when_there_is_room(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", tmp_path], check=True)
    try:
        with served() as (place, asked):
            with pytest.raises(StorageError, match="No space left on device"):
                get(tmp_path, place)
            subprocess.run(["mount", "-o", "remount,size=16m", tmp_path], check=True)
            assert get(tmp_path, place)
        assert asked[1].startswith("bytes=")
        assert whole(tmp_path)
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


def test_everything_on_offer_is_a_known_data_set_with_published_checksums() -> None:
    assert offers().keys() <= CATALOG.keys()
    for offer in offers().values():
        assert all(place.endswith("/") for place in (offer.home, *offer.mirrors))
        assert all(len(file.md5) == 32 and file.bytes > 0 for file in offer.files)


def test_a_data_set_is_fetched_from_its_mirror_when_its_home_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Heard()
    with served() as (place, _):
        offer = Offer(f"{place}gone/", (place,), (FILE,))
        monkeypatch.setattr("prumo.datasets.download.offers", lambda: {"own": offer})
        assert fetch("own", tmp_path, progress=heard) == [tmp_path / "set.bin"]
        fetch("own", tmp_path, progress=heard)
    assert whole(tmp_path)
    assert heard.said[0].startswith("fetching set.bin: 1024000 bytes in")
    assert heard.said[1] == f"{tmp_path / 'set.bin'} is there already"


def test_the_fetched_folder_can_be_copied_into_a_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with served() as (place, _):
        offer = Offer(place, (), (FILE,))
        monkeypatch.setattr("prumo.datasets.download.offers", lambda: {"own": offer})
        done = CliRunner().invoke(command, ["fetch", "own", "--to", "my: data, \xfc"])
    study = YAML(typ="safe").load(done.stdout.removeprefix("in a study:  "))
    assert study["workload"]["data"] == {"own": str(tmp_path / "my: data, \xfc")}


def test_a_data_set_that_nobody_offers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no data set 'minst' can be fetched; did you mean"):
        fetch("minst", tmp_path)
