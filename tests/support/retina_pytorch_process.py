"""Runs in PyTorch's environment: torchvision's and timm's backbones with drawn weights.

Written anew from the papers and from PyTorch's own defaults, so that Prumo's Keras networks have
something independent to agree with. Given a folder and names, it writes NAME.pth, the state
dict, and NAME.npz with normalized pixels and the features that PyTorch computes from them.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from support.framework_process import arguments, tell

PIXELS = {"inception_v3": 79}
LEGACY = "efficientnet_lite0"
"""The one that is saved in the format before PyTorch 1.6, as the published file is."""


class Drawn:
    """Layers whose weights are drawn when they are first used."""

    def __init__(self, epsilon: float = 1e-5) -> None:
        self.state: OrderedDict[str, Tensor] = OrderedDict()
        self.epsilon = epsilon

    def conv(
        self,
        x: Tensor,
        name: str,
        filters: int,
        size: int | tuple[int, int] = 1,
        stride: int = 1,
        padding: int | tuple[int, int] | None = 0,
        groups: int = 1,
        *,
        bias: bool = False,
    ) -> Tensor:
        """Without a padding it is TensorFlow's: what is odd of it goes to the far side."""
        rows, columns = size if isinstance(size, tuple) else (size, size)
        shape = (filters, x.shape[1] // groups, rows, columns)
        scale = math.sqrt(2 / math.prod(shape[1:]))
        self.state[f"{name}.weight"] = weight = torch.randn(shape) * scale
        shift = None
        if bias:
            self.state[f"{name}.bias"] = shift = torch.randn(filters) * 0.1
        if padding is None:
            total = [max((math.ceil(n / stride) - 1) * stride + rows - n, 0) for n in x.shape[2:]]
            high, wide = total
            x = functional.pad(x, [wide // 2, wide - wide // 2, high // 2, high - high // 2])
            padding = 0
        return functional.conv2d(x, weight, shift, stride, padding, 1, groups)

    def norm(self, x: Tensor, name: str) -> Tensor:
        count = x.shape[1]
        self.state[f"{name}.weight"] = gamma = torch.rand(count) + 0.5
        self.state[f"{name}.bias"] = beta = torch.randn(count) * 0.2
        self.state[f"{name}.running_mean"] = mean = torch.randn(count) * 0.2
        self.state[f"{name}.running_var"] = variance = torch.rand(count) + 0.5
        self.state[f"{name}.num_batches_tracked"] = torch.tensor(7)
        return functional.batch_norm(x, mean, variance, gamma, beta, False, 0.0, self.epsilon)

    def classifier(self, name: str, features: int) -> None:
        self.state[f"{name}.weight"] = torch.randn(10, features)
        self.state[f"{name}.bias"] = torch.randn(10)


Network = tuple[Tensor, Drawn]
"""Features, and all that was drawn on the way to them."""


def vgg19(x: Tensor) -> Network:
    net, position = Drawn(), 0
    for convolutions, filters in ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512)):
        for _ in range(convolutions):
            x = functional.relu(net.conv(x, f"features.{position}", filters, 3, 1, 1, bias=True))
            position += 2
        x = functional.max_pool2d(x, 2)
        position += 1
    net.classifier("classifier.6", 512)
    return x, net


def mobilenet(x: Tensor) -> Network:
    net = Drawn()
    x = functional.relu6(net.norm(net.conv(x, "conv_stem", 32, 3, 2, 1), "bn1"))
    for stage, (blocks, filters) in enumerate(((1, 64), (2, 128), (2, 256), (6, 512), (2, 1024))):
        for block in range(blocks):
            name, stride = f"blocks.{stage}.{block}", 2 if stage and not block else 1
            x = net.conv(x, f"{name}.conv_dw", x.shape[1], 3, stride, 1, x.shape[1])
            x = functional.relu6(net.norm(x, f"{name}.bn1"))
            x = functional.relu6(net.norm(net.conv(x, f"{name}.conv_pw", filters), f"{name}.bn2"))
    net.classifier("classifier", 1024)
    return x, net


def mobilenet_v2(x: Tensor) -> Network:
    net = Drawn()
    x = functional.relu6(net.norm(net.conv(x, "features.0.0", 32, 3, 2, 1), "features.0.1"))
    plan = (
        *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
        *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
    )
    position = 1
    for expansion, filters, blocks, first_stride in plan:
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            name, i, y = f"features.{position}.conv", 0, x
            if expansion > 1:
                y = net.conv(y, f"{name}.0.0", x.shape[1] * expansion)
                y, i = functional.relu6(net.norm(y, f"{name}.0.1")), 1
            y = net.conv(y, f"{name}.{i}.0", y.shape[1], 3, stride, 1, y.shape[1])
            y = functional.relu6(net.norm(y, f"{name}.{i}.1"))
            y = net.norm(net.conv(y, f"{name}.{i + 1}", filters), f"{name}.{i + 2}")
            x = x + y if y.shape == x.shape else y
            position += 1
    x = functional.relu6(net.norm(net.conv(x, "features.18.0", 1280), "features.18.1"))
    net.classifier("classifier.1", 1280)
    return x, net


def resnet50(x: Tensor) -> Network:
    net = Drawn()
    x = functional.relu(net.norm(net.conv(x, "conv1", 64, 7, 2, 3), "bn1"))
    x = functional.max_pool2d(x, 3, 2, 1)
    for stage, blocks in enumerate((3, 4, 6, 3), 1):
        width = 32 * 2**stage
        for block in range(blocks):
            name, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            y = functional.relu(net.norm(net.conv(x, f"{name}.conv1", width), f"{name}.bn1"))
            y = net.conv(y, f"{name}.conv2", width, 3, stride, 1)
            y = functional.relu(net.norm(y, f"{name}.bn2"))
            y = net.norm(net.conv(y, f"{name}.conv3", 4 * width), f"{name}.bn3")
            if block == 0:
                x = net.conv(x, f"{name}.downsample.0", 4 * width, 1, stride)
                x = net.norm(x, f"{name}.downsample.1")
            x = functional.relu(x + y)
    net.classifier("fc", 2048)
    return x, net


def densenet121(x: Tensor) -> Network:
    net, prefix = Drawn(), "features"
    x = functional.relu(net.norm(net.conv(x, f"{prefix}.conv0", 64, 7, 2, 3), f"{prefix}.norm0"))
    x = functional.max_pool2d(x, 3, 2, 1)
    for stage, layers in enumerate((6, 12, 24, 16), 1):
        for i in range(1, layers + 1):
            # The published file still has the dots of an old version of torchvision.
            name = f"{prefix}.denseblock{stage}.denselayer{i}"
            y = net.conv(functional.relu(net.norm(x, f"{name}.norm.1")), f"{name}.conv.1", 128)
            y = net.conv(
                functional.relu(net.norm(y, f"{name}.norm.2")), f"{name}.conv.2", 32, 3, 1, 1
            )
            x = torch.cat([x, y], 1)
        if stage < 4:
            name = f"{prefix}.transition{stage}"
            x = net.conv(
                functional.relu(net.norm(x, f"{name}.norm")), f"{name}.conv", x.shape[1] // 2
            )
            x = functional.avg_pool2d(x, 2)
    x = functional.relu(net.norm(x, f"{prefix}.norm5"))
    net.classifier("classifier", 1024)
    return x, net


def inception_v3(x: Tensor) -> Network:
    net = Drawn(epsilon=1e-3)

    def step(
        y: Tensor,
        name: str,
        filters: int,
        size: int | tuple[int, int] = 1,
        stride: int = 1,
        padding: int | tuple[int, int] = 0,
    ) -> Tensor:
        return functional.relu(
            net.norm(net.conv(y, f"{name}.conv", filters, size, stride, padding), f"{name}.bn")
        )

    def pooled(y: Tensor, name: str, filters: int) -> Tensor:
        return step(functional.avg_pool2d(y, 3, 1, 1), f"{name}.branch_pool", filters)

    def wide(y: Tensor, name: str, filters: int, flat: bool) -> Tensor:
        size, padding = ((1, 7), (0, 3)) if flat else ((7, 1), (3, 0))
        return step(y, name, filters, size, 1, padding)

    x = step(x, "Conv2d_1a_3x3", 32, 3, 2)
    x = step(x, "Conv2d_2a_3x3", 32, 3)
    x = functional.max_pool2d(step(x, "Conv2d_2b_3x3", 64, 3, 1, 1), 3, 2)
    x = step(x, "Conv2d_3b_1x1", 80)
    x = functional.max_pool2d(step(x, "Conv2d_4a_3x3", 192, 3), 3, 2)
    for mix, pool in (("5b", 32), ("5c", 64), ("5d", 64)):
        name = f"Mixed_{mix}"
        one = step(x, f"{name}.branch1x1", 64)
        five = step(step(x, f"{name}.branch5x5_1", 48), f"{name}.branch5x5_2", 64, 5, 1, 2)
        double = step(x, f"{name}.branch3x3dbl_1", 64)
        for i in (2, 3):
            double = step(double, f"{name}.branch3x3dbl_{i}", 96, 3, 1, 1)
        x = torch.cat([one, five, double, pooled(x, name, pool)], 1)
    name = "Mixed_6a"
    three = step(x, f"{name}.branch3x3", 384, 3, 2)
    double = step(step(x, f"{name}.branch3x3dbl_1", 64), f"{name}.branch3x3dbl_2", 96, 3, 1, 1)
    double = step(double, f"{name}.branch3x3dbl_3", 96, 3, 2)
    x = torch.cat([three, double, functional.max_pool2d(x, 3, 2)], 1)
    for mix, inner in (("6b", 128), ("6c", 160), ("6d", 160), ("6e", 192)):
        name = f"Mixed_{mix}"
        one = step(x, f"{name}.branch1x1", 192)
        seven = wide(step(x, f"{name}.branch7x7_1", inner), f"{name}.branch7x7_2", inner, True)
        seven = wide(seven, f"{name}.branch7x7_3", 192, False)
        double = step(x, f"{name}.branch7x7dbl_1", inner)
        for i, filters in ((2, inner), (3, inner), (4, inner), (5, 192)):
            double = wide(double, f"{name}.branch7x7dbl_{i}", filters, i % 2 == 1)
        x = torch.cat([one, seven, double, pooled(x, name, 192)], 1)
    name = "Mixed_7a"
    three = step(step(x, f"{name}.branch3x3_1", 192), f"{name}.branch3x3_2", 320, 3, 2)
    seven = wide(step(x, f"{name}.branch7x7x3_1", 192), f"{name}.branch7x7x3_2", 192, True)
    seven = step(
        wide(seven, f"{name}.branch7x7x3_3", 192, False), f"{name}.branch7x7x3_4", 192, 3, 2
    )
    x = torch.cat([three, seven, functional.max_pool2d(x, 3, 2)], 1)
    for mix in ("7b", "7c"):
        name = f"Mixed_{mix}"
        parts = [step(x, f"{name}.branch1x1", 320)]
        three = step(x, f"{name}.branch3x3_1", 384)
        double = step(
            step(x, f"{name}.branch3x3dbl_1", 448), f"{name}.branch3x3dbl_2", 384, 3, 1, 1
        )
        for branch, y in (("branch3x3_2", three), ("branch3x3dbl_3", double)):
            parts.append(step(y, f"{name}.{branch}a", 384, (1, 3), 1, (0, 1)))
            parts.append(step(y, f"{name}.{branch}b", 384, (3, 1), 1, (1, 0)))
        x = torch.cat([*parts, pooled(x, name, 192)], 1)
    net.classifier("fc", 2048)
    net.conv(x, "AuxLogits.conv0.conv", 8)
    return x, net


def efficientnet_lite0(x: Tensor) -> Network:
    net = Drawn(epsilon=1e-3)
    x = functional.relu6(net.norm(net.conv(x, "_conv_stem", 32, 3, 2, None), "_bn0"))
    plan = (
        *((1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80)),
        *((3, 5, 1, 6, 112), (4, 5, 2, 6, 192), (1, 3, 1, 6, 320)),
    )
    position = 0
    for blocks, size, first_stride, expansion, filters in plan:
        for block in range(blocks):
            name, y, stride = f"_blocks.{position}", x, first_stride if block == 0 else 1
            if expansion > 1:
                y = net.conv(y, f"{name}._expand_conv", x.shape[1] * expansion)
                y = functional.relu6(net.norm(y, f"{name}._bn0"))
            y = net.conv(y, f"{name}._depthwise_conv", y.shape[1], size, stride, None, y.shape[1])
            y = functional.relu6(net.norm(y, f"{name}._bn1"))
            y = net.norm(net.conv(y, f"{name}._project_conv", filters), f"{name}._bn2")
            x = x + y if y.shape == x.shape else y
            position += 1
    x = functional.relu6(net.norm(net.conv(x, "_conv_head", 1280), "_bn1"))
    net.classifier("_fc", 1280)
    return x, net


def _main(place: str, names: list[str]) -> None:
    folder = Path(place)
    for name in names:
        torch.manual_seed(7)
        size = PIXELS.get(name, 64)
        pixels = torch.randn(2, 3, size, size)
        with torch.no_grad():
            features, net = globals()[name](pixels)
        torch.save(net.state, folder / f"{name}.pth", _use_new_zipfile_serialization=name != LEGACY)
        np.savez(
            folder / f"{name}.npz",
            pixels=pixels.permute(0, 2, 3, 1).numpy(),
            features=features.permute(0, 2, 3, 1).numpy(),
        )
    tell(names)


if __name__ == "__main__":
    _main(*arguments())
