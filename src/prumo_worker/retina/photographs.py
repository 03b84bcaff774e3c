"""Prepared photographs for a training: from TFRecord shards, or generated from a seed."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import tensorflow as tf

from prumo_worker.data.dataset import generated_images
from prumo_worker.retina.recipe import GRADE_COUNT, REFERABLE_FROM, RetinaRecipe
from prumo_worker.task import DataError

# Encoded photographs held at once to choose the next from: all of a small set, some of a large one.
_SHUFFLED = 4096
_FEATURES = {
    "image/encoded": tf.io.FixedLenFeature([], tf.string),
    "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    "image/filename": tf.io.FixedLenFeature([], tf.string),
    "image/height": tf.io.FixedLenFeature([], tf.int64),
    "image/width": tf.io.FixedLenFeature([], tf.int64),
}


@dataclass(frozen=True)
class Photographs(ABC):
    """A set of photographs with their grades, always told in the same order."""

    names: tuple[str, ...]
    """What the tables call them."""
    grades: np.ndarray
    """From 0 to 4, int64."""
    digests: tuple[str, ...]
    """SHA-256 of each as it is stored: two with the same have the same pixels."""

    @abstractmethod
    def pictures(self, seed: int | None = None) -> tf.data.Dataset:
        """Pairs of a picture (uint8; rows, columns, RGB) and its grade.

        In the order of `names`, or in one that depends on the seed alone.
        """


@dataclass(frozen=True)
class RecordedPhotographs(Photographs):
    """Those in shards; their pixels are read again in every epoch."""

    shards: tuple[str, ...]
    image_size: int

    def pictures(self, seed: int | None = None) -> tf.data.Dataset:
        """With a seed the shards are shuffled too, as the buffer may not hold them all."""
        if seed is None:
            return self._decoded(tf.data.TFRecordDataset(list(self.shards)))
        order = np.random.default_rng(seed).permutation(len(self.shards))
        records = tf.data.TFRecordDataset([self.shards[place] for place in order])
        return self._decoded(records.shuffle(min(len(self.names), _SHUFFLED), seed=seed))

    def _decoded(self, records: tf.data.Dataset) -> tf.data.Dataset:
        size = self.image_size

        def picture(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            example = tf.io.parse_single_example(record, _FEATURES)
            # Other ways of decoding give other pixels than those a prediction will see.
            pixels = tf.io.decode_jpeg(
                example["image/encoded"], channels=3, dct_method="INTEGER_ACCURATE"
            )
            return tf.ensure_shape(pixels, (size, size, 3)), example["image/class/label"]

        return records.map(picture, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)


def read_photographs(shards: Sequence[Path], image_size: int) -> RecordedPhotographs:
    """Go once through shards, whose checksums are looked at on the way."""
    files = tuple(str(shard) for shard in shards)
    try:
        records = tf.data.TFRecordDataset(list(files))
        examples = records.map(lambda record: tf.io.parse_single_example(record, _FEATURES))
        found = [_known(example, image_size) for example in examples.as_numpy_iterator()]
    except (tf.errors.DataLossError, tf.errors.InvalidArgumentError) as error:
        raise DataError(
            f"{files[0]}, or a shard beside it, is damaged: {error.message}; "
            "`prumo retina convert` writes them anew"
        ) from error
    names, grades, digests = zip(*found) if found else ((), (), ())
    return RecordedPhotographs(names, np.array(grades, np.int64), digests, files, image_size)


def joined(sets: Sequence[RecordedPhotographs]) -> RecordedPhotographs:
    """Several sets as one."""
    return RecordedPhotographs(
        shards=sum((one.shards for one in sets), ()),
        image_size=sets[0].image_size,
        names=sum((one.names for one in sets), ()),
        grades=np.concatenate([one.grades for one in sets]),
        digests=sum((one.digests for one in sets), ()),
    )


@dataclass(frozen=True)
class GeneratedPhotographs(Photographs):
    """Pictures from a seed, for a study of time: what is learnt from them means nothing."""

    images: np.ndarray

    def pictures(self, seed: int | None = None) -> tf.data.Dataset:
        """All of them are held, so that all are shuffled."""
        pairs = tf.data.Dataset.from_tensor_slices((self.images, self.grades))
        return pairs if seed is None else pairs.shuffle(len(self.names), seed=seed)


def generate_photographs(count: int, image_size: int, seed: int) -> GeneratedPhotographs:
    """As many as asked for, of all grades in turn."""
    images, grades = generated_images(count, (3, image_size, image_size), GRADE_COUNT, seed)
    pictures = np.ascontiguousarray(images.transpose(0, 2, 3, 1))
    names = tuple(f"generated-{seed}-{number}" for number in range(count))
    digests = tuple(sha256(picture.tobytes()).hexdigest() for picture in pictures)
    return GeneratedPhotographs(names, grades, digests, pictures)


def content_of(sets: Sequence[Photographs]) -> str:
    """A hash that changes with any photograph or grade, wherever it stands."""
    rows = sorted(
        f"{digest} {grade}" for one in sets for digest, grade in zip(one.digests, one.grades)
    )
    return sha256("\n".join(rows).encode()).hexdigest()


def _known(example: dict[str, np.ndarray], image_size: int) -> tuple[str, int, str]:
    """Name, grade and hash of a photograph that fits."""
    name = bytes(example["image/filename"]).decode()
    grade = int(example["image/class/label"])
    if not 0 <= grade < GRADE_COUNT:
        raise DataError(f"{name}: {grade} is no grade; grades go from 0 to {GRADE_COUNT - 1}")
    width, height = int(example["image/width"]), int(example["image/height"])
    if (width, height) != (image_size, image_size):
        raise DataError(
            f"{name} is {width}x{height} pixels, and the training wants {image_size}x{image_size}"
        )
    return name, grade, sha256(bytes(example["image/encoded"])).hexdigest()


# Cameras and their operators differ by about so much; lesions must stay visible.
_EXPOSURE = 0.2
_GAMMA = 0.2
_HUE = 0.02
_SATURATION = 0.2
_WHITE = 255.0


def augmented(picture: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """A picture (uint8) turned, mirrored and recoloured by a seed of two whole numbers.

    Black stays black: around a fundus there is no light, whatever the camera.
    """
    mirror, angle, exposure, gamma, hue, saturation = tf.unstack(tf.random.split(seed, 6))
    pixels = tf.cast(picture, tf.float32) / _WHITE
    pixels = tf.image.stateless_random_flip_left_right(pixels, mirror)
    pixels = _turned(pixels, _uniform(angle, 0.0, math.pi))
    pixels = pixels ** _uniform(gamma, 1.0, _GAMMA) * _uniform(exposure, 1.0, _EXPOSURE)
    pixels = tf.clip_by_value(pixels, 0.0, 1.0)
    pixels = tf.image.stateless_random_hue(pixels, _HUE, hue)
    pixels = tf.image.stateless_random_saturation(
        pixels, 1 - _SATURATION, 1 + _SATURATION, saturation
    )
    return tf.clip_by_value(pixels, 0.0, 1.0) * _WHITE


def _uniform(seed: tf.Tensor, middle: float, reach: float) -> tf.Tensor:
    return tf.random.stateless_uniform([], seed, middle - reach, middle + reach)


def _turned(pixels: tf.Tensor, angle: tf.Tensor) -> tf.Tensor:
    """Rotated about the centre, which is that of the fundus; what comes from outside is black."""
    size = tf.cast(tf.shape(pixels)[0], tf.float32) - 1
    cosine, sine = tf.cos(angle), tf.sin(angle)
    across = (size - (cosine * size - sine * size)) / 2
    down = (size - (sine * size + cosine * size)) / 2
    transform = tf.stack([cosine, -sine, across, sine, cosine, down, 0.0, 0.0])
    return tf.raw_ops.ImageProjectiveTransformV3(
        images=pixels[None],
        transforms=transform[None],
        output_shape=tf.shape(pixels)[:2],
        interpolation="BILINEAR",
        fill_mode="CONSTANT",
        fill_value=0.0,
    )[0]


# Keeps the streams of neighbouring seeds apart for more epochs than anybody trains.
_EPOCHS_APART = 1_000_003


def training_batches(
    photographs: Photographs, recipe: RetinaRecipe, epoch: int, *, whole_only: bool
) -> tf.data.Dataset:
    """Pixels and classes of every photograph once; the last batch with what is left, if wanted."""
    seed = recipe.seed * _EPOCHS_APART + epoch

    def example(
        place: tf.Tensor, picture_and_grade: tuple[tf.Tensor, tf.Tensor]
    ) -> tuple[tf.Tensor, tf.Tensor]:
        picture, grade = picture_and_grade
        if recipe.augment:
            pixels = augmented(picture, tf.stack([tf.constant(seed, tf.int64), place]))
        else:
            pixels = tf.cast(picture, tf.float32)
        is_referral = recipe.task == "referral"
        return pixels, tf.cast(grade >= REFERABLE_FROM, tf.int64) if is_referral else grade

    examples = (
        photographs.pictures(seed)
        .enumerate()
        .map(example, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    )
    return examples.batch(recipe.batch_size, drop_remainder=whole_only).prefetch(tf.data.AUTOTUNE)


def judged_batches(photographs: Photographs, batch_size: int) -> tf.data.Dataset:
    """Pixels in order, as they are; the last batch repeats photographs until it is full.

    So every batch has one shape, which some devices insist on; who reads on knows the count.
    """
    pixels = photographs.pictures().map(lambda picture, _: tf.cast(picture, tf.float32))
    missing = -len(photographs.names) % batch_size
    padded = pixels.concatenate(pixels.repeat().take(missing))
    return padded.batch(batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
