"""What a training leaves in the model folder, each file whole or absent."""

from __future__ import annotations

import csv
import io
import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import keras

    from prumo_worker.retina.fitting import Fitted
    from prumo_worker.retina.stages import JudgedPhotographs

NETWORK_FILE = "model.keras"
HISTORY_FILE = "history.csv"
FACTS_FILE = "training.json"
CHECKPOINTS = "checkpoints"


def write_network(folder: Path, network: keras.Model) -> None:
    """The whole network as Keras saves it."""
    beside = folder / f".{os.getpid()}.{NETWORK_FILE}"
    network.save(beside)
    beside.replace(folder / NETWORK_FILE)


def write_history(folder: Path, stages: Mapping[str, Fitted]) -> None:
    """One row for each epoch of each stage."""
    rows = [
        {"stage": name, "epoch": number, **epoch}
        for name, fitted in stages.items()
        for number, epoch in enumerate(fitted.course.epochs, start=1)
    ]
    _write_table(
        folder / HISTORY_FILE, list(dict.fromkeys(key for row in rows for key in row)), rows
    )


def write_scores(folder: Path, judged: JudgedPhotographs) -> None:
    """`scores-SUBSET.csv`: image, grade, the fold if there are folds, and the scores."""
    outputs = [f"score{number}" for number in range(judged.scores.shape[1])]
    fold_of = dict(zip(judged.names, judged.folds))
    rows = [
        {
            "image": name,
            "grade": int(grade),
            **({"fold": fold_of[name]} if fold_of else {}),
            **{output: repr(float(value)) for output, value in zip(outputs, scores)},
        }
        for name, grade, scores in zip(judged.names, judged.grades, judged.scores)
    ]
    columns = ["image", "grade", *(["fold"] if fold_of else []), *outputs]
    _write_table(folder / f"scores-{judged.subset}.csv", columns, rows)


def write_facts(folder: Path, facts: Mapping[str, Any]) -> None:
    """What the controller needs to describe the model."""
    _write(folder / FACTS_FILE, json.dumps(facts, indent=1) + "\n")


def _write_table(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    _write(path, text.getvalue())


def _write(path: Path, text: str) -> None:
    beside = path.with_name(f".{os.getpid()}.{path.name}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
