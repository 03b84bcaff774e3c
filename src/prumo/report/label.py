"""What scenarios and metrics are called in texts, tables and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.message import Message, Series
from prumo.quantity import MISSING, Estimate
from prumo.statistics.metric import COST, GPU
from prumo.statistics.variation import Source
from prumo.study import level_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.statistics.factorial import Term
    from prumo.statistics.variation import VariationRow

    Row = Mapping[str, Any]

SEPARATOR = " · "
TERM_SIGN = " \N{MULTIPLICATION SIGN} "

TITLES = {
    "train_seconds": Message("Training time"),
    "images_per_second": Message("Throughput"),
    "seconds_per_epoch": Message("Time per epoch"),
    "step_seconds_median": Message("Median time per step"),
    "first_step_seconds": Message("Time of the first step"),
    "data_seconds": Message("Time waiting for data"),
    "compute_seconds": Message("Time computing"),
    "latency_seconds": Message("Mean latency of an answer"),
    "cold_latency_seconds": Message("Mean latency of a cold start"),
    "warm_latency_seconds": Message("Mean latency of a warm answer"),
    "latency_p50_seconds": Message("Median latency"),
    "latency_p90_seconds": Message("Latency, 90th percentile"),
    "latency_p95_seconds": Message("Latency, 95th percentile"),
    "latency_p99_seconds": Message("Latency, 99th percentile"),
    "latency_max_seconds": Message("Longest latency"),
    "answers_per_second": Message("Answers per second"),
    "highest_rate": Message("Highest rate that keeps the goal"),
    "queue_seconds": Message("Time in the server's queue"),
    "decode_seconds": Message("Time decoding"),
    "preprocess_seconds": Message("Time preprocessing"),
    "predict_seconds": Message("Time predicting"),
    "model_latency_seconds": Message("SageMaker's ModelLatency, mean"),
    "overhead_latency_seconds": Message("SageMaker's OverheadLatency, mean"),
    "model_setup_seconds": Message("SageMaker's ModelSetupTime, mean"),
    "wall_seconds": Message("Wall time of the process"),
    "loss": Message("Loss of the last epoch"),
    "accuracy": Message("Accuracy of the last epoch"),
    "validation_loss": Message("Validation loss"),
    "validation_accuracy": Message("Validation accuracy"),
    "validation_auc": Message("Validation area under the curve"),
    "validation_sensitivity": Message("Validation sensitivity"),
    "validation_specificity": Message("Validation specificity"),
    "validation_kappa": Message("Validation quadratic kappa"),
    "epochs": Message("Epochs trained"),
    "best_epoch": Message("Best epoch"),
    "epochs_to_loss": Message("Epochs until the loss"),
    "steps_to_loss": Message("Steps until the loss"),
    "seconds_to_loss": Message("Time until the loss"),
    "setup_seconds": Message("Time to set up"),
    "feature_seconds": Message("Time to compute features"),
    "warmup_seconds": Message("Time to warm up"),
    "images": Message("Images trained on"),
    "billed_seconds": Message("Time answering, all requests together"),
    "requests": Message("Requests sent"),
    "failed_requests": Message("Requests without an answer"),
    "inferences": Message("Requests answered"),
    "data_bytes": Message("Data in and out"),
    "model_bytes": Message("Size of the model"),
    "cold_answers": Message("Cold starts"),
    "warm_answers": Message("Warm answers"),
    "cloudwatch_missing": Message("Answers without a point in CloudWatch"),
    "predicted_cold_answers": Message("Cold starts that the simulation predicts"),
    "pings": Message("Pings that keep it warm"),
    "cold_pings": Message("Pings that met a cold start"),
    "offered_per_second": Message("Offered rate"),
    "lateness_share": Message("Lateness of the generator, share of the latency"),
    "max_rss_bytes": Message("Peak memory of the largest process"),
    "user_seconds": Message("Processor time in its own code"),
    "system_seconds": Message("Processor time in the kernel"),
    "tree_rss_bytes_max": Message("Peak memory of all processes, sampled"),
    "cpu_percent_mean": Message("Machine CPU, mean"),
    "tree_cpu_percent_mean": Message("CPU of the run (100 % = one core), mean"),
    "memory_percent_mean": Message("Machine memory, mean"),
    "swap_bytes_max": Message("Peak swap of the machine"),
    "energy_joules": Message("Processor energy"),
    "energy_kwh": Message("Energy as counted"),
    "energy_estimate_kwh": Message("Energy, estimated from processor time"),
    "co2_grams": Message("CO2 of the counted energy"),
    "co2_estimate_grams": Message("CO2 of the estimated energy"),
    "steal_percent_mean": Message("CPU stolen by the host, mean"),
    "pressure_cpu_percent_mean": Message("CPU pressure, mean"),
    "pressure_memory_percent_mean": Message("Memory pressure, mean"),
    "pressure_io_percent_mean": Message("I/O pressure, mean"),
}
GPU_TITLES = {
    "percent": "GPU {number} use, mean",
    "memory_percent": "GPU {number} memory, mean",
    "power_watts": "GPU {number} power, mean",
}
COST_TITLES = {
    None: "Cost of a run",
    "_per_epoch": "Cost per epoch",
    "_per_1000_images": "Cost per 1,000 images",
    "_per_inference": "Cost per inference",
    "_to_loss": "Cost until the loss",
}


def metric_title(name: str) -> Message | str:
    """What a reader calls a metric; a user's own is called by its name.

    >>> str(metric_title("train_seconds")), metric_title("docs_per_second")
    ('Training time', 'docs_per_second')
    """
    if name in TITLES:
        return TITLES[name]
    if gpu := GPU.fullmatch(name):
        return Message(GPU_TITLES[gpu[2]], {"number": gpu[1]})
    if cost := COST.fullmatch(name):
        return Message(COST_TITLES[cost[1]])
    return name


def levels_label(row: Row, factors: Sequence[str]) -> str:
    """The levels of a scenario in the order of the factors.

    >>> levels_label({"framework": "pytorch", "batch_size": 64}, ["framework", "batch_size"])
    'pytorch · 64'
    """
    levels = (row[factor] for factor in factors)
    return SEPARATOR.join(MISSING if level is None else level_text(level) for level in levels)


def scenario_label(row: Row, factors: Sequence[str]) -> str:
    """A scenario's name with its levels, such as `C3 (pytorch · 64)`."""
    levels = levels_label(row, factors)
    return f"{row['scenario']} ({levels})" if levels else str(row["scenario"])


def row_label(row: Row, factors: Sequence[str]) -> str:
    """A scenario's name with its levels beside a row of a figure, such as `C3: pytorch · 64`."""
    levels = levels_label(row, factors)
    return f"{row['scenario']}: {levels}" if levels else str(row["scenario"])


def estimate_in(row: Row) -> Estimate:
    """The mean in a row of a summary with its interval, where it has one."""
    ends = row["mean"], row["ci_low"], row["ci_high"]
    if row["metric"].startswith("cost_per_inference_"):
        mean, low, high = (None if end is None else 1000 * end for end in ends)
        return Estimate(mean or 0.0, low, high, f"{row['unit']}/1000")
    return Estimate(*ends, row["unit"])


def source_label(row: VariationRow) -> Message | Series:
    """What a reader calls a source: its factors, or what is left."""
    if row.source is Source.ERROR:
        return Message("error")
    if row.source is Source.OTHER:
        return Message("other interactions")
    return term_label(row.term)


def term_label(term: Term) -> Series:
    """A term as it is written: its factors with a multiplication sign between them."""
    return Series(term, TERM_SIGN)
