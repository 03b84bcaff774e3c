"""An ONNX network in OpenVINO's own form: `network.xml`, and the weights in `network.bin`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from prumo.errors import UnavailableError
from prumo.machine.cpu import read_cpu
from prumo.model.conversion.draft import NETWORK_FILES
from prumo.model.conversion.failure import ConversionError
from prumo.model.runtimes.openvino_runtime import PRECISION_NOTE

if TYPE_CHECKING:
    from prumo.model.conversion.draft import Draft
    from prumo.model.manifest import Precision
    from prumo.progress import Progress


def write_openvino(draft: Draft, precision: Precision, progress: Progress) -> Draft:
    """Write a draft's network once more, for OpenVINO.

    fp16 are 16 bits for every weight. bf16 is a note that the numbers between may be of 16 bits,
    which OpenVINO heeds where the processor has units for them. Eight bits are in the network.
    """
    progress.show("converting to OpenVINO")
    try:
        import openvino  # noqa: PLC0415 (belongs to an extra)
        from openvino.frontend import (  # noqa: PLC0415 (as above)
            GeneralFailure,
            OpConversionFailure,
            OpValidationFailure,
        )
    except ModuleNotFoundError as error:
        raise UnavailableError(
            "OpenVINO's form is written with OpenVINO: install it with "
            "pip install 'prumo[openvino]'"
        ) from error
    try:
        network = openvino.convert_model(draft.folder / NETWORK_FILES["onnxruntime"])
        _name_by_place(network)
        if precision == "bf16":
            network.set_rt_info(precision, list(PRECISION_NOTE))
        xml_file = draft.folder / NETWORK_FILES["openvino"]
        openvino.save_model(network, xml_file, compress_to_fp16=precision == "fp16")
    except (RuntimeError, OpConversionFailure, OpValidationFailure, GeneralFailure) as error:
        words = str(error).strip().rpartition("\n")[2].removeprefix("-- ")
        raise ConversionError(f"OpenVINO cannot read this network: {words}") from error
    if precision == "bf16" and not any("bf16" in flag for flag in read_cpu().vector_extensions):
        progress.say(
            "this processor has no units for bf16: OpenVINO computes in fp32 here, and what bf16 "
            "changes elsewhere cannot be told"
        )
    version = str(openvino.get_version()).partition("-")[0]
    return replace(draft, versions=draft.versions | {"openvino": version})


def _name_by_place(network: Any) -> None:  # noqa: ANN401 (OpenVINO has no types)
    """Operations without a name get one from a counter that the whole process shares."""
    for place, operation in enumerate(network.get_ordered_ops()):
        if operation.get_type_name() == "Constant":
            operation.set_friendly_name(f"Constant_{place}")
