from __future__ import annotations

import pytest

from prumo.results.run_files import OperationShare, Profile
from prumo.statistics.training import OperationKind, operation_kind, scenario_profile


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("aten::mkldnn_convolution", OperationKind.CONVOLUTION),
        ("aten::convolution_backward", OperationKind.CONVOLUTION),
        ("Conv2DBackpropFilter", OperationKind.CONVOLUTION),
        ("void implicit_convolve_sgemm<float>(int)", OperationKind.CONVOLUTION),
        ("conv_general_dilated", OperationKind.CONVOLUTION),
        ("Convolution fc_like backward", OperationKind.CONVOLUTION),
        ("aten::addmm", OperationKind.MATRIX_PRODUCT),
        ("aten::mm", OperationKind.MATRIX_PRODUCT),
        ("_MklFusedMatMul", OperationKind.MATRIX_PRODUCT),
        ("dot_general", OperationKind.MATRIX_PRODUCT),
        ("_backward_FullyConnected", OperationKind.MATRIX_PRODUCT),
        ("InnerProduct conv_like forward", OperationKind.MATRIX_PRODUCT),
        ("maxwell_sgemm_128x64_nn", OperationKind.MATRIX_PRODUCT),
        ("sm80_xmma_dgrad_implicit_gemm_f32f32", OperationKind.CONVOLUTION),
        ("BiasAddGrad", OperationKind.OTHER),
        ("convert_element_type", OperationKind.OTHER),
        ("ReLU conv1_relu forward", OperationKind.OTHER),
        ("aten::relu", OperationKind.OTHER),
    ],
)
def test_an_operation_has_the_kind_that_its_name_tells(operation: str, kind: OperationKind) -> None:
    assert operation_kind(operation) is kind


def test_the_profiles_of_a_scenario_are_one_table_per_step() -> None:
    runs = [
        Profile(2, (OperationShare("conv", 4, 0.6, 0.6), OperationShare("relu", 4, 0.4, 0.4))),
        Profile(2, (OperationShare("conv", 4, 1.0, 1.0),)),
    ]
    found = scenario_profile("C1", runs)
    assert found is not None
    assert [operation.operation for operation in found.operations] == ["conv", "relu"]
    longest = found.operations[0]
    assert longest.calls_per_step == 2
    assert longest.seconds_per_step == pytest.approx(0.4)
    assert found.shares[OperationKind.CONVOLUTION] == pytest.approx(0.8)
    assert sum(found.shares.values()) == pytest.approx(1)


def test_without_a_row_there_is_no_table() -> None:
    assert scenario_profile("C1", [Profile(0, (), "no profiler for this device")]) is None
