"""`prumo data`, and `prumo run` with data of the user's own."""

from __future__ import annotations

import gzip
import json
import os
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from support import data_files as files
from support.data_files import COLOURED, GREY, LABELS, idx_bytes

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Prumo = Callable[..., subprocess.CompletedProcess[str]]


def write_study(folder: Path, **fixed: object) -> Path:
    file = folder / "study.yaml"
    settings = {"framework": "caffe@9.9.9", "dataset": "mnist", "batch_size": 5, **fixed}
    content = {
        "name": "own",
        "workload": {"kind": "training", "data": {"mnist": "mnist"}},
        "factors": {"network": ["lenet5"]},
        "fixed": settings,
    }
    file.write_text(json.dumps(content))
    return file


def test_check_tells_what_a_folder_holds(prumo_here: Prumo, tmp_path: Path) -> None:
    files.idx_folder(tmp_path / "mnist")
    done = prumo_here("data", "check", "mnist", "--dataset", "mnist")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:3] == [
        "mnist: IDX, 30 images, 10 classes",
        "  shape 1 x 28 x 28: 30 images",
        "  class 0: 3 images",
    ]


def test_check_lists_everything_that_is_wrong(prumo_here: Prumo, tmp_path: Path) -> None:
    files.image_folder(tmp_path / "own")
    (tmp_path / "own/a/bad.jpg").write_bytes(b"none")
    (tmp_path / "own/b/cut.png").write_bytes(files.png(GREY[0])[:60])
    done = prumo_here("data", "check", "own", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert (found["kind"], found["images"]) == ("image folder", 32)
    assert found["classes"] == {"a": 11, "b": 11, "c": 10}
    assert found["shapes"] == {"3 x 32 x 32": 30, "1 x 28 x 28": 1}
    assert [problem.partition(": ")[0] for problem in found["problems"]] == [
        "own/a/bad.jpg",
        "own/b/cut.png",
    ]
    assert "problem: own/a/bad.jpg: is neither" in prumo_here("data", "check", "own").stdout


def test_check_lists_what_cannot_be_read_and_leaves_out_what_is_no_file(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    files.image_folder(tmp_path / "own")
    (tmp_path / "own/a/folder.png").mkdir()
    (tmp_path / "own/b/lost.png").symlink_to("nowhere")
    done = prumo_here("data", "check", "own", "--json")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert found["images"] == 31
    assert found["problems"] == ["own/b/lost.png: cannot be read: No such file or directory"]


def test_check_goes_on_after_the_folder_of_a_class_without_images(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    files.image_folder(tmp_path / "own")
    (tmp_path / "own/d").mkdir()
    (tmp_path / "own/a/bad.jpg").write_bytes(b"none")
    done = prumo_here("data", "check", "own")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "own: image folder, 31 images, 4 classes (1 without images)"
    assert [line.split(": ")[:2] for line in lines if line.startswith("problem")] == [
        ["problem", "own/d"],
        ["problem", "own/a/bad.jpg"],
    ]


def test_check_tells_many_sizes_as_a_range(prumo_here: Prumo, tmp_path: Path) -> None:
    files.image_folder(tmp_path / "own")
    for size in (8, 9, 20):
        (tmp_path / f"own/a/{size}.png").write_bytes(files.png(GREY[0][:size]))
    (tmp_path / "own/b/wide.png").write_bytes(files.png(COLOURED[0].transpose(1, 2, 0)[:20]))
    done = prumo_here("data", "check", "own")
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[1:3] == [
        "  shape 1 x 8..20 x 28: 3 images in 3 sizes",
        "  shape 3 x 20..32 x 32: 31 images in 2 sizes",
    ]


def test_check_counts_classes_as_training_does(prumo_here: Prumo, tmp_path: Path) -> None:
    labels = LABELS.copy()
    labels[0] = 17
    files.idx_folder(tmp_path / "own", labels=idx_bytes(labels))
    done = prumo_here("data", "check", "own")
    assert done.stdout.startswith("own: IDX, 30 images, 18 classes (7 without images)\n")


def test_check_reports_a_broken_file_and_labels_that_do_not_fit(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    files.idx_folder(tmp_path / "mnist", labels=idx_bytes(LABELS + 9))
    done = prumo_here("data", "check", "mnist", "--dataset", "mnist")
    assert done.returncode == 1
    assert "labels must be from 0 to 9; these are from 9 to 18" in done.stdout
    files.idx_folder(tmp_path / "mnist", images=idx_bytes(GREY)[:-5])
    done = prumo_here("data", "check", "mnist")
    assert (done.returncode, "and holds 23515" in done.stdout) == (1, True)


def test_check_of_nothing_is_an_error(prumo_here: Prumo, tmp_path: Path) -> None:
    done = prumo_here("data", "check", tmp_path / "absent")
    assert done.returncode == 2
    assert "there is no such file or folder" in done.stderr


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[str]:
    """A server with files that have the names of MNIST's and other contents."""
    folder = tmp_path / "server"
    folder.mkdir()
    for name, array in (("images-idx3", GREY), ("labels-idx1", LABELS)):
        for part in ("train", "t10k"):
            content = gzip.compress(idx_bytes(array))
            (folder / f"{part}-{name}-ubyte.gz").write_bytes(content)
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_fetch_refuses_files_that_are_not_the_published_ones(
    prumo: Prumo, tmp_path: Path, mirror: str
) -> None:
    done = prumo("data", "fetch", "mnist", env=os.environ | {"PRUMO_DATA_FROM": mirror})
    assert done.returncode == 2
    assert f"{mirror}/train-images-idx3-ubyte.gz: gave" in done.stderr
    assert "train-images-idx3-ubyte.gz could not be fetched" in done.stderr
    assert "not the published f68b3c2dcbeaaa9fbdd348bbdeb94873" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "data/mnist").iterdir())


def test_fetch_of_an_unknown_name_says_what_there_is(prumo_here: Prumo) -> None:
    done = prumo_here("data", "fetch", "cifar")
    assert done.returncode == 2
    assert "did you mean 'cifar10'?" in done.stderr


def test_list_shows_what_is_known_and_prepared_and_remove_removes_it(
    prumo: Prumo, tmp_path: Path
) -> None:
    files.idx_folder(tmp_path / "mnist")
    assert "nothing is prepared yet" in prumo("data", "list").stdout
    assert prumo("run", write_study(tmp_path)).returncode == 0
    listed = json.loads(prumo("data", "list", "--json").stdout)
    assert listed["known"]["cifar10"]["home"].startswith("https://")
    (prepared,) = listed["prepared"]
    assert prepared["shape"] == [1, 28, 28]
    assert prepared["key"] in prumo("data", "list").stdout
    assert f"removed {prepared['key']} (mnist" in prumo("data", "remove", "mnist").stdout
    assert json.loads(prumo("data", "list", "--json").stdout)["prepared"] == []
    assert prumo("data", "remove", "mnist").returncode == 2
    assert prumo("data", "remove", "all").returncode == 0


def test_a_study_prepares_its_data_before_the_first_run(prumo: Prumo, tmp_path: Path) -> None:
    files.idx_folder(tmp_path / "mnist")
    done = prumo("run", write_study(tmp_path))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("preparing mnist at 28x28: 30 images in")
    assert lines[1].startswith("own: 1 run to do")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"images": 31}, "has 30 images, 31 were asked for"),
        (
            {"batch_size": 31},
            "fixed.batch_size: C1: a batch_size of 31 is more than the 30 images of mnist",
        ),
        ({"dataset": "absent"}, "'absent'"),
    ],
)
def test_data_that_cannot_do_is_refused_before_any_run(
    prumo: Prumo, tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    files.idx_folder(tmp_path / "mnist")
    done = prumo("run", write_study(tmp_path, **change))
    assert done.returncode == 2
    assert reason in done.stderr
    assert "study.yaml:1: " in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("results/own/runs/*"))
