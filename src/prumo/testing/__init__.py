"""Contract tests: what every plug-in of a point must do, for its author to run.

Derive a class from the contract of a point, say what it should test, and run pytest:

    from my_package.prices import MyCloudPrices
    from prumo.testing import PriceSourceContract

    class TestMyCloudPrices(PriceSourceContract):
        source = MyCloudPrices()
        sample = '{"my_cloud_prices": [...]}'

Nothing here imports pytest: a contract is a class whose methods `test_…` raise AssertionError with
a sentence that says what the contract is. Prumo's own implementations pass the same contracts.
"""

from __future__ import annotations

from prumo.testing.instrument import CommandContract, ExecutorContract, WorkloadContract
from prumo.testing.model import RuntimeContract, TaskContract
from prumo.testing.service import PriceSourceContract, TargetContract
from prumo.testing.translation import TranslationContract

__all__ = [
    "CommandContract",
    "ExecutorContract",
    "PriceSourceContract",
    "RuntimeContract",
    "TargetContract",
    "TaskContract",
    "TranslationContract",
    "WorkloadContract",
]
