"""One pass over CIFAR-10 at 64x64 with a framework's own loader, as its users write it.

Run by the environment of the framework:

    python framework_loaders.py pytorch|tensorflow FOLDER THREADS

Prints the seconds of the pass; importing the framework is not counted. PyTorch's loader makes one
pass in its own process and one with a process for each thread, and the faster counts.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

RECORD_BYTES = 1 + 3 * 32 * 32
SIZE = 64
BATCH_SIZE = 128


def pytorch_pass(folder: Path, threads: int) -> float:
    import numpy as np  # noqa: PLC0415 (each framework is in another environment)
    import torch  # noqa: PLC0415 (as above)
    from torch.utils.data import DataLoader  # noqa: PLC0415 (as above)

    torch.set_num_threads(threads)

    class Cifar:
        def __init__(self) -> None:
            parts = [np.fromfile(file, np.uint8) for file in sorted(folder.glob("data_batch_*"))]
            records = np.concatenate(parts).reshape(-1, RECORD_BYTES)
            self.labels = torch.from_numpy(records[:, 0].astype(np.int64))
            self.images = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).copy())

        def __len__(self) -> int:
            return len(self.labels)

        def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
            image = torch.nn.functional.interpolate(
                self.images[index : index + 1], size=(SIZE, SIZE), mode="bilinear"
            )
            return image[0], self.labels[index]

    def seconds(processes: int) -> float:
        began = time.perf_counter()
        for images, _ in DataLoader(Cifar(), batch_size=BATCH_SIZE, num_workers=processes):
            assert images.shape[1:] == (3, SIZE, SIZE)
        return time.perf_counter() - began

    return min(seconds(0), seconds(threads))


def tensorflow_pass(folder: Path, threads: int) -> float:
    import tensorflow as tf  # noqa: PLC0415 (as above)

    tf.config.threading.set_inter_op_parallelism_threads(threads)

    def decoded(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        values = tf.io.decode_raw(record, tf.uint8)
        image = tf.transpose(tf.reshape(values[1:], (3, 32, 32)), (1, 2, 0))
        return tf.cast(tf.image.resize(image, (SIZE, SIZE)), tf.uint8), values[0]

    began = time.perf_counter()
    files = [str(file) for file in sorted(folder.glob("data_batch_*"))]
    records = tf.data.FixedLengthRecordDataset(files, RECORD_BYTES)
    for images, _ in records.map(decoded, num_parallel_calls=tf.data.AUTOTUNE).batch(BATCH_SIZE):
        assert images.shape[1:] == (SIZE, SIZE, 3)
    return time.perf_counter() - began


if __name__ == "__main__":
    passes = {"pytorch": pytorch_pass, "tensorflow": tensorflow_pass}
    print(passes[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3])))
