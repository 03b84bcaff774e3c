"""`prumo retina convert`: records that are all there or not at all, and say what they hold."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prumo.datasets.formats.tfrecord import read_examples
from prumo.errors import BusyError, DataError, StorageError
from prumo.files import write_whole
from prumo_retina import records as shards_module
from prumo_retina.dataset.data_folder import DataFolder
from prumo_retina.dataset.manifest import write_manifest
from prumo_retina.fundus.preparation import Verdict
from prumo_retina.records import convert, read_card
from prumo_retina.records.split import Shares
from support.heard_progress import Heard
from support.prepared_photographs import SIZE, entry, graded, jpeg, prepared_folder

if TYPE_CHECKING:
    from conftest import Prumo
    from prumo_retina.records import Conversion

UNREADABLE = Path("/proc/self/mem")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return prepared_folder(tmp_path / "prepared", graded(20, 10, 10, 10, 10))


def converted(
    data: Path, *, seed: int = 1, shards: int | None = None, folds: int = 0
) -> Conversion:
    return convert(data, Shares(folds=folds), seed=seed, shards=shards, progress=Heard())


def shards(data: Path) -> list[str]:
    return sorted(path.name for path in (data / "records").glob("*.tfrecord"))


class TestRecords:
    def test_hold_every_photograph_once_where_the_split_says(self, data: Path) -> None:
        converted(data, shards=2)

        with (data / "split.csv").open() as file:
            split = {row["image"]: row["subset"] for row in csv.DictReader(file)}
        found = {
            example.texts["image/filename"][0].decode(): (name.partition("-")[0], example)
            for name in shards(data)
            for _, example in read_examples([data / "records" / name])
        }
        assert {image: subset for image, (subset, _) in found.items()} == split
        assert len(split) == 60
        _, example = found["eye-0030"]
        assert example.texts["image/encoded"] == [jpeg(30)]
        assert example.texts["image/format"] == [b"jpeg"]
        assert example.numbers == {
            "image/class/label": [2],
            "image/height": [SIZE],
            "image/width": [SIZE],
        }

    def test_of_another_number_of_shards_or_folds_take_the_place_of_earlier_ones(
        self, data: Path
    ) -> None:
        converted(data, shards=3)
        converted(data, folds=2)

        assert shards(data) == [
            "fold-1-00000-of-00001.tfrecord",
            "fold-2-00000-of-00001.tfrecord",
        ]
        assert not list(data.glob(".records*"))

    def test_have_every_grade_in_every_shard(self, data: Path) -> None:
        converted(data, shards=2)

        for name in ("train-00000-of-00002.tfrecord", "train-00001-of-00002.tfrecord"):
            files = read_examples([data / "records" / name])
            labels = {example.numbers["image/class/label"][0] for _, example in files}
            assert labels == {0, 1, 2, 3, 4}

    def test_have_no_empty_shard(self, tmp_path: Path) -> None:
        small = prepared_folder(tmp_path / "small", graded(5, 5))

        converted(small, shards=100)

        assert len(shards(small)) == 10
        assert all((small / "records" / name).stat().st_size for name in shards(small))

    def test_grow_in_number_with_their_size(
        self, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(shards_module, "_SHARD_BYTES", 10 * len(jpeg(0)))

        card = converted(data).card

        assert {name: len(subset.shards) for name, subset in card.subsets.items()} == {
            "train": 4,
            "validation": 1,
            "test": 2,
        }


class TestTheCard:
    def test_says_what_is_in_the_records(self, data: Path) -> None:
        made = converted(data, seed=7).card

        card = read_card(data)
        assert card == made
        assert (card.seed, card.test, card.validation, card.folds) == (7, 0.3, 0.2, 0)
        assert card.preparation.size == SIZE
        assert card.subsets["test"].grades == (6, 3, 3, 3, 3)
        assert card.subsets["test"].images == 18
        assert not card.by_patient

    def test_of_folds_has_no_shares(self, data: Path) -> None:
        converted(data, folds=2)

        card = read_card(data)
        assert (card.test, card.validation, card.folds) == (None, None, 2)

    def test_has_the_same_hash_for_the_same_content_in_other_shards(self, data: Path) -> None:
        first = converted(data).card.content

        assert converted(data, shards=4).card.content == first
        assert converted(data, seed=2).card.content != first
        (data / "images" / "eye-0000.jpg").write_bytes(jpeg(200))
        assert converted(data).card.content != first


class TestReading:
    def test_of_what_was_not_converted_says_what_to_do(self, data: Path) -> None:
        with pytest.raises(DataError, match="`prumo retina convert` makes them"):
            read_card(data)

    @pytest.mark.parametrize(
        ("damage", "reason"),
        [
            (lambda data: (data / "split.csv").write_text("image,subset\n"), "was changed since"),
            (lambda data: write_manifest(data, graded(20, 10)), "manifest.csv: was changed since"),
            (lambda data: (data / "manifest.csv").unlink(), "has no manifest.csv"),
            (lambda data: next(data.glob("records/test*")).unlink(), "missing or was changed"),
            (
                lambda data: next(data.glob("records/test*")).write_bytes(b"short"),
                "missing or was changed",
            ),
            (
                lambda data: (data / "records" / "train-00007-of-00009.tfrecord").touch(),
                "does not belong",
            ),
            (
                lambda data: (data / "records" / "records.json").write_text("{}"),
                "is not what Prumo writes",
            ),
        ],
    )
    def test_of_what_was_changed_is_refused(self, data: Path, damage: object, reason: str) -> None:
        converted(data)
        assert callable(damage)
        damage(data)

        with pytest.raises(DataError, match=reason):
            read_card(data)


class TestAStop:
    @pytest.mark.parametrize("moment", ["write_records", "read_examples", "write_json"])
    def test_at_any_moment_leaves_records_and_split_that_belong_together(
        self, data: Path, moment: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = converted(data).card

        def stopped(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(shards_module, moment, stopped)
            with pytest.raises(KeyboardInterrupt):
                converted(data, seed=2)

        assert read_card(data) == before
        assert converted(data, seed=2).card.seed == 2
        assert not list(data.glob(".records*"))

    def test_between_the_old_and_the_new_leaves_no_records(
        self, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        converted(data)

        def stopped(path: Path, content: str) -> None:
            write_whole(path, content)
            if path.name == "split.csv":
                raise KeyboardInterrupt

        monkeypatch.setattr(shards_module, "write_whole", stopped)
        with pytest.raises(KeyboardInterrupt):
            converted(data, seed=2)

        with pytest.raises(DataError, match="has no records"):
            read_card(data)


class TestConverting:
    def test_a_photograph_that_is_gone_is_an_error(self, data: Path) -> None:
        (data / "images" / "eye-0003.jpg").unlink()

        with pytest.raises(DataError, match=r"eye-0003\.jpg: is in the manifest and not there"):
            converted(data)

    @pytest.mark.skipif(not UNREADABLE.exists(), reason="needs a file that even root cannot read")
    def test_a_photograph_that_cannot_be_read_is_an_error_about_that_one(self, data: Path) -> None:
        photograph = data / "images" / "eye-0003.jpg"
        photograph.unlink()
        photograph.symlink_to(UNREADABLE)

        with pytest.raises(DataError, match=r"eye-0003\.jpg: cannot be read"):
            converted(data)

    def test_in_a_folder_that_another_process_works_in_is_refused(self, data: Path) -> None:
        with DataFolder(data).locked(), pytest.raises(BusyError, match="another process"):
            converted(data)

    def test_on_a_disk_that_forgets_is_an_error(
        self, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(shards_module, "read_examples", lambda _: iter(()))

        with pytest.raises(StorageError, match="is the disk sound"):
            converted(data)
        assert not (data / "records").exists()

    def test_where_nothing_can_be_written_is_an_error(self, data: Path) -> None:
        (data / ".records.new").write_text("in the way")

        with pytest.raises(StorageError, match=r"cannot write .*records: File exists"):
            converted(data)


class TestTheCommand:
    def test_shows_grades_before_and_after_and_who_was_left_out(
        self, tmp_path: Path, prumo_here: Prumo
    ) -> None:
        blurred = entry(100, 1, verdict=Verdict.BLURRED)
        label_alone = entry(101, 1, verdict=Verdict.MISSING, output="")
        prepared_folder(tmp_path / "prepared", [*graded(20, 10, 0, 10, 10), blurred, label_alone])

        done = prumo_here("retina", "convert", "prepared")

        assert done.returncode == 0
        heads, none, mild, *_, total, left_out, detail, alone, last = done.stdout.splitlines()
        assert heads.split() == ["grade", "before", "after", "train", "validation", "test"]
        assert none.split()[-6:] == ["11", "38%", "3", "50%", "6", "40%"]
        assert mild.split()[-10:-6] == ["11", "22%", "10", "20%"]
        assert total.split() == ["all", "51", "50", "29", "6", "15"]
        assert left_out == "left out: 1 ungradable, 1 no photograph"
        assert detail == "  eye-0100.tif: ungradable (blurred)"
        assert alone == "  eye-0101.tif: no photograph"
        assert last == "split by photograph: no patients are known; 3 files written and read back"
        assert "warning: no photograph has grade 2" in done.stderr

    def test_prints_the_same_as_json(self, data: Path, prumo_here: Prumo) -> None:
        told = json.loads(prumo_here("retina", "convert", data, "--folds", 2, "--json").stdout)

        assert told["grades"]["before"] == [20, 10, 10, 10, 10]
        assert told["grades"]["fold-1"] == [10, 5, 5, 5, 5]
        assert told["records"] == json.loads(read_card(data).model_dump_json())
        assert told["left_out"] == told["warnings"] == []

    @pytest.mark.parametrize(
        ("words", "reason"),
        [
            (["nowhere"], "give a folder that `prumo retina prepare` made"),
            (["prepared", "--test", "1"], "the test's share is from 0 to less than 1, not 1"),
            (["prepared", "--shards", "0"], "0 is not in the range"),
            (
                ["prepared", "--folds", "5", "--test", "0.2"],
                "--folds and --test exclude each other",
            ),
            (["prepared", "--folds", "5", "--validation", "0.2"], "--folds and --validation"),
            (["prepared", "--folds", "61"], "61 subsets need as many photographs"),
        ],
    )
    def test_says_what_is_wrong(
        self, data: Path, prumo_here: Prumo, words: list[str], reason: str
    ) -> None:
        assert data.name == "prepared"

        done = prumo_here("retina", "convert", *words)

        assert done.returncode == 2
        assert reason in done.stderr
        assert "Traceback" not in done.stderr
