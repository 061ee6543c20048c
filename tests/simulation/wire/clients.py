"""botocore's own clients, each of one simulated process: what they send goes over the simulated network.

Serialising, parsing, retries, their quota and their back-off are botocore's. Only the sending of a request
and the waiting before the next try are simulated. A client is made once for each service; a process has a
copy of it, for making one takes longer than a whole history.
"""

import base64
import copy
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, cast
from unittest.mock import patch

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.exceptions import BotoCoreError
from botocore.hooks import first_non_none_response
from botocore.retries.quota import RetryQuota

from duebell_shared.backend import Backend
from duebell_shared.parallel import Parallel
from duebell_shared.queue.store import Store
from duebell_shared.settings import Settings
from tests.simulation.aws import Aws
from tests.simulation.weather import CALM
from tests.simulation.world import Process, World
from tests.support import REGION

from .network import Answer, Network, Try

#: The parsed headers of an answer to the first try.
_METADATA = {"RequestId": "", "HTTPStatusCode": 200, "HTTPHeaders": {}, "RetryAttempts": 0}


def backend_over(network: Network, process: Process, settings: Settings) -> Backend:
    """A backend whose every call goes over this network.

    botocore serialises and parses only calls that are not answered as they should be: it takes three times as
    long to do that with all, and finds nothing more.
    """
    session = ProcessSession(network, process)
    return Backend.connect(
        settings,
        cast("Any", session),
        clock=process.clock,
        sleep=process.sleep,
        parallel=Parallel(threads=1),
    )


class ProcessSession:
    """The part of a boto3 session that `Backend` uses, as one process has it."""

    def __init__(self, network: Network, process: Process) -> None:
        self._network = network
        self._process = process

    def client(self, service: str, *, config: Config) -> Any:
        template = _template(service, config)
        client: Any = object.__new__(template.kind)
        client.__dict__.update(template.client.__dict__)
        events = _Events(template, self._process)
        http = _Http(self._network, self._process, service, config)
        endpoint = copy.copy(template.client._endpoint)
        endpoint._event_emitter = events
        endpoint.http_session = http
        meta = copy.copy(template.client.meta)
        meta.events = events
        client.__dict__.update(_endpoint=endpoint, meta=meta, http=http)
        return client


class _Template(NamedTuple):
    """A client as botocore makes it, the class of its copies, and the retry quota that it asks."""

    client: Any
    kind: type
    quota: "_Quota"


class _Quota:
    """The retry quota of the process that makes the call."""

    def __init__(self) -> None:
        self.current = RetryQuota()

    def acquire(self, amount: int) -> bool:
        return self.current.acquire(amount)

    def release(self, amount: int) -> None:
        self.current.release(amount)


@lru_cache
def _template(service: str, config: Config) -> _Template:
    session = boto3.Session(
        region_name=REGION, aws_access_key_id="simulated", aws_secret_access_key="simulated"
    )
    quota = _Quota()
    with patch("botocore.retries.quota.RetryQuota", lambda: quota):
        client = session.client(cast("Any", service), config=config)
    return _Template(client, _simulated(type(client)), quota)


def _simulated(kind: type) -> type:
    class Simulated(kind):  # type: ignore[misc]
        http: "_Http"

        def _make_api_call(self, operation: str, given: dict[str, Any]) -> Any:
            if (answer := self.http.send_first(operation, given)) is None:
                return super()._make_api_call(operation, given)
            self.meta.events.quota.release(1)  # as after each call that is answered at the first try
            return {**answer, "ResponseMetadata": _METADATA}

    return Simulated


class _Events:
    """A client's events, as one process has them: waiting before a retry takes simulated time."""

    def __init__(self, template: _Template, process: Process) -> None:
        self.quota = RetryQuota()
        self._emitter = template.client.meta.events
        self._shared_quota = template.quota
        self._process = process

    def emit(self, event_name: str, **given: Any) -> Any:
        self._shared_quota.current = self.quota
        responses = self._emitter.emit(event_name, **given)
        if event_name.startswith("needs-retry."):
            delay = first_non_none_response(responses)
            if delay:
                self._process.sleep(delay)
                return [(None, 0)]  # the endpoint tries again at once
        return responses

    def __getattr__(self, name: str) -> Any:
        return getattr(self._emitter, name)


class _Http:
    """Sends the requests of one client."""

    def __init__(self, network: Network, process: Process, service: str, config: Any) -> None:
        self._network = network
        self._process = process
        self._service = service
        self._timeouts: tuple[float, float] = (config.connect_timeout, config.read_timeout)
        self._came: Answer | BotoCoreError | None = None  # of a first try that botocore is about to send

    def send_first(self, operation: str, given: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The answer to the first try, if it is one that botocore has nothing to decide about.

        Else None: botocore is to make the call from the beginning, and finds there what has come of that try.
        """
        try:
            answer = self._network.exchange(
                self._process, Try(self._service, operation, given, *self._timeouts)
            )
        except BotoCoreError as error:
            self._came = error
            return None
        if answer.status < 300:
            return answer.content
        self._came = answer
        return None

    def send(self, request: AWSPreparedRequest) -> AWSResponse:
        came, self._came = self._came, None
        if isinstance(came, BotoCoreError):
            raise came
        if came is None:
            came = self._network.exchange(
                self._process, Try(self._service, *decoded(request), *self._timeouts)
            )
        headers: Any = {"x-amzn-RequestId": ""}
        return AWSResponse(request.url, came.status, headers, cast("Any", _Body(came.encoded())))

    def close(self) -> None:
        """Nothing is open."""


class _Body:
    """The body of an answer, as urllib3 has it."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self) -> Iterator[bytes]:
        yield self._body

    def read(self, _: int | None = None) -> bytes:
        body, self._body = self._body, b""
        return body


def decoded(request: AWSPreparedRequest) -> tuple[str, Mapping[str, Any]]:
    headers: Any = request.headers
    body: Any = request.body
    if target := headers.get("X-Amz-Target"):
        return _text(target).partition(".")[2], json.loads(body or b"{}", object_hook=_binary)
    # In REST, which is Lambda's alone
    return "Invoke", {"InvocationType": _text(headers["X-Amz-Invocation-Type"]), "Payload": body}


def _binary(given: dict[str, Any]) -> dict[str, Any]:
    """The bytes that JSON has in base64."""
    return {"B": base64.b64decode(given["B"])} if given.keys() == {"B"} else given


def _text(header: str | bytes) -> str:
    return header.decode() if isinstance(header, bytes) else header


def store_on_the_wire() -> Store:
    """A store over a network on which nothing goes wrong, for tests outside of a history."""
    world = World(1)
    network = Network(Aws(world, CALM, lambda *_: None), Settings())
    return backend_over(network, _Timeless(world, "test"), Settings()).store


class _Timeless(Process):
    """A process outside of the world's time."""

    def sleep(self, seconds: float) -> None:
        """Goes on at once."""
