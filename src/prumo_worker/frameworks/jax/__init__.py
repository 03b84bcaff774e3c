"""Training with JAX, on the processor, on one CUDA device or on one core of a TPU."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import jax
import jaxlib
import numpy as np
from jax import nn
from jax import numpy as jnp

from prumo_worker.frameworks import CompletionClock, Trainer
from prumo_worker.frameworks.jax.network import Arrays, Graph
from prumo_worker.frameworks.jax.optimizer import (
    LossScale,
    Memory,
    first_scale,
    fresh_memory,
    updated,
)
from prumo_worker.frameworks.jax.profile import operation_times
from prumo_worker.networks.weights import channels_last_weights
from prumo_worker.task import Unavailable, first_line

if TYPE_CHECKING:
    from prumo_worker.networks import Network
    from prumo_worker.profile import OperationTime
    from prumo_worker.recipe import Recipe


_POOL = "tf_XLAEigen"
"""How XLA names the threads that it computes with on the processor."""


def versions(place: jax.Device) -> dict[str, str]:
    """JAX's version, and those of the libraries it computes with."""
    found = {"jax": jax.__version__, "jaxlib": jaxlib.__version__, "numpy": np.__version__}
    if place.platform != "cpu":
        found[place.platform] = place.client.platform_version.replace("\n", "; ")
    return found


def build_facts(place: jax.Device) -> dict[str, str]:
    """What compiles for which device, and with which options of the user's."""
    return {
        "compiler": "XLA",
        "platform": str(place.platform),
        "runtime": str(place.client.runtime_type),
        "matmul_precision": str(jax.config.jax_default_matmul_precision or "default"),
        "xla_flags": os.environ.get("XLA_FLAGS") or "none",
    }


def pool_threads() -> int:
    """The threads in XLA's pool, as the kernel lists them."""
    names = []
    for thread in Path("/proc/self/task").iterdir():
        # It may have ended since it was listed.
        with suppress(OSError):
            names.append((thread / "comm").read_text(encoding="utf-8"))
    return sum(name.startswith(_POOL) for name in names)


_NUMBER_FORMATS = {"fp32": jnp.float32, "bf16": jnp.bfloat16, "fp16": jnp.float16}

Pair = tuple[jax.Array, jax.Array]


class Carried(NamedTuple):
    """All that goes from one step to the next, in memory that each step takes over."""

    weights: Arrays
    state: Arrays
    memory: Memory
    rate: jax.Array
    steps: jax.Array
    loss_scale: LossScale | None


class Jax(Trainer):
    """A trainer on the processor.

    JAX copies and computes in the background here too. A mark waits for it, so that the time of a
    step is not taken for that of the next one's data.

    The whole step is one compiled function. Weights are fp32 in every precision; images and what
    is computed of them are in the recipe's.
    """

    def __init__(self, network: Network, recipe: Recipe, place: jax.Device) -> None:
        self.threads = pool_threads()
        self.versions = versions(place)
        self.build = build_facts(place)
        self.layout = "NHWC"
        self._latest: Pair | tuple[()] = ()
        self._network = network
        self._recipe = recipe
        self._place = place
        self._number_format = _NUMBER_FORMATS[recipe.precision]
        self._graph = Graph(network)
        self._carried: Carried
        self._step = jax.jit(self._train, donate_argnums=0)
        self._infer = jax.jit(self._answer)

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Copy the weights in; the optimizer and the dropped values begin anew."""
        turned = channels_last_weights(self._network, weights)
        placed = {
            name: jax.device_put(np.array(array), self._place) for name, array in turned.items()
        }
        trained = {name: placed[name] for name in self._graph.trained}
        self._carried = jax.device_put(
            Carried(
                weights=trained,
                state={name: placed[name] for name in self._graph.state},
                memory=fresh_memory(self._recipe, trained),
                rate=jnp.float32(self._recipe.learning_rate),
                steps=jnp.int32(0),
                loss_scale=first_scale() if self._recipe.precision == "fp16" else None,
            ),
            self._place,
        )
        self.parameters = sum(array.size for array in placed.values())

    def set_learning_rate(self, rate: float) -> None:
        """A value that is carried, so that nothing is compiled anew."""
        placed = jax.device_put(jnp.float32(rate), self._place)
        self._carried = self._carried._replace(rate=placed)

    def batch(self, images: np.ndarray, labels: np.ndarray) -> Pair:
        """Arrays on the device, labels in the 32 bits that JAX counts with."""
        pair: Pair = jax.device_put((images, labels.astype(np.int32)), self._place)
        self._latest = pair
        return pair

    def step(self, batch: Pair) -> Pair:
        """One update, asked for and not waited for."""
        outcome: Pair
        self._carried, outcome = self._step(self._carried, *batch)
        self._latest = outcome
        return outcome

    def scores(self, images: np.ndarray) -> np.ndarray:
        """Scores as the trained network would answer."""
        return np.asarray(self._infer(self._carried, jax.device_put(images, self._place)))

    def fetch(self, outcomes: Sequence[Pair]) -> tuple[list[float], int]:
        """Bring losses and counts to the host."""
        return super().fetch(jax.device_get(outcomes))

    def profile(self, batches: Sequence[Pair]) -> list[OperationTime]:
        """Operations by the time that XLA's program spent on them."""
        programs = [self._step.lower(self._carried, *batch).compile() for batch in batches]
        texts = [program.as_text() for program in programs]
        return operation_times(partial(self.take_steps, batches), texts)

    def _train(
        self, carried: Carried, images: jax.Array, labels: jax.Array
    ) -> tuple[Carried, Pair]:
        steps = carried.steps + 1
        key = jax.random.fold_in(jax.random.key(self._recipe.seed), steps)
        scale = 1.0 if carried.loss_scale is None else carried.loss_scale.value

        def scaled_loss(weights: Arrays) -> tuple[jax.Array, tuple[jax.Array, jax.Array, Arrays]]:
            outputs, state = self._graph.outputs(
                {**weights, **carried.state},
                images.astype(self._number_format),
                training=True,
                key=key if self._recipe.dropout else None,
            )
            loss = self._loss(outputs, labels)
            return loss * scale, (loss, outputs[0], state)

        gradients, (loss, scores, state) = jax.grad(scaled_loss, has_aux=True)(carried.weights)
        weights, memory, loss_scale = self._update(carried, gradients)
        right = (scores.argmax(axis=1) == labels).sum()
        return Carried(weights, state, memory, carried.rate, steps, loss_scale), (loss, right)

    def _loss(self, outputs: Sequence[jax.Array], labels: jax.Array) -> jax.Array:
        loss, *heads = (
            -jnp.take_along_axis(nn.log_softmax(scores), labels[:, None], axis=1).mean()
            for scores in outputs
        )
        for weight, head in zip(self._network.auxiliary.values(), heads):
            loss += weight * head
        return loss

    def _update(
        self, carried: Carried, gradients: Arrays
    ) -> tuple[Arrays, Memory, LossScale | None]:
        """The optimizer's step; in half precision it is left out after an overflow."""
        loss_scale, before = carried.loss_scale, (carried.weights, carried.memory)
        if loss_scale is None:
            weights, memory = updated(self._recipe, *before, gradients, carried.rate)
            return weights, memory, None
        gradients = {name: slope / loss_scale.value for name, slope in gradients.items()}
        finite = jnp.stack([jnp.isfinite(slope).all() for slope in gradients.values()]).all()
        after = updated(self._recipe, *before, gradients, carried.rate)
        chosen = jax.tree.map(lambda new, old: jnp.where(finite, new, old), after, before)
        return (*chosen, loss_scale.after(finite))

    def _answer(self, carried: Carried, images: jax.Array) -> jax.Array:
        arrays = {**carried.weights, **carried.state}
        pictures = images.astype(self._number_format)
        (scores, *_), _ = self._graph.outputs(arrays, pictures, training=False)
        return scores

    def _pending(self) -> Callable[[], object]:
        """The latest batch is placed and the latest step is done, all of it."""
        return partial(jax.block_until_ready, (self._latest, self._carried))


class DeviceJax(Jax):
    """A trainer on a GPU or TPU, which works on while Python goes ahead.

    JAX has no events in a device's queue, so marks are the moments at which a thread saw that the
    work before them was done; nobody else waits for it.
    """

    def __init__(self, network: Network, recipe: Recipe, place: jax.Device) -> None:
        super().__init__(network, recipe, place)
        self.device = str(place.device_kind)
        self._clock = CompletionClock()

    def _pending(self) -> Callable[[], object]:
        """The latest work is done; what it carried is the next step's by then."""
        return partial(jax.block_until_ready, self._latest)


def open_trainer(network: Network, recipe: Recipe, threads: int) -> Jax:
    """Build the network where the recipe wants it, or say why that is not possible here."""
    if recipe.precision == "fp16" and recipe.device != "cuda":
        raise Unavailable(f"fp16 needs a CUDA device; on {recipe.device} there is bf16")
    # What JAX reads when it first looks for devices.
    if recipe.device == "cpu":
        # Else JAX opens every GPU that it finds.
        jax.config.update("jax_platforms", "cpu")
    # The size of the pool that XLA computes with on the processor.
    os.environ["PJRT_NPROC"] = str(threads)
    # A GPU's memory is taken as needed, so that its use can be seen.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        place = jax.devices(recipe.device)[0]
    except RuntimeError as error:
        name = recipe.device.upper()
        raise Unavailable(f"no {name} device: {first_line(error)}") from error
    trainer = Jax if recipe.device == "cpu" else DeviceJax
    return trainer(network, recipe, place)
