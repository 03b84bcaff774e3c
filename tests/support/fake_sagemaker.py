"""SageMaker without an account: moto's server, and a runtime that behaves as AWS documents it.

moto answers S3, STS, ECR, CloudWatch and the creation of endpoints over real HTTP. The runtime
(`InvokeEndpoint`) and the quotas are here: throttling, model errors, cold starts, expired tokens,
and one point of each metric per request in moto's CloudWatch, in microseconds.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3

from support.terraform import moto_account

REGION = "us-east-1"
ACCOUNT = "123456789012"
ROLE = "prumo-sagemaker"
_PASSED = ("Accept", "Content-Type", "X-Amzn-SageMaker-Custom-Attributes")


@dataclass
class FakeAws:
    """What tests set, and what they look at."""

    moto_url: str = ""
    url: str = ""
    faults: list[str] = field(default_factory=list)
    """What happens to the next requests, one each: throttled, model error, validation, expired,
    internal, unavailable, hang, or cold; warm answers follow."""
    quotas: dict[str, float] = field(default_factory=dict)
    boots: dict[str, int] = field(default_factory=dict)
    """How often an instance of each endpoint has started."""
    answer_seconds: float = 0.005
    container_port: int | None = None
    """Of a real server that answers instead, as behind a real endpoint."""
    bodies: list[int] = field(default_factory=list)
    signatures: list[str] = field(default_factory=list)
    points_are_late: bool = False
    points: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def environment(self) -> dict[str, str]:
        """What makes boto3 come here."""
        return {
            "AWS_ACCESS_KEY_ID": "AKIAFAKE",
            "AWS_SECRET_ACCESS_KEY": "fake",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/nonexistent",
            "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
            "AWS_ENDPOINT_URL": self.moto_url,
            "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": self.url,
            "AWS_ENDPOINT_URL_SERVICE_QUOTAS": self.url,
            "PRUMO_CLOUDWATCH_SECONDS": "5",
        }

    def client(self, service: str) -> Any:
        """A client of moto."""
        return boto3.client(
            service,
            region_name=REGION,
            endpoint_url=self.moto_url,
            aws_access_key_id="AKIAFAKE",
            aws_secret_access_key="fake",  # noqa: S106 (no secret)
        )

    def resources(self) -> list[str]:
        """Everything in the account that somebody pays for or that lies about."""
        sagemaker = self.client("sagemaker")
        found = [each["EndpointName"] for each in sagemaker.list_endpoints()["Endpoints"]]
        found += [
            each["EndpointConfigName"]
            for each in sagemaker.list_endpoint_configs()["EndpointConfigs"]
        ]
        found += [each["ModelName"] for each in sagemaker.list_models()["Models"]]
        return found + [each["Name"] for each in self.client("s3").list_buckets()["Buckets"]]

    def push_image(self, name: str, *architectures: str) -> None:
        """A repository with an image, as a list of platforms."""
        media_type = "application/vnd.docker.distribution.manifest.list.v2+json"
        platforms = [
            {
                "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
                "size": 100,
                "digest": f"sha256:{place:064x}",
                "platform": {"architecture": each, "os": "linux"},
            }
            for place, each in enumerate(architectures)
        ]
        manifest = {"schemaVersion": 2, "mediaType": media_type, "manifests": platforms}
        repository, _, tag = name.partition(":")
        ecr = self.client("ecr")
        ecr.create_repository(repositoryName=repository)
        ecr.put_image(
            repositoryName=repository,
            imageManifest=json.dumps(manifest),
            imageManifestMediaType=media_type,
            imageTag=tag or "latest",
        )

    def count(self, endpoint: str, seconds: float, setup_seconds: float | None) -> None:
        """Points as SageMaker sends them to CloudWatch: in microseconds."""
        dimensions = [
            {"Name": "EndpointName", "Value": endpoint},
            {"Name": "VariantName", "Value": "all"},
        ]
        values = {"ModelLatency": seconds, "OverheadLatency": 0.002}
        if setup_seconds is not None:
            values["ModelSetupTime"] = setup_seconds
        data = [
            {
                "MetricName": name,
                "Dimensions": dimensions,
                "Timestamp": datetime.now(UTC),
                "Value": value * 1e6,
                "Unit": "Microseconds",
            }
            for name, value in values.items()
        ]
        if self.points_are_late:
            self.points += data
        else:
            self.client("cloudwatch").put_metric_data(Namespace="AWS/SageMaker", MetricData=data)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    aws: FakeAws

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if "ServiceQuotas" in self.headers.get("X-Amz-Target", ""):
            quotas = [{"QuotaName": n, "Value": v} for n, v in self.aws.quotas.items()]
            self._send(200, {"Quotas": quotas})
        elif self.path.endswith("/invocations"):
            self._invoke(self.path.split("/")[2], body)
        else:
            self._send(404, {"message": "unknown"}, "UnknownOperationException")

    def _invoke(self, endpoint: str, body: bytes) -> None:
        aws = self.aws
        with aws.lock:
            aws.bodies.append(len(body))
            aws.signatures.append(self.headers.get("Authorization", ""))
            fault = aws.faults.pop(0) if aws.faults else ""
        if not self.headers.get("Authorization", "").startswith("AWS4-HMAC-SHA256 Credential="):
            self._send(403, {"message": "not signed"}, "MissingAuthenticationTokenException")
            return
        errors: dict[str, tuple[int, str, dict[str, Any]]] = {
            "throttled": (429, "ThrottlingException", {}),
            "validation": (400, "ValidationError", {}),
            "expired": (403, "ExpiredTokenException", {}),
            "internal": (500, "InternalFailure", {}),
            "dependency": (530, "InternalDependencyException", {}),
            "unavailable": (503, "ServiceUnavailable", {}),
            "model error": (
                424,
                "ModelError",
                {"OriginalStatusCode": 500, "OriginalMessage": "boom", "LogStreamArn": "arn"},
            ),
        }
        if fault in errors:
            status, kind, more = errors[fault]
            self._send(status, {"Message": f"{fault}!", **more}, kind)
            return
        if fault == "hang":
            time.sleep(3)
        if aws.container_port is not None:
            self._pass_on(aws.container_port, body)
            return
        setup = None
        if fault == "cold" or endpoint not in aws.boots:
            aws.boots[endpoint], setup = aws.boots.get(endpoint, 0) + 1, 0.2
            time.sleep(setup)
        time.sleep(aws.answer_seconds)
        aws.count(endpoint, aws.answer_seconds, setup)
        self._send(200, {"label": "x", "boot_id": f"{endpoint}-{aws.boots[endpoint]}"})

    def _pass_on(self, port: int, body: bytes) -> None:
        """Only InvokeEndpoint's own headers reach the container, and come back from it."""
        passed = {name: self.headers[name] for name in _PASSED if name in self.headers}
        with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("POST", "/invocations", body, passed)
            answer = connection.getresponse()
            content = answer.read()
        self.send_response(answer.status)
        for name in _PASSED:
            if name in answer.headers:
                self.send_header(name, answer.headers[name])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _send(self, status: int, content: dict[str, Any], error: str = "") -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if error:
            self.send_header("x-amzn-ErrorType", f"{error}:http://internal.amazon.com/")
        self.send_header("x-Amzn-Invoked-Production-Variant", "all")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def fake_aws() -> Iterator[FakeAws]:
    """An empty account."""
    aws = FakeAws()
    handler = type("Handler", (_Handler,), {"aws": aws})
    with moto_account() as account, ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        aws.moto_url = account["AWS_ENDPOINT_URL"]
        aws.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield aws
        finally:
            server.shutdown()
            reset(aws)


def reset(aws: FakeAws) -> None:
    """Empty the account: moto's state belongs to its process."""
    import urllib.request  # noqa: PLC0415

    request = urllib.request.Request(f"{aws.moto_url}/moto-api/reset", method="POST")  # noqa: S310
    urllib.request.urlopen(request).read()  # noqa: S310
