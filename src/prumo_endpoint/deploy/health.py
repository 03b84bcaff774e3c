"""Whether an endpoint is healthy: in service with what is wanted, and answering."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from prumo.backoff import Backoff
from prumo.errors import PrumoError
from prumo_endpoint.bodies import drawn_body
from prumo_endpoint.ledger import Resource
from prumo_endpoint.sagemaker.account import Account, AccountError, aws_errors
from prumo_endpoint.sagemaker.resources import ENDPOINT, exists

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo_endpoint.bodies import Body
    from prumo_endpoint.deploy.deployment import Settings

READY_SECONDS = 2700.0
ANSWER_SECONDS = 70.0
"""SageMaker allows a container 60."""
FIRST_ANSWER_SECONDS = 60.0
"""How long a request that did not reach the model is repeated."""
_POLL_SECONDS = 5.0
_PASSING = frozenset(
    {
        "",
        "InternalDependencyException",
        "InternalFailure",
        "ModelNotReadyException",
        "ServiceUnavailable",
        "Throttling",
        "ThrottlingException",
    }
)
"""Errors that say nothing of the model; without a code, no answer came."""
_CHANGING = frozenset({"Creating", "Updating", "SystemUpdating", "RollingBack"})


class UnhealthyError(PrumoError):
    """The endpoint is there and does not answer."""


def await_in_service(account: Account, name: str, configuration: str, progress: Progress) -> None:
    """Wait until SageMaker says that it serves this configuration.

    Raises:
        UnhealthyError: It does not.
    """
    until = time.monotonic() + READY_SECONDS
    while (status := status_of(account, name)) in _CHANGING and time.monotonic() < until:
        progress.show(f"{name} is {status.lower()}")
        time.sleep(_POLL_SECONDS)
    with aws_errors(name):
        described = account.sagemaker.describe_endpoint(EndpointName=name)
    # After an update that failed, SageMaker serves the former configuration.
    if status != "InService" or described["EndpointConfigName"] != configuration:
        raise UnhealthyError(f"{name} is {status}: {described.get('FailureReason', '')}")


def first_answer_seconds(settings: Settings, progress: Progress) -> float:
    """Of an endpoint that has just come up or changed.

    Raises:
        UnhealthyError: It does not answer.
    """
    progress.show(f"asking {settings.name}")
    until = time.monotonic() + FIRST_ANSWER_SECONDS
    backoff = Backoff(0.5, 10.0)
    while True:
        try:
            return invoked(settings, drawn_body())[1]
        except AccountError as error:
            if error.code not in _PASSING or time.monotonic() > until:
                raise UnhealthyError(f"it does not answer: {error}") from error
            time.sleep(backoff.delay())


def invoked(settings: Settings, body: Body) -> tuple[bytes, float]:
    """The answer of an endpoint, and its seconds."""
    runtime = Account(settings.region).client(
        "sagemaker-runtime", retries=False, read_seconds=ANSWER_SECONDS
    )
    began = time.monotonic()
    with aws_errors(settings.name):
        answer = runtime.invoke_endpoint(
            EndpointName=settings.name, ContentType=body.content_type, Body=body.content
        )
        content: bytes = answer["Body"].read()
    return content, time.monotonic() - began


def status_of(account: Account, name: str) -> str:
    """As SageMaker calls it, such as InService; empty where there is none."""
    endpoint = Resource(ENDPOINT, name, account.region)
    if not exists(account, endpoint):
        return ""
    with aws_errors(name):
        return str(account.sagemaker.describe_endpoint(EndpointName=name)["EndpointStatus"])
