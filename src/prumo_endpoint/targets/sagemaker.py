"""A SageMaker endpoint that exists, reached through a local proxy that signs its requests."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from prumo.errors import InputError, UnavailableError
from prumo.progress import LineProgress
from prumo_endpoint.exchange import LOCAL_HOST, Address
from prumo_endpoint.targets import NO_OPTIONS, Server, Target, TargetOptions

_IN_SERVICE = "InService"


class SageMakerTarget(Target):
    """The name of an endpoint: `prumo endpoint check sagemaker://NAME`.

    Endpoints of a study are created by its launcher (`prumo_endpoint.sagemaker`), once for all runs
    that share them; here they are only asked.
    """

    noun = "a SageMaker endpoint"
    options = frozenset({"region"})

    def __init__(self, name: str, region: str | None = None) -> None:
        self.name = name
        self._region = region

    @classmethod
    def from_words(
        cls, words: Sequence[str], options: TargetOptions = NO_OPTIONS
    ) -> SageMakerTarget:
        """The endpoint of a name."""
        if len(words) != 1 or not words[0]:
            raise InputError(f"{' '.join(words)!r}: right is sagemaker://NAME")
        return cls(words[0], options.region)

    @contextmanager
    def running(self) -> Iterator[Server]:
        """A proxy to the endpoint, which is left as it is."""
        from prumo_endpoint.sagemaker.account import Account, aws_errors  # noqa: PLC0415 (large)
        from prumo_endpoint.sagemaker.cloudwatch import CloudWatch  # noqa: PLC0415
        from prumo_endpoint.sagemaker.proxy import running_proxy  # noqa: PLC0415

        account = Account(self._region)
        with aws_errors(f"endpoint {self.name}"):
            said = account.sagemaker.describe_endpoint(EndpointName=self.name)
        if said["EndpointStatus"] != _IN_SERVICE:
            raise UnavailableError(f"the endpoint {self.name} is {said['EndpointStatus']}")
        variants = said.get("ProductionVariants", ())
        is_serverless = any("CurrentServerlessConfig" in variant for variant in variants)
        metrics = CloudWatch(
            account,
            self.name,
            [variant["VariantName"] for variant in variants],
            progress=LineProgress(lambda text: print(text, file=sys.stderr)),  # noqa: T201 (a run's log)
        )
        with running_proxy(self.name, account.region) as port:
            yield Server(
                Address(LOCAL_HOST, port),
                port,
                starts_on_demand=is_serverless,
                service_metrics=metrics,
            )
