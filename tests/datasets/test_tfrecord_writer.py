"""TFRecord files written here are read by TensorFlow, and the other way round."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prumo.datasets.formats.tfrecord import (
    Example,
    read_example,
    read_examples,
    shard_name,
    write_records,
    written_example,
)

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import FrameworkPython

NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5)
TEXTS = st.lists(st.binary(max_size=300), min_size=1, max_size=3)
NAMES = st.text(max_size=20)
EXAMPLES = [
    Example(
        texts={"image/encoded": [bytes(range(256)) * 800], "image/format": [b"jpeg"]},
        numbers={"image/class/label": [label], "several": [0, -1, 2**63 - 1, -(2**63), 300]},
    )
    for label in (0, 4, 127, 128)
]
IN_TENSORFLOW = """
import json, sys
import tensorflow as tf

ours, theirs = sys.argv[1:]
told = []
with tf.io.TFRecordWriter(theirs) as writer:
    for record in tf.data.TFRecordDataset(ours):
        tf.io.parse_single_example(record, {"image/encoded": tf.io.FixedLenFeature([], tf.string)})
        example = tf.train.Example.FromString(record.numpy())
        feature = example.features.feature
        told.append({
            "label": list(feature["image/class/label"].int64_list.value),
            "several": list(feature["several"].int64_list.value),
            "bytes": len(feature["image/encoded"].bytes_list.value[0]),
            "format": feature["image/format"].bytes_list.value[0].decode(),
            "features": len(feature),
        })
        writer.write(example.SerializeToString())
print(json.dumps(told))
"""


@settings(deadline=None)
@given(
    texts=st.dictionaries(NAMES.map("t".__add__), TEXTS, max_size=4),
    numbers=st.dictionaries(NAMES.map("n".__add__), NUMBERS.filter(bool), max_size=4),
)
def test_an_example_is_read_as_it_was_written(
    texts: dict[str, list[bytes]], numbers: dict[str, list[int]]
) -> None:
    example = Example(texts, numbers)

    assert read_example(written_example(example)) == example


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / shard_name("train", 0, 1)

    write_records(path, map(written_example, EXAMPLES))

    assert [example for _, example in read_examples([path])] == EXAMPLES


def test_no_records_are_an_empty_file(tmp_path: Path) -> None:
    write_records(tmp_path / "none.tfrecord", [])

    assert (tmp_path / "none.tfrecord").read_bytes() == b""


def test_a_record_may_be_empty(tmp_path: Path) -> None:
    write_records(tmp_path / "empty.tfrecord", [b"", b""])

    assert [found for _, found in read_examples([tmp_path / "empty.tfrecord"])] == [Example()] * 2


@pytest.mark.frameworks
def test_tensorflow_reads_what_is_written_here_and_writes_what_is_read_here(
    tmp_path: Path, framework_python: FrameworkPython
) -> None:
    ours, theirs = tmp_path / "ours.tfrecord", tmp_path / "theirs.tfrecord"
    write_records(ours, map(written_example, EXAMPLES))

    told = subprocess.run(
        [framework_python("tensorflow"), "-c", IN_TENSORFLOW, ours, theirs],
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(told.stdout) == [
        {
            "label": example.numbers["image/class/label"],
            "several": example.numbers["several"],
            "bytes": len(example.texts["image/encoded"][0]),
            "format": "jpeg",
            "features": 4,
        }
        for example in EXAMPLES
    ]
    assert [example for _, example in read_examples([theirs])] == EXAMPLES
