"""An AWS account in one region: its clients, and its errors as Prumo's."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

_CALL_SECONDS = 20
_NO_ACCESS = frozenset(
    {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError"}
)
BAD_CREDENTIALS = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
        "AuthFailure",
    }
)
"""As the services call credentials that are wrong or have expired."""


class AccountError(UnavailableError):
    """The account cannot be reached, or refuses."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code
        """As AWS calls it; empty where no answer came."""

    @property
    def is_refusal(self) -> bool:
        """Whether these credentials may not do this."""
        return self.code in _NO_ACCESS


class Account:
    """Clients of one region; credentials are those that boto3 finds."""

    def __init__(self, region: str | None = None) -> None:
        require_boto3()
        import boto3  # noqa: PLC0415 (large, and only for SageMaker)

        with aws_errors("AWS"):
            self.session = boto3.Session(region_name=region)
        if self.session.region_name is None:
            raise InputError(
                "no AWS region: give `region`, a machine with a price such as "
                "sagemaker/ml.m5.xlarge@us-east-1, or set AWS_DEFAULT_REGION"
            )
        self.region: str = self.session.region_name

    def client(
        self, service: str, *, retries: bool = True, read_seconds: float = _CALL_SECONDS
    ) -> Any:  # noqa: ANN401 (boto3 has no types)
        """A client of a service."""
        from botocore.config import Config  # noqa: PLC0415

        config = Config(
            connect_timeout=_CALL_SECONDS,
            read_timeout=read_seconds,
            retries={"mode": "standard", "total_max_attempts": 4 if retries else 1},
        )
        with aws_errors(service):
            return self.session.client(service, config=config)

    @cached_property
    def sagemaker(self) -> Any:  # noqa: ANN401 (boto3 has no types)
        """The client that creates and removes endpoints."""
        return self.client("sagemaker")

    @cached_property
    def number(self) -> str:
        """The account's number: proves that the credentials work."""
        with aws_errors("AWS"):
            number: str = self.client("sts").get_caller_identity()["Account"]
        return number

    def require_number(self, number: str, what: str) -> None:
        """Refuse to look for something in another account than it is in."""
        if number and number != self.number:
            raise AccountError(
                f"{what} is in account {number}, and these credentials are of {self.number}; set "
                "AWS_PROFILE",
                "OtherAccount",
            )

    def image(self, name: str) -> str:
        """An image's full name; one without a registry is in this account's."""
        if "/" in name and "." in name.split("/", 1)[0]:
            return name
        return f"{self.number}.dkr.ecr.{self.region}.amazonaws.com/{name}"

    def role(self, name: str) -> str:
        """A role's ARN; a bare name is one of this account."""
        return name if name.startswith("arn:") else f"arn:aws:iam::{self.number}:role/{name}"


def require_boto3() -> None:
    """Say how to install it."""
    if find_spec("boto3") is None:
        raise UnavailableError(
            "SageMaker is used through boto3: install it with pip install 'prumo[endpoint]'"
        )


@contextmanager
def aws_errors(what: str) -> Iterator[None]:
    """Report what boto3 raises in this block as AccountError."""
    from boto3.exceptions import Boto3Error  # noqa: PLC0415 (large, and only for SageMaker)
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError  # noqa: PLC0415

    try:
        yield
    except NoCredentialsError as error:
        raise AccountError(
            "there are no AWS credentials: run `aws configure` or set AWS_PROFILE", "NoCredentials"
        ) from error
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        message = error.response.get("Error", {}).get("Message", str(error))
        if code in BAD_CREDENTIALS:
            message = f"the AWS credentials do not work: {message}"
        raise AccountError(f"{what}: {message} ({code})", code) from error
    except (BotoCoreError, Boto3Error) as error:
        raise AccountError(f"{what}: {error}") from error
