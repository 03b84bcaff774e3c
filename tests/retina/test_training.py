"""`prumo retina train` from photographs to a model folder, killed and called again on the way."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Literal, get_args, get_origin

import psutil
import pytest
from click.testing import CliRunner

from prumo.errors import DataError, InputError, UnavailableError
from prumo.progress import Silent
from prumo.run.worker import WorkerError
from prumo_retina.commands.train import command
from prumo_retina.dataset.prepare import Request, prepare
from prumo_retina.fundus.preparation import Preparation
from prumo_retina.model import open_model, read_seen
from prumo_retina.records import convert
from prumo_retina.records.split import Shares
from prumo_retina.training import TrainedModel, TrainingNews, TrainingOrder, train
from prumo_retina.workload import RetinaParameters
from prumo_worker.retina.backbones import NAMES as NETWORKS
from support.fundus_factory import write_photographs
from support.prepared_photographs import graded, prepared_folder

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Prumo

SIZE = 32
EPOCHS = 4
OPTIONS = {"epochs": EPOCHS, "batch_size": 8, "task": "grade", "head": "8", "trained_layers": 4}


class Listening:
    """Remembers what a training tells."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.details: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def show(self, text: str, detail: str = "") -> None:
        del text
        self.details.append(detail)


class Killing(Listening):
    """Ends the worker without warning after the second epoch."""

    def show(self, text: str, detail: str = "") -> None:
        super().show(text, detail)
        if detail.startswith("epoch 2"):
            for process in psutil.Process().children(recursive=True):
                if "prumo_worker" in process.cmdline():
                    process.kill()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drawn photographs, prepared and not yet converted."""
    folder = tmp_path_factory.mktemp("photographs")
    labels = write_photographs(folder / "in", count_per_grade=5)
    request = Request(folder / "in", folder / "data", Preparation(size=SIZE), labels)
    prepare(request)
    return request.folder


@pytest.fixture(scope="module")
def killed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Listening]:
    """The model folder of a training whose worker was killed."""
    out = tmp_path_factory.mktemp("models") / "model"
    progress = Killing()
    with pytest.raises(WorkerError, match=r"SIGKILL(.|\n)*the same command goes on"):
        train(_order(data, out), progress)
    return out, progress


@pytest.fixture(scope="module")
def resumed(data: Path, killed: tuple[Path, Listening]) -> tuple[TrainedModel, Listening]:
    """What the same call made of it."""
    progress = Listening()
    return train(_order(data, killed[0]), progress), progress


def _order(data: Path, out: Path, **options: object) -> TrainingOrder:
    return TrainingOrder(data, out, "mobilenet", "none", {**OPTIONS, **options})


@pytest.mark.frameworks
def test_a_folder_without_records_is_converted_first_and_told(
    killed: tuple[Path, Listening],
) -> None:
    _, progress = killed
    assert any("has no records yet" in line for line in progress.said)
    assert any(line.startswith("training from scratch") for line in progress.said)
    assert any("photographs teach a network little" in line for line in progress.said)
    assert any("epoch 2 of 4, loss" in detail for detail in progress.details)


@pytest.mark.frameworks
def test_a_killed_training_goes_on_and_ends_with_the_same_epochs(
    resumed: tuple[TrainedModel, Listening],
) -> None:
    model, progress = resumed
    after = model.facts["stages"]["train"]["resumed_after_epoch"]
    assert 1 <= after < EPOCHS
    assert f"train: going on after epoch {after}" in progress.said
    with (model.folder / "history.csv").open() as file:
        history = list(csv.DictReader(file))
    assert [row["epoch"] for row in history] == ["1", "2", "3", "4"]
    assert model.facts["stages"]["train"]["epochs"] == EPOCHS
    assert any("fewer than 19 cannot promise" in warning for warning in model.warnings)
    assert model.facts["metrics"]["train_seconds"] == pytest.approx(
        sum(float(row["seconds"]) for row in history)
    )


@pytest.mark.frameworks
def test_the_model_folder_is_whole_and_says_where_it_came_from(
    resumed: tuple[TrainedModel, Listening], data: Path
) -> None:
    model, _ = resumed
    opened = open_model(model.folder)
    assert opened.description == model.description
    assert (opened.description.task, opened.description.weights) == ("grade", "scratch")
    assert opened.description.preparation.size == SIZE
    assert opened.description.normalization.scale == (127.5, 127.5, 127.5)
    assert {point.chosen_on for point in opened.description.points} == {"validation"}
    assert opened.description.temperature > 0
    assert opened.description.training["parameters"]["head"] == "8"
    assert sum(opened.description.data["subsets"]["train"]) == 15
    with (data / "split.csv").open() as file:
        kept = {row["image"] for row in csv.DictReader(file) if row["subset"] != "test"}
    assert {seen.image for seen in read_seen(model.folder)} == kept
    assert not (model.folder / "checkpoints").exists()


@pytest.mark.frameworks
def test_nothing_in_the_model_folder_names_a_place_of_this_machine(
    resumed: tuple[TrainedModel, Listening],
) -> None:
    model, _ = resumed
    for path in model.folder.rglob("*"):
        assert str(model.folder.parent).encode() not in path.read_bytes(), path.name


@pytest.mark.frameworks
def test_a_finished_model_is_not_overwritten(
    resumed: tuple[TrainedModel, Listening], data: Path
) -> None:
    with pytest.raises(InputError, match="holds a finished model: give another folder"):
        train(_order(data, resumed[0].folder), Silent())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"frozen": True}, "a frozen mobilenet from scratch sees nothing"),
        ({"head": "many"}, "--head: .*should be `linear` or the widths of hidden layers"),
        ({"trained_layers": -1}, "--trained-layers: should be 0 or more"),
        ({"strategy": "both"}, "--strategy: "),
    ],
)
def test_wrong_settings_are_told_before_anything_starts(
    tmp_path: Path, options: dict[str, object], reason: str
) -> None:
    data = prepared_folder(tmp_path / "data", graded(6, 6, 6, 6, 6))
    with pytest.raises(InputError, match=reason):
        train(_order(data, tmp_path / "model", **options), Silent())
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("network", "options", "reason"),
    [
        ("efficientnet_lite", {}, "--network: .*did you mean 'efficientnet_lite0'"),
        ("efficientnet_lite0", {"task": "referal"}, "--task: .*did you mean 'referral'"),
        ("efficientnet_lite0", {"optimizer": "adm"}, "--optimizer: .*did you mean 'adam'"),
        ("efficientnet_lite0", {"device": "cdua"}, "--device: .*did you mean 'cuda'"),
    ],
)
def test_a_misspelling_is_told_before_photographs_are_converted_or_weights_fetched(
    tmp_path: Path, network: str, options: dict[str, object], reason: str
) -> None:
    data = prepared_folder(tmp_path / "data", graded(6, 6, 6, 6, 6))
    progress = Listening()
    with pytest.raises(InputError, match=reason):
        train(TrainingOrder(data, tmp_path / "model", network, "auto", options), progress)
    assert progress.said == []
    assert not (data / "records").exists()


def test_a_folder_with_other_files_is_told_before_photographs_are_converted(
    tmp_path: Path,
) -> None:
    data = prepared_folder(tmp_path / "data", graded(6, 6, 6, 6, 6))
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").touch()
    with pytest.raises(InputError, match="holds other files"):
        train(_order(data, tmp_path / "thesis"), Silent())
    assert not (data / "records").exists()


def test_absent_devices_are_told_before_anything_starts(tmp_path: Path) -> None:
    data = prepared_folder(tmp_path / "data", graded(6, 6, 6, 6, 6))
    with pytest.raises(UnavailableError, match="no TPU on this machine"):
        train(_order(data, tmp_path / "model", device="tpu"), Silent())


@pytest.mark.parametrize("shares", [Shares(), Shares(folds=2)])
def test_photographs_without_a_referable_one_are_told_before_anything_starts(
    tmp_path: Path, shares: Shares
) -> None:
    data = prepared_folder(tmp_path / "data", graded(9, 9, 0, 0, 0))
    convert(data, shares, seed=1, shards=1, progress=Silent())
    with pytest.raises(DataError, match=r"choosing thresholds on .* none of the .* is referable"):
        train(_order(data, tmp_path / "model"), Silent())
    assert not (tmp_path / "model").exists()


def test_a_folder_that_was_never_prepared_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="give a folder that `prumo retina prepare` made"):
        train(_order(tmp_path, tmp_path / "model"), Silent())


def test_the_command_names_the_nearest_network(prumo_here: Prumo, tmp_path: Path) -> None:
    prepared_folder(tmp_path / "data", graded(6, 6, 6, 6, 6))
    done = prumo_here("retina", "train", "data", "--out", "model", "--network", "mobilnet")
    assert done.returncode == 2
    assert "did you mean 'mobilenet'?" in done.stderr


def test_help_names_every_value_that_an_option_takes() -> None:
    told = CliRunner().invoke(command, ["--help"]).output
    for name, field in RetinaParameters.model_fields.items():
        if get_origin(field.annotation) is Literal:
            values = "|".join(get_args(field.annotation))
            assert f"--{name} {values}" in told
    assert [name for name in NETWORKS if name not in told] == []


def test_progress_tells_kept_features_figures_and_the_time_left() -> None:
    progress = Listening()
    news = TrainingNews(epochs=10, folds=0, progress=progress)
    news.hear({"event": "features", "computed": 8, "to_compute": 16})
    news.hear({"event": "features", "computed": 0, "to_compute": 0, "seconds": 0.0})
    news.hear(
        {
            "event": "epoch",
            "stage": "train",
            "epoch": 4,
            "epochs": 10,
            "seconds": 2.0,
            "loss": 0.5,
            "validation_loss": 0.75,
            "validation_auc": 0.875,
        }
    )
    assert progress.said == ["all features are kept from an earlier training"]
    assert progress.details[-2:] == [
        "8 of 16",
        "epoch 4 of 10, loss 0.5000, held out 0.7500, AUC 0.875, 18 s left",
    ]


def test_computed_features_are_told_by_photographs_and_views() -> None:
    progress = Listening()
    news = TrainingNews(epochs=1, folds=0, progress=progress)
    done = {"event": "features", "computed": 592, "to_compute": 592, "seconds": 82.0}
    news.hear({**done, "photographs": 296, "views": ["as they are", "mirrored"]})
    (said,) = progress.said
    assert said.startswith("computed features of 296 photographs, as they are and mirrored, in 82")


@pytest.mark.parametrize(("epochs", "folds", "lines"), [(200, 0, 10), (50, 5, 10), (3, 0, 3)])
def test_about_ten_epochs_of_a_training_are_told_for_good(
    epochs: int, folds: int, lines: int
) -> None:
    said = _said_of_epochs(epochs, folds, seconds=6.0)
    assert len(said) == lines
    assert said[-1].startswith(f"stage-{folds}: epoch {epochs} of {epochs}, loss 0.5000")


def test_a_training_of_a_moment_tells_no_epochs_for_good() -> None:
    assert _said_of_epochs(200, 0, seconds=0.003) == []


def _said_of_epochs(epochs: int, folds: int, seconds: float) -> list[str]:
    progress = Listening()
    news = TrainingNews(epochs, folds, progress)
    for stage in range(folds + 1):
        for epoch in range(1, epochs + 1):
            facts = {"stage": f"stage-{stage}", "epoch": epoch, "epochs": epochs}
            news.hear({"event": "epoch", **facts, "seconds": seconds, "loss": 0.5})
    return progress.said


def test_progress_tells_a_loss_that_is_not_a_number() -> None:
    progress = Listening()
    news = TrainingNews(epochs=2, folds=0, progress=progress)
    epoch = {"event": "epoch", "stage": "train", "epoch": 1, "epochs": 2, "seconds": 1.0}
    news.hear({**epoch, "loss": None, "validation_loss": None})
    assert "loss not a number, held out not a number" in progress.details[-1]
