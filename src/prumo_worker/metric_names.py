"""The figures that every training run gives, by name."""

from __future__ import annotations

TRAINING_METRICS = (
    "setup_seconds",
    "warmup_seconds",
    "first_step_seconds",
    "train_seconds",
    "seconds_per_epoch",
    "step_seconds_median",
    "data_seconds",
    "compute_seconds",
    "images",
    "images_per_second",
    "loss",
    "accuracy",
)

RETINA_METRICS = (
    "setup_seconds",
    "feature_seconds",
    "warmup_seconds",
    "train_seconds",
    "seconds_per_epoch",
    "step_seconds_median",
    "data_seconds",
    "compute_seconds",
    "images",
    "images_per_second",
    "loss",
    "accuracy",
    "epochs",
    "best_epoch",
    "validation_loss",
    "validation_accuracy",
)
"""Those of a training on fundus photographs; more where both classes were validated."""
