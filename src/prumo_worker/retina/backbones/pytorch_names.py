"""What torchvision and timm call the layers of the backbones, by Keras's name of each layer."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

_VGG19_BLOCKS = (2, 2, 4, 4, 4)
_MOBILENET_STAGES = (1, 2, 2, 6, 2)
_MOBILENET_V2_BLOCKS = 17
_RESNET50_STAGES = (3, 4, 6, 3)
_DENSENET121_STAGES = (6, 12, 24, 16)
_EFFICIENTNET_BLOCKS = 16
# Checkpoints of torchvision before 0.3 have a dot there, and still are the published ones.
_OLD_DENSENET = re.compile(r"(denselayer\d+)\.(norm|conv)\.(\d)\.")


def pytorch_modules(name: str) -> dict[str, str]:
    """For each layer with weights its module in a state dict; empty where none is known."""
    return _MODULES[name]() if name in _MODULES else {}


def modern_spelling(array: str) -> str:
    """The name of an array without marks of old versions and of training on several devices.

    >>> modern_spelling("module.features.denseblock1.denselayer1.norm.1.weight")
    'features.denseblock1.denselayer1.norm1.weight'
    """
    return _OLD_DENSENET.sub(r"\1.\2\3.", array.removeprefix("module."))


def _vgg19() -> dict[str, str]:
    modules = {}
    position = 0
    for block, convolutions in enumerate(_VGG19_BLOCKS, 1):
        for convolution in range(1, convolutions + 1):
            modules[f"block{block}_conv{convolution}"] = f"features.{position}"
            position += 2
        position += 1
    return modules


def _mobilenet() -> dict[str, str]:
    modules = {"conv1": "conv_stem", "conv1_bn": "bn1"}
    places = [(stage, i) for stage, blocks in enumerate(_MOBILENET_STAGES) for i in range(blocks)]
    for block, (stage, i) in enumerate(places, 1):
        for position, step in enumerate(("conv_dw", "conv_pw"), 1):
            modules[f"{step}_{block}"] = f"blocks.{stage}.{i}.{step}"
            modules[f"{step}_{block}_bn"] = f"blocks.{stage}.{i}.bn{position}"
    return modules


def _mobilenet_v2() -> dict[str, str]:
    modules = {"Conv1": "features.0.0", "bn_Conv1": "features.0.1"}
    for block in range(_MOBILENET_V2_BLOCKS):
        inside = f"features.{block + 1}.conv"
        prefix = f"block_{block}" if block else "expanded_conv"
        steps = ["depthwise"] if block == 0 else ["expand", "depthwise"]
        for position, step in enumerate(steps):
            modules[f"{prefix}_{step}"] = f"{inside}.{position}.0"
            modules[f"{prefix}_{step}_BN"] = f"{inside}.{position}.1"
        modules[f"{prefix}_project"] = f"{inside}.{len(steps)}"
        modules[f"{prefix}_project_BN"] = f"{inside}.{len(steps) + 1}"
    last = f"features.{_MOBILENET_V2_BLOCKS + 1}"
    return {**modules, "Conv_1": f"{last}.0", "Conv_1_bn": f"{last}.1"}


def _resnet50() -> dict[str, str]:
    modules = {"conv1_conv": "conv1", "conv1_bn": "bn1"}
    for stage, blocks in enumerate(_RESNET50_STAGES, 1):
        for block in range(blocks):
            prefix, inside = f"conv{stage + 1}_block{block + 1}", f"layer{stage}.{block}"
            if block == 0:
                modules[f"{prefix}_0_conv"] = f"{inside}.downsample.0"
                modules[f"{prefix}_0_bn"] = f"{inside}.downsample.1"
            for step in (1, 2, 3):
                modules[f"{prefix}_{step}_conv"] = f"{inside}.conv{step}"
                modules[f"{prefix}_{step}_bn"] = f"{inside}.bn{step}"
    return modules


def _densenet121() -> dict[str, str]:
    modules = {"conv1_conv": "features.conv0", "conv1_bn": "features.norm0"}
    for stage, layers in enumerate(_DENSENET121_STAGES, 1):
        for i in range(1, layers + 1):
            prefix = f"conv{stage + 1}_block{i}"
            inside = f"features.denseblock{stage}.denselayer{i}"
            modules[f"{prefix}_0_bn"] = f"{inside}.norm1"
            modules[f"{prefix}_1_conv"] = f"{inside}.conv1"
            modules[f"{prefix}_1_bn"] = f"{inside}.norm2"
            modules[f"{prefix}_2_conv"] = f"{inside}.conv2"
        if stage < len(_DENSENET121_STAGES):
            modules[f"pool{stage + 1}_bn"] = f"features.transition{stage}.norm"
            modules[f"pool{stage + 1}_conv"] = f"features.transition{stage}.conv"
    return {**modules, "bn": "features.norm5"}


def _inception_v3() -> dict[str, str]:
    """Keras counts the convolutions in the order in which it builds the branches."""
    stem = ["1a_3x3", "2a_3x3", "2b_3x3", "3b_1x1", "4a_3x3"]
    five = ["branch1x1", "branch5x5_1", "branch5x5_2", *_numbered("branch3x3dbl", 3), "branch_pool"]
    six_a = ["branch3x3", *_numbered("branch3x3dbl", 3)]
    six = ["branch1x1", *_numbered("branch7x7", 3), *_numbered("branch7x7dbl", 5), "branch_pool"]
    seven_a = [*_numbered("branch3x3", 2), *_numbered("branch7x7x3", 4)]
    seven = [
        *("branch1x1", "branch3x3_1", "branch3x3_2a", "branch3x3_2b"),
        *("branch3x3dbl_1", "branch3x3dbl_2", "branch3x3dbl_3a", "branch3x3dbl_3b"),
        "branch_pool",
    ]
    modules = [
        *(f"Conv2d_{name}" for name in stem),
        *(f"Mixed_5{mix}.{branch}" for mix, branch in product("bcd", five)),
        *(f"Mixed_6a.{branch}" for branch in six_a),
        *(f"Mixed_6{mix}.{branch}" for mix, branch in product("bcde", six)),
        *(f"Mixed_7a.{branch}" for branch in seven_a),
        *(f"Mixed_7{mix}.{branch}" for mix, branch in product("bc", seven)),
    ]
    endings = ["", *(f"_{i}" for i in range(1, len(modules)))]
    return {
        **{f"conv2d{i}": f"{module}.conv" for i, module in zip(endings, modules)},
        **{f"batch_normalization{i}": f"{module}.bn" for i, module in zip(endings, modules)},
    }


def _efficientnet_lite0() -> dict[str, str]:
    """Names of the package efficientnet_lite_pytorch."""
    modules = {"stem_conv": "_conv_stem", "stem_bn": "_bn0"}
    for block in range(_EFFICIENTNET_BLOCKS):
        for i, step in enumerate(("expand", "depthwise", "project")):
            if (block, step) == (0, "expand"):
                continue
            modules[f"block{block}_{step}_conv"] = f"_blocks.{block}._{step}_conv"
            modules[f"block{block}_{step}_bn"] = f"_blocks.{block}._bn{i}"
    return {**modules, "head_conv": "_conv_head", "head_bn": "_bn1"}


def _numbered(name: str, count: int) -> list[str]:
    return [f"{name}_{i}" for i in range(1, count + 1)]


_MODULES: dict[str, Callable[[], dict[str, str]]] = {
    "densenet121": _densenet121,
    "efficientnet_lite0": _efficientnet_lite0,
    "inception_v3": _inception_v3,
    "mobilenet": _mobilenet,
    "mobilenet_v2": _mobilenet_v2,
    "resnet50": _resnet50,
    "vgg19": _vgg19,
}
