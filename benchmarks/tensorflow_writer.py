"""TensorFlow's own TFRecord writer, as its users write it, a pass for each line of input.

Run by the environment of TensorFlow:

    python tensorflow_writer.py PAYLOADS.npy OUT

Prints the seconds of each pass; importing TensorFlow and reading the payloads are not counted.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import tensorflow as tf


def main(payloads: str, out: str) -> None:
    images = [row.tobytes() for row in np.load(payloads)]
    print("ready", flush=True)
    for _ in sys.stdin:
        print(seconds(images, out), flush=True)


def seconds(images: list[bytes], out: str) -> float:
    began = time.perf_counter()
    with tf.io.TFRecordWriter(out) as writer:
        for number, image in enumerate(images):
            features = {
                "image/encoded": of_bytes(image),
                "image/format": of_bytes(b"jpeg"),
                "image/filename": of_bytes(f"eye-{number:05d}".encode()),
                "image/class/label": of_number(number % 5),
                "image/height": of_number(299),
                "image/width": of_number(299),
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())
    return time.perf_counter() - began


def of_bytes(value: bytes) -> tf.train.Feature:
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def of_number(value: int) -> tf.train.Feature:
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


if __name__ == "__main__":
    main(*sys.argv[1:])
