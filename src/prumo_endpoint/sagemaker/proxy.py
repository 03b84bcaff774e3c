"""A local proxy in front of InvokeEndpoint, so that plain HTTP reaches a SageMaker endpoint.

    python -m prumo_endpoint.sagemaker.proxy

Settings come as a line of JSON; `{"port": …}` is the answer; it serves until the pipe closes. It
is a process of its own, so that the load generator's clock is not disturbed. It signs each
request. Throttling and errors arrive as the statuses that AWS answers, never retried; only a
request on a used connection that closes without any answer is sent again.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import ssl
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from prumo.errors import PrumoError, UnavailableError
from prumo_endpoint.exchange import LOCAL_HOST
from prumo_endpoint.sagemaker.account import Account, aws_errors
from prumo_endpoint.serverless.proxy import (
    NO_ANSWER,
    ClientConnection,
    Failure,
    InstanceConnection,
    Request,
    Response,
    error_response,
)
from prumo_endpoint.targets import TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Iterator

SIGNED_AS = "sagemaker"
# SageMaker gives up after 60 s; this only ends what is lost on the way.
_ANSWER_SECONDS = 90.0
_CONNECT_SECONDS = 20.0
_BACKLOG = 1024
_SUCCESS = range(200, 300)
_ATTRIBUTES = "x-amzn-sagemaker-custom-attributes"
_PASSED_HEADERS = {b"accept", b"content-type", _ATTRIBUTES.encode()}
BOOT_ID_ATTRIBUTE = "prumo-boot-id"
"""Asks Prumo's server for its boot id: AWS passes its header X-Prumo-Boot-Id on to nobody."""
_BOOT_ID = re.compile(rf"{BOOT_ID_ATTRIBUTE}=([\w.-]+)")


class Proxy:
    """Signs requests and passes them on; connections to AWS stay open."""

    def __init__(self, endpoint: str, account: Account) -> None:
        from botocore.auth import SigV4Auth  # noqa: PLC0415
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415

        self._endpoint = endpoint
        self._account = account
        self._signer, self._request = SigV4Auth, AWSRequest
        self._credentials = account.session.get_credentials()
        runtime = account.client("sagemaker-runtime", retries=False)
        self._url = runtime.meta.endpoint_url.rstrip("/") + f"/endpoints/{quote(endpoint, safe='')}"
        parts = urlsplit(self._url)
        self._host, self._path = parts.netloc, parts.path
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._place = (parts.hostname, parts.port or (443 if self._tls else 80))
        self._idle: list[InstanceConnection] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def handle(self, client: ClientConnection, request: Request) -> None:
        """Have a request answered."""
        task = asyncio.ensure_future(self._answer(client, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def connect_ahead(self) -> None:
        """Open a connection, so that the first request does not pay for it."""
        with suppress(OSError, TimeoutError):
            self._idle.append(await self._connect())

    async def _answer(self, client: ClientConnection, request: Request) -> None:
        try:
            if request.path == b"/ping":
                response = await asyncio.to_thread(self._health)
            elif request.path == b"/invocations" and request.method == b"POST":
                response = await self._invoke(request)
            else:
                response = error_response(404, "not_found", "there is /ping and POST /invocations")
        except (OSError, TimeoutError) as error:
            response = error_response(502, NO_ANSWER, f"{self._host}: {error}")
        except Failure as failure:
            response = failure.response()
        except PrumoError as error:
            response = error_response(502, "credentials", str(error))
        client.answer(response, _notes(response))

    def _health(self) -> Response:
        """SageMaker asks the container itself; what can be seen from here is its verdict."""
        with aws_errors(self._endpoint):
            said = self._account.sagemaker.describe_endpoint(EndpointName=self._endpoint)
        status = 200 if said["EndpointStatus"] == "InService" else 503
        return Response(status, b"", [], b"")

    async def _invoke(self, request: Request) -> Response:
        signed = self._signed(request)
        while True:
            is_reused = bool(self._idle)
            connection = self._idle.pop() if is_reused else await self._connect()
            if is_reused and not connection.is_open:
                continue
            if not connection.is_open:
                raise Failure(NO_ANSWER, f"{self._host} closed the connection at once")
            answer = await self._sent(connection, signed)
            # As a rule AWS had closed the idle connection and never took the request.
            if isinstance(answer, Failure) and answer.kind == NO_ANSWER and is_reused:
                continue
            break
        if isinstance(answer, Failure):
            raise answer
        if connection.is_open:
            self._idle.append(connection)
        return answer if answer.status in _SUCCESS else _refusal(answer)

    def _signed(self, request: Request) -> Request:
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in request.headers
            if name.lower() in _PASSED_HEADERS
        }
        headers.setdefault(_ATTRIBUTES, BOOT_ID_ATTRIBUTE)
        headers["host"] = self._host
        unsigned = self._request("POST", f"{self._url}/invocations", headers, request.body)
        with aws_errors("the AWS credentials"):
            if self._credentials is None:
                raise UnavailableError("there are no AWS credentials")
            frozen = self._credentials.get_frozen_credentials()
            self._signer(frozen, SIGNED_AS, self._account.region).add_auth(unsigned)
        signed = [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in unsigned.headers.items()
        ]
        path = f"{self._path}/invocations".encode("latin-1")
        return Request(b"POST", path, signed, request.body, keeps_connection=True)

    async def _connect(self) -> InstanceConnection:
        host, port = self._place
        name = host if self._tls else None
        opening = asyncio.get_running_loop().create_connection(
            InstanceConnection, host, port, ssl=self._tls, server_hostname=name
        )
        _, connection = await asyncio.wait_for(opening, _CONNECT_SECONDS)
        return connection

    async def _sent(self, connection: InstanceConnection, request: Request) -> Response | Failure:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Response | Failure] = loop.create_future()
        connection.send(request, answer.set_result)
        late = Failure(TIMEOUT, f"no answer within {_ANSWER_SECONDS:.0f} s")
        timer = loop.call_later(_ANSWER_SECONDS, connection.fail, late)
        try:
            return await answer
        finally:
            timer.cancel()


def _refusal(answer: Response) -> Response:
    """An error of AWS in the form in which Prumo's own servers say one; the status stays."""
    headers = {name.lower(): value for name, value in answer.headers}
    said: dict[str, Any] = {}
    with suppress(ValueError):
        content = json.loads(answer.body)
        said = content if isinstance(content, dict) else {}
    kind = headers.get(b"x-amzn-errortype", b"").decode("latin-1").partition(":")[0]
    kind = kind or str(said.get("__type") or said.get("code") or f"status {answer.status}")
    kind = kind.rpartition("#")[2]
    if (original := said.get("OriginalStatusCode")) is not None:
        kind = f"{kind} {original}"
    message = str(said.get("Message") or said.get("message") or "")
    return error_response(answer.status, kind, message)


def _notes(response: Response) -> list[tuple[str, str]]:
    """The boot id that a server puts into the custom attributes, as the load generator reads it."""
    for name, value in response.headers:
        is_ours = name.lower() == _ATTRIBUTES.encode()
        if is_ours and (found := _BOOT_ID.search(value.decode("latin-1"))):
            return [("X-Prumo-Boot-Id", found[1])]
    return []


@contextmanager
def running_proxy(endpoint: str, region: str) -> Iterator[int]:
    """The port of a proxy; its process ends with this block, or with this process."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "prumo_endpoint.sagemaker.proxy"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ,
    ) as process:
        assert process.stdin is not None  # noqa: S101 (asked for as pipes)
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(json.dumps({"endpoint": endpoint, "region": region}) + "\n")
        process.stdin.flush()
        said = json.loads(process.stdout.readline() or '{"error": "the proxy has ended"}')
        if "error" in said:
            raise UnavailableError(said["error"])
        yield said["port"]


async def _serve() -> None:
    settings = json.loads(await asyncio.to_thread(sys.stdin.readline))
    try:
        proxy = Proxy(settings["endpoint"], Account(settings["region"]))
    except PrumoError as error:
        _report({"error": str(error)})
        return
    await proxy.connect_ahead()
    server = await asyncio.get_running_loop().create_server(
        lambda: ClientConnection(proxy), LOCAL_HOST, 0, backlog=_BACKLOG
    )
    _report({"port": server.sockets[0].getsockname()[1]})
    await asyncio.to_thread(sys.stdin.read)
    os._exit(0)


def _report(content: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_serve())
