"""The same trainings over another number of epochs. Pure."""

from __future__ import annotations

import polars as pl

from prumo.analyse.money.cost import images_metric
from prumo.errors import InputError
from prumo.message import Message


def over_epochs(runs: pl.DataFrame, epochs: int) -> pl.DataFrame:
    """The runs as if each had trained so many epochs, every epoch as long as its mean one.

    Set-up and warm-up stay as they were.
    """
    if not {"train_seconds", "seconds_per_epoch"} <= set(runs.columns):
        raise InputError(
            "these runs do not tell the time of an epoch, so other numbers of epochs cannot be "
            "answered for; leave --epochs out"
        )
    train = epochs * pl.col("seconds_per_epoch")
    measured = pl.col("train_seconds") / pl.col("seconds_per_epoch")
    changed = [train.alias("train_seconds")]
    changed.append((pl.col("wall_seconds") - pl.col("train_seconds") + train).alias("wall_seconds"))
    if (images := images_metric(runs)) is not None:
        changed.append((pl.col(images) / measured * epochs).alias(images))
    return runs.with_columns(changed)


def epochs_remark(epochs: int) -> Message:
    """What such figures take for granted."""
    return Message(
        "Reckoned for {count} epoch, taken to last as long as the mean epoch of its run.",
        {"count": epochs},
        "Reckoned for {count} epochs, each taken to last as long as the mean epoch of its run.",
    )
