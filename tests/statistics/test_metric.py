from __future__ import annotations

from prumo.report.label import TITLES, metric_title
from prumo.statistics.metric import CATALOGUE, Better, headlines, in_reading_order, metric_of


def test_every_metric_of_the_catalogue_has_a_title() -> None:
    assert [metric.name for metric in CATALOGUE] == list(TITLES)


def test_a_known_metric_has_a_title_a_unit_and_a_better_direction() -> None:
    metric = metric_of("images_per_second")

    assert (metric.unit, metric.better) == ("images/s", Better.HIGHER)
    assert str(metric_title(metric.name)) == "Throughput"


def test_loss_and_accuracy_are_said_to_be_of_the_last_epoch() -> None:
    assert str(metric_title("loss")) == "Loss of the last epoch"
    assert str(metric_title("accuracy")) == "Accuracy of the last epoch"


def test_a_users_metric_is_called_by_its_name_and_no_direction_is_assumed() -> None:
    metric = metric_of("bleu")

    assert (metric_title("bleu"), metric.unit, metric.better) == ("bleu", "", Better.UNKNOWN)


def test_a_users_metric_may_carry_its_unit_in_its_name() -> None:
    assert metric_of("query_seconds").unit == "s"


def test_every_gpu_has_its_own_title() -> None:
    assert str(metric_title("gpu1_power_watts_mean")) == "GPU 1 power, mean"


def test_times_come_first_and_a_users_metric_before_usage() -> None:
    names = ["cpu_percent_mean", "bleu", "wall_seconds", "train_seconds"]

    assert in_reading_order(names) == ["train_seconds", "wall_seconds", "bleu", "cpu_percent_mean"]


def test_a_command_is_reported_by_its_wall_time_before_what_it_says_itself() -> None:
    assert headlines(["wall_seconds"]) == ["wall_seconds"]
    assert headlines(["total", "wall_seconds", "cpu_percent_mean"])[:2] == ["wall_seconds", "total"]


def test_the_memory_shown_is_the_kernels_own_peak_and_not_the_sampled_one() -> None:
    names = ["wall_seconds", "tree_rss_bytes_max", "max_rss_bytes"]

    assert headlines(names) == ["wall_seconds", "max_rss_bytes"]
    assert str(metric_title("max_rss_bytes")) == "Peak memory of the largest process"


def test_few_metrics_are_shown_unasked_and_the_main_one_is_first() -> None:
    names = [f"own{number}" for number in range(20)] + ["train_seconds"]

    assert headlines(names)[0] == "train_seconds"
    assert len(headlines(names)) == 6
