"""Everything that can be wrong with a photograph: an error that names the file, never a crash."""

from __future__ import annotations

import io
import os
import resource
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from prumo.errors import DataError
from prumo_retina.photograph import read_photograph
from support.dicom_files import write_dicom, write_jpeg_2000_dicom, write_jpeg_dicom
from support.fundus_factory import fundus

if TYPE_CHECKING:
    from prumo_retina.photograph.pixels import Photograph

EYE = fundus(403, 302, grade=2).pixels
WHOLE = 302
SOURCE = str(Path(__file__).parents[2] / "src")
KINDS = ["a.jpg", "inks.jpg", "a.png", "a.tif", "packed.tif", "a.dcm", "j.dcm", "k.dcm"]
MOST_GROWTH_KIB = 2_000_000
# pytest would show the warnings of decoders, which the package keeps from its users.
pytestmark = pytest.mark.filterwarnings("ignore")


def saved(path: Path, picture: Image.Image | np.ndarray, **options: Any) -> Path:
    if isinstance(picture, np.ndarray):
        picture = Image.fromarray(picture)
    picture.save(path, **options)
    return path


@pytest.mark.parametrize(
    "make",
    [
        lambda path: saved(path, Image.new("1", (20_000, 8_000)), format="PNG"),
        lambda path: saved(path, Image.new("1", (20_000, 8_000)), format="TIFF"),
        lambda path: jpeg_claiming(path, 20_000, 8_000, progressive=True),
    ],
    ids=["png", "tiff", "progressive jpeg"],
)
def test_what_would_fill_the_memory_is_refused_before_it_is_decoded(
    tmp_path: Path, make: Any
) -> None:
    with pytest.raises(DataError, match=r"20000 by 8000 pixels: more than the 105 million"):
        read_photograph(make(tmp_path / "a"), 600)


def test_a_jpeg_that_only_claims_to_be_large_is_truncated(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be decoded"):
        read_photograph(jpeg_claiming(tmp_path / "a.jpg", 20_000, 8_000), 600)


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.tif"])
@pytest.mark.parametrize("shape", [(1, 1), (31, 400)])
def test_a_photograph_of_too_few_pixels_is_refused(
    tmp_path: Path, name: str, shape: tuple[int, int]
) -> None:
    file = saved(tmp_path / name, np.zeros(shape, np.uint8))

    with pytest.raises(DataError, match="a photograph has at least 32 a side"):
        read_photograph(file, WHOLE)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_file_is_an_error(tmp_path: Path, name: str, share: float) -> None:
    content = sample(tmp_path, name)
    (tmp_path / name).write_bytes(content[: int(len(content) * share)])

    with pytest.raises(DataError, match=name):
        read_photograph(tmp_path / name, 38)


def test_a_jpeg_damaged_in_the_middle_is_an_error(tmp_path: Path) -> None:
    content = bytearray(sample(tmp_path, "a.jpg"))
    middle = len(content) // 2
    content[middle : middle + 40] = bytes(40)
    (tmp_path / "a.jpg").write_bytes(content)

    with pytest.raises(DataError, match=r"a\.jpg: cannot be decoded: Corrupt JPEG data"):
        read_photograph(tmp_path / "a.jpg", WHOLE)


def test_what_a_decoder_warns_of_is_not_printed(tmp_path: Path) -> None:
    content = sample(tmp_path, "j.dcm")
    (tmp_path / "a.dcm").write_bytes(content[:-8])
    program = "from prumo_retina.photograph import *; from pathlib import Path; import sys;"
    read = [sys.executable, "-c", f"{program} read_photograph(Path(sys.argv[1]), 38)"]

    done = subprocess.run(
        [*read, tmp_path / "a.dcm"], capture_output=True, check=False, env={"PYTHONPATH": SOURCE}
    )

    assert b"PhotographError" in done.stderr
    assert b"Warning" not in done.stderr


def test_a_kind_of_pixels_that_no_camera_writes_is_refused(tmp_path: Path) -> None:
    file = saved(tmp_path / "a.tif", EYE[..., 0].astype(np.float32))

    with pytest.raises(DataError, match=r"a\.tif: has pixels of the kind F"):
        read_photograph(file, WHOLE)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b"grade,image\n0,a.jpg\n", "is not a photograph: it is neither JPEG nor PNG, TIFF or"),
        (b"GIF89a" + bytes(200), "is not a photograph"),
        (b"\xff\xd8\xff", "cannot be decoded"),
        (b"\x89PNG\r\n\x1a\n", "cannot be decoded"),
        (b"II*\0", "cannot be decoded"),
        (bytes(128) + b"DICM", "cannot be decoded"),
    ],
)
def test_what_is_no_photograph_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "a.jpg").write_bytes(content)

    with pytest.raises(DataError, match=rf"a\.jpg: {problem}"):
        read_photograph(tmp_path / "a.jpg", WHOLE)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.jpg: does not exist"):
        read_photograph(tmp_path / "a.jpg", WHOLE)


def test_a_folder_named_as_a_photograph_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").mkdir()

    with pytest.raises(DataError, match=r"a\.jpg: is a folder"):
        read_photograph(tmp_path / "a.jpg", WHOLE)


def test_a_link_to_itself_is_an_error_that_names_the_file_once(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").symlink_to("a.jpg")

    with pytest.raises(DataError) as error:
        read_photograph(tmp_path / "a.jpg", WHOLE)

    assert str(error.value).count("a.jpg") == 1


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jpg")

    with pytest.raises(DataError, match=r"a\.jpg: is not a file"):
        read_photograph(tmp_path / "a.jpg", WHOLE)


def test_a_file_that_this_user_may_not_read_is_an_error(tmp_path: Path) -> None:
    file = saved(tmp_path / "a.jpg", EYE)
    file.chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        with pytest.raises(DataError, match=r"a\.jpg: may not be read by this user"):
            read_photograph(file, WHOLE)
    finally:
        os.seteuid(user)


def test_a_file_larger_than_any_photograph_is_not_read(tmp_path: Path) -> None:
    file = saved(tmp_path / "a.jpg", EYE)
    os.truncate(file, 2_000_000_000)

    with pytest.raises(DataError, match=r"a\.jpg: is larger than the 1 GB"):
        read_photograph(file, WHOLE)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    name=st.sampled_from(KINDS),
    changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255))),
    changed_bytes=st.sampled_from([700, 10**9]),
    kept=st.just(1.0) | st.floats(0.2, 1),
)
def test_changed_bytes_give_a_photograph_or_an_error(
    tmp_path: Path, name: str, changes: list[tuple[float, int]], changed_bytes: int, kept: float
) -> None:
    content = bytearray(sample(tmp_path, name))
    for place, value in changes:
        content[int(place * min(changed_bytes, len(content)))] = value
    (tmp_path / name).write_bytes(content[: int(kept * len(content))])
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    outcome = outcome_of(tmp_path / name)

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < MOST_GROWTH_KIB
    if isinstance(outcome, DataError):
        assert str(outcome).startswith(f"{tmp_path / name}: ")
    else:
        rows, columns, channels = outcome.pixels.shape
        assert channels == 3
        assert abs(rows - outcome.height * outcome.scale) < 1
        assert abs(columns - outcome.width * outcome.scale) < 1


def outcome_of(file: Path) -> Photograph | DataError:
    try:
        return read_photograph(file, 76)
    except DataError as error:
        return error


def jpeg_claiming(path: Path, width: int, height: int, *, progressive: bool = False) -> Path:
    """A small JPEG whose header says that it is larger."""
    content = io.BytesIO()
    Image.fromarray(EYE).save(content, "JPEG", progressive=progressive)
    changed = bytearray(content.getvalue())
    start = changed.index(b"\xff\xc2" if progressive else b"\xff\xc0")
    changed[start + 5 : start + 9] = struct.pack(">HH", height, width)
    path.write_bytes(changed)
    return path


def sample(folder: Path, name: str) -> bytes:
    """The content of one good file of each kind."""
    file = folder / f"good-{name}"
    if file.exists():
        return file.read_bytes()
    match name:
        case "inks.jpg":
            Image.fromarray(EYE).convert("CMYK").save(file)
        case "packed.tif":
            Image.fromarray(EYE).save(file, compression="tiff_lzw")
        case "a.dcm":
            write_dicom(file, EYE)
        case "j.dcm":
            write_jpeg_dicom(file, EYE)
        case "k.dcm":
            write_jpeg_2000_dicom(file, EYE)
        case _:
            Image.fromarray(EYE).save(file)
    return file.read_bytes()
