"""The smallest images that each network takes; ResNets take any."""

from __future__ import annotations

SMALLEST = {
    "rede1": 4,
    "rede2": 8,
    "lenet5": 12,
    "alexnet": 55,
    "googlenet": 47,
    "googlenet_aux": 79,
    "vgg16": 32,
    "vgg19": 32,
    "resnet18": 1,
    "resnet50": 1,
    "mobilenet": 32,
    "inception_v3": 75,
    "dr_mobilenet": 32,
    "dr_vgg19": 32,
}
