"""An archive of a model comes from strangers, and can do no harm."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import tarfile
from typing import TYPE_CHECKING

import pytest

from prumo.errors import InputError
from prumo_serve.package import archive as archive_module
from prumo_serve.package import open_package
from support.archives import Member, members_of, write_members
from support.model_packages import write_colour_package

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "model.tar.gz"
    write_colour_package(path)
    return path


def test_an_archive_is_opened_and_its_unpacked_files_go_at_the_end(good: Path) -> None:
    with open_package(good) as package:
        folder = package.folder
        assert package.network_path.is_file()
        assert package.card.startswith("# colours")

    assert not folder.exists()


def test_what_was_unpacked_goes_when_opening_fails(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    members = [member for member in members_of(good) if member.name != "network.onnx"]
    broken = write_members(tmp_path / "broken.tar.gz", members)

    with pytest.raises(InputError, match=r"network\.onnx is missing"):
        open_package(broken)

    assert list(tmp_path.iterdir()) == [broken]


def test_an_archive_that_tar_made_of_a_package_is_opened_too(good: Path, tmp_path: Path) -> None:
    with open_package(good) as package:
        out = tmp_path / "by-tar.tar.gz"
        subprocess.run(["tar", "czf", out, "-C", package.folder, "."], check=True)

    with open_package(out) as package:
        assert package.manifest.name == "colours"


def test_the_same_content_gives_the_same_bytes_whatever_the_hour_and_the_mask(
    good: Path, tmp_path: Path
) -> None:
    mask = os.umask(0o077)
    try:
        again = tmp_path / "another-name.tar.gz"
        write_colour_package(again)
    finally:
        os.umask(mask)

    assert again.read_bytes() == good.read_bytes()
    with tarfile.open(again) as archive:
        facts = {(entry.mtime, entry.uid, entry.gid, entry.uname, entry.mode) for entry in archive}
        names = archive.getnames()
    assert facts == {(0, 0, 0, "", 0o644)}
    assert names == ["manifest.json", *sorted(names[1:])]


@pytest.mark.parametrize(
    ("member", "words"),
    [
        (Member("card.md", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "a symbolic link"),
        (Member("card.md", type=tarfile.LNKTYPE, linkname="manifest.json"), "a hard link"),
        (Member("card.md", type=tarfile.CHRTYPE), "a device"),
        (Member("card.md", type=tarfile.BLKTYPE), "a device"),
        (Member("card.md", type=tarfile.FIFOTYPE), "a pipe"),
        (Member("card.md", type=tarfile.CONTTYPE), "beyond plain tar"),
        (Member("/tmp/card.md"), "outside of the package"),
        (Member("../card.md"), "outside of the package"),
        (Member("network/../../card.md"), "outside of the package"),
        (Member("..\\card.md"), "outside of the package"),
        (Member("card.md"), "twice"),
        (Member("./card.md"), "twice"),
        (Member("notes.txt"), r"'notes\.txt' in it, which is no part of a package"),
        (Member("network/assets/../x"), "outside of the package"),
        (Member("weights.pkl"), "can run code"),
        (Member("weights.pt"), "can run code"),
        (Member("array.npy"), "can run code"),
        (Member("serve.py"), "can run code"),
        (Member("network/assets/hook.py"), "can run code"),
    ],
)
def test_what_a_package_never_has_is_refused(
    good: Path, tmp_path: Path, member: Member, words: str
) -> None:
    bad = write_members(tmp_path / "bad.tar.gz", [*members_of(good), member])

    with pytest.raises(InputError, match=words):
        open_package(bad)

    assert [path.name for path in tmp_path.iterdir()] == ["bad.tar.gz"]


def test_extended_headers_are_refused_before_they_are_read(good: Path, tmp_path: Path) -> None:
    long_name = Member("network/assets/" + "a" * 300)
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        bad = write_members(tmp_path / "long.tar.gz", [*members_of(good), long_name], form=form)

        with pytest.raises(InputError, match="beyond plain tar"):
            open_package(bad)


def test_an_archive_that_would_swell_is_not_unpacked_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_module, "_FREE_BYTES", 1024 * 1024)
    bomb = write_members(tmp_path / "bomb.tar.gz", [Member("network.onnx", bytes(64 * 1024**2))])
    out = tmp_path / "out"
    out.mkdir()

    with pytest.raises(InputError, match="would swell"):
        archive_module.unpack(bomb, out)

    assert bomb.stat().st_size < 100_000
    assert (out / "network.onnx").stat().st_size < 10 * 1024**2


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.DIRTYPE])
def test_an_archive_of_too_many_files_is_refused(tmp_path: Path, kind: bytes) -> None:
    members = [Member(f"network/assets/{number}", type=kind) for number in range(1001)]
    many = write_members(tmp_path / "many.tar.gz", members)

    with pytest.raises(InputError, match="more than 1000 files"):
        open_package(many)


def test_a_header_that_lies_about_sizes_is_refused(good: Path, tmp_path: Path) -> None:
    plain = bytearray(gzip.decompress(good.read_bytes()))
    # A size of minus 512 in base 256, and the sum of the header's bytes with it.
    plain[124:136] = b"\xff" * 10 + b"\xfe\x00"
    plain[148:156] = b" " * 8
    plain[148:156] = f"{sum(plain[:512]):06o}\0 ".encode()
    bad = tmp_path / "lie.tar.gz"
    bad.write_bytes(gzip.compress(bytes(plain)))

    with pytest.raises(InputError, match="a size that cannot be"):
        open_package(bad)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_an_archive_that_was_cut_off_is_refused(good: Path, tmp_path: Path, share: float) -> None:
    content = good.read_bytes()
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(content[: int(len(content) * share)])

    with pytest.raises(InputError, match=r"no whole tar\.gz"):
        open_package(cut)


def test_something_behind_the_end_is_refused(good: Path, tmp_path: Path) -> None:
    plain = gzip.decompress(good.read_bytes())
    longer = tmp_path / "longer.tar.gz"
    longer.write_bytes(gzip.compress(plain + b"more"))

    with pytest.raises(InputError, match="behind its end"):
        open_package(longer)


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04", b"\x1f\x8b"])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.tar.gz"
    path.write_bytes(content)

    with pytest.raises(InputError, match=r"no whole tar\.gz"):
        open_package(path)


def test_a_folder_with_a_link_in_it_is_refused(good: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with open_package(good) as package:
        shutil.copytree(package.folder, folder)
    (folder / "card.md").unlink()
    (folder / "card.md").symlink_to("/etc/hostname")

    with pytest.raises(InputError, match=r"'card\.md' is no ordinary file"):
        open_package(folder)


def test_a_manifest_may_not_name_files_elsewhere(good: Path, tmp_path: Path) -> None:
    members = members_of(good)
    manifest = json.loads(members[0].content)
    for name in ("/etc/hostname.onnx", "../network.onnx", "./network.onnx", "other/network.onnx"):
        manifest["network"]["file"] = name
        bad = write_members(
            tmp_path / "bad.tar.gz",
            [Member("manifest.json", json.dumps(manifest).encode()), *members[1:]],
        )

        with pytest.raises(InputError, match="which is not in the package"):
            open_package(bad)
