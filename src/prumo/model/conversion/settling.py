"""A draft that has been found right: its files where they are wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.errors import StorageError
from prumo.model.conversion.agreement import require_agreement
from prumo.model.conversion.converted_network import ConvertedNetwork
from prumo.model.conversion.draft import HEAT_MAP_FILE
from prumo.model.manifest import HeatMap, NetworkFile

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.model.conversion.draft import Draft
    from prumo.progress import Progress

_BESIDE = {"openvino": ["network.bin"]}
"""Runtime → what belongs to its network's file."""


def settled(
    draft: Draft, network: NetworkFile, folder: Path, progress: Progress
) -> ConvertedNetwork:
    """Compare a draft's network with the original, and then put it into a folder."""
    progress.show("comparing the answers of both networks")
    agreement = require_agreement(draft, network)
    if agreement.allowed_difference is not None:
        progress.say(f"{network.runtime} in {network.precision} beside the original: {agreement}")
    facts = draft.facts
    if facts.without_heat_map:
        progress.say(f"there will be no heat maps: {facts.without_heat_map}")
    return ConvertedNetwork(
        network=network,
        heat_map=_moved(draft, network, folder),
        input_tensor=facts.input_tensor,
        height=facts.height,
        width=facts.width,
        layout=facts.layout,
        dtype=facts.dtype,
        output_tensor=facts.output_tensor,
        kind=facts.kind,
        activation=facts.activation,
        versions=draft.versions,
        agreement=agreement,
    )


def _moved(draft: Draft, network: NetworkFile, folder: Path) -> HeatMap | None:
    """Move the files; how heat maps are made, if they can be."""
    features = draft.facts.features_tensor
    names = [network.file, *_BESIDE.get(network.runtime, [])]
    try:
        for name in [*names, HEAT_MAP_FILE] if features else names:
            (draft.folder / name).rename(folder / name)
    except OSError as error:
        raise StorageError.on_writing(folder, error) from error
    if not features:
        return None
    heat_map = NetworkFile(file=HEAT_MAP_FILE, runtime="onnxruntime")
    return HeatMap(features=features, network=heat_map)
