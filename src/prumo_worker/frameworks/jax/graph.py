"""A network's nodes as one function of weights, state and images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax import numpy as jnp

from prumo_worker.frameworks.jax.operations import Arrays, Call, compute
from prumo_worker.networks.network import IMAGE

if TYPE_CHECKING:
    import jax

    from prumo_worker.networks import Network


class Graph:
    """The walk over a network, which JAX follows once and compiles."""

    def __init__(self, network: Network) -> None:
        self._nodes = network.nodes
        self._outputs = (network.nodes[-1].name, *(head.layer for head in network.auxiliary))
        self.trained = [
            f"{node.name}.{part}" for node in network.nodes for part in node.weight_shapes
        ]
        self.state = [f"{node.name}.{part}" for node in network.nodes for part in node.state_shapes]

    def outputs(
        self, arrays: Arrays, images: jax.Array, *, training: bool, key: jax.Array | None = None
    ) -> tuple[list[jax.Array], Arrays]:
        """The class scores and those of the auxiliary heads, in fp32, and the state afterwards."""
        values = {IMAGE: images}
        state: Arrays = {}
        for node in self._nodes:
            parts = (*node.weight_shapes, *node.state_shapes)
            call = Call(
                [values[source] for source in node.inputs],
                {part: arrays[f"{node.name}.{part}"] for part in parts},
                training,
                key,
            )
            values[node.name], after = compute(node, call)
            state.update({f"{node.name}.{part}": array for part, array in after.items()})
        return [values[name].astype(jnp.float32) for name in self._outputs], state
