"""The network between a process and AWS: each try of the SDK's is one exchange, and may go wrong.

A try that is not answered, or with a status of 500 or above, may have taken effect, may not, or takes effect
later. A try that is refused has none.
"""

import base64
import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
)

from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.queue.items import task_of
from duebell_shared.queue.records import ARMING, unpack
from duebell_shared.settings import Settings
from duebell_shared.tasks.task import Task
from tests.simulation.aws import Aws
from tests.simulation.world import Process

from .dynamodb import RECORDS, DynamoDb
from .refused import Refused, invalid

#: Items that a Query evaluates before it answers with a page: few, so that what goes on between pages shows.
_PAGE = 3

#: The likelihood that the next try of the same process at the same service has the same fault.
_GOES_ON = 0.7

#: A history makes few calls to EventBridge, and what they leave open matters most: so often more may each go
#: unanswered.
_DRAWS_OF_EVENTS = 8

#: The answer of each service to a try that it throttles; such a try had no effect.
_REFUSALS = {
    "dynamodb": ("ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"),
    "events": ("ConcurrentModificationException", "ThrottlingException"),
    "lambda": ("TooManyRequestsException",),
}

#: The answers of a service that fails; without JSON if a proxy in front of it fails.
_FAILURES = {
    "dynamodb": ((500, "InternalServerError"), (503, "ServiceUnavailable")),
    "events": ((500, "InternalException"), (503, "ServiceUnavailable")),
    "lambda": ((500, "ServiceException"),),
}
_WITHOUT_JSON = ((503, b"<html><body>Service Unavailable</body></html>"), (500, b""), (502, b""))

#: Seconds until a try that was not answered takes effect, at most. The arming protocol counts on it that no
#: call to EventBridge lands when the hold of whoever made it has ended.
_LANDS_WITHIN = {"dynamodb": 60.0, "events": 6.0, "lambda": 60.0}

#: The ends of a try of which the SDK learns nothing.
_SILENCES = {
    "time_out": ("no connection", "time-out", "time-out", "reset", "failure", "failure", "no JSON"),
    "fail": ("failure", "no JSON"),
    "outage": ("no connection", "time-out", "failure", "no JSON"),
}


class Try(NamedTuple):
    """One request as it is sent: to which service, and for how long the SDK waits."""

    service: str
    operation: str
    request: Mapping[str, Any]
    connect_timeout: float
    read_timeout: float


class Answer(NamedTuple):
    """The response: an answer that the SDK parses, or `body` as it is."""

    status: int
    content: Mapping[str, Any] | None = None
    body: bytes = b""

    def encoded(self) -> bytes:
        return self.body if self.content is None else json.dumps(self.content, default=_in_base64).encode()


def _in_base64(binary: bytes) -> str:
    return base64.b64encode(binary).decode()


class EventBridge:
    """One rule, with one target. PutRule replaces what it is not given, as AWS's does."""

    def __init__(self, aws: Aws, rule: str) -> None:
        self._aws = aws
        self._rule = rule
        self._kept = {"State": "ENABLED", "Description": "the one rule"}
        self._operations: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "DescribeRule": self._describe,
            "PutRule": self._put,
            "ListTargetsByRule": lambda _: {"Targets": [{"Id": "worker", "Arn": "arn:simulated"}]},
        }

    def answer(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        if operation not in self._operations:
            raise Refused("UnknownOperationException", operation)
        if request.get("Name", request.get("Rule")) != self._rule:
            raise Refused("ResourceNotFoundException", "the rule does not exist")
        return self._operations[operation](request)

    def _describe(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"Name": self._rule, "ScheduleExpression": self._aws.expression, **self._kept}

    def _put(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if odd := request.keys() - {"Name", "ScheduleExpression", "State", "Description", "RoleArn"}:
            raise invalid(f"PutRule with {', '.join(sorted(odd))} is not understood")
        self._kept = {"State": request.get("State", "ENABLED")}
        if description := request.get("Description"):
            self._kept["Description"] = description
        self._aws.put_rule(request["ScheduleExpression"])
        return {"RuleArn": "arn:simulated"}


class Lambda:
    """The worker's Lambda, which is invoked and not waited for."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws

    def answer(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        if operation != "Invoke" or request.get("InvocationType") != "Event":
            raise Refused("UnknownOperationException", operation)
        self._aws.invoke(json.loads(request["Payload"]))
        return {}


class Network:
    """AWS as all processes of a world reach it through the SDK."""

    def __init__(self, aws: Aws, settings: Settings) -> None:
        """`aws` says what goes wrong and when, and rings the rule.

        happened  how often a try that was not answered took effect now, later, never
        """
        self.happened: Counter[str] = Counter()
        self.dynamodb = DynamoDb(settings.table, page=_PAGE, hiccup=self._hiccup)
        self._aws = aws
        self._random = aws.world.random
        self._services: Mapping[str, Callable[[str, Mapping[str, Any]], dict[str, Any]]] = {
            "dynamodb": self.dynamodb.answer,
            "events": EventBridge(aws, settings.rule).answer,
            "lambda": Lambda(aws).answer,
        }
        self._spells: dict[tuple[Process, str], str] = {}

    @property
    def tasks(self) -> dict[tuple[str, str], Task]:
        return {key: task_of(item) for key, item in self.dynamodb.items.items() if key[0] not in RECORDS}

    @property
    def record(self) -> ArmingRecord | None:
        item = self.dynamodb.items.get((ARMING, ARMING))
        return unpack(ArmingRecord, item["record"]["B"]) if item else None

    def exchange(self, process: Process, sent: Try) -> Answer:
        process.wake()
        random = self._random
        fault = self._draw(process, sent.service)
        now = self._aws.world.now.isoformat(timespec="milliseconds")
        self._aws.trace.append(f"{now} {process.name}: {sent.operation} {_subject(sent)} {fault}")
        process.sleep(random.uniform(0.001, 0.01) if fault != "slow" else random.uniform(0.5, 4.0))
        if fault == "crash" and random.random() < 0.5:
            process.crash()
        if fault == "refuse":
            return refusal(Refused(random.choice(_REFUSALS[sent.service])))
        if fault in _SILENCES:
            may_take_effect = ("never", "now", "later") if fault != "outage" else ("never",)
            return self._unanswered(process, sent, random.choice(_SILENCES[fault]), may_take_effect)
        answer = self._take(sent)
        if fault == "crash":
            process.crash()
        if fault == "pause":
            process.pause(random.uniform(1, 400))
        process.sleep(random.uniform(0.001, 0.01))
        return answer

    def _take(self, sent: Try) -> Answer:
        try:
            content = self._services[sent.service](sent.operation, sent.request)
        except Refused as refused:
            return refusal(refused)
        return Answer(202 if sent.service == "lambda" else 200, content)

    def _unanswered(self, process: Process, sent: Try, what: str, may_take_effect: tuple[str, ...]) -> Answer:
        """A try that tells nothing: a time-out, a broken connection, a status of 500 or above."""
        random = self._random
        takes_effect = "never" if what == "no connection" else random.choice(may_take_effect)
        self.happened[takes_effect] += 1
        self._aws.trace.append(f"    {what}, takes effect {takes_effect}")
        if takes_effect == "now":
            self._take(sent)
        elif takes_effect == "later":
            self._land_later(lambda: self._take(sent), _LANDS_WITHIN[sent.service], sent.operation)
        url = f"https://{sent.service}.simulated"
        match what:
            case "no connection" if random.random() < 0.5:
                process.sleep(sent.connect_timeout)
                raise ConnectTimeoutError(endpoint_url=url)
            case "no connection":
                raise EndpointConnectionError(endpoint_url=url, error="refused")
            case "time-out":
                process.sleep(sent.read_timeout)
                raise ReadTimeoutError(endpoint_url=url)
            case "reset":
                raise ConnectionClosedError(endpoint_url=url)
            case "failure":
                status, code = random.choice(_FAILURES[sent.service])
                answer = refusal(Refused(code, status=status))
            case _:
                status, body = random.choice(_WITHOUT_JSON)
                answer = Answer(status, body=body)
        process.sleep(random.uniform(0.001, 0.01))
        return answer

    def _hiccup(self, effect: Callable[[], object]) -> str | None:
        """The fate of one of many: it is refused, or fails before, after or ahead of its effect."""
        if not self._aws.refuses():
            return None
        random = self._random
        what = random.choice(["throttled", "never", "now", "later"])
        self._aws.trace.append(f"    one of many: {what}")
        if what == "throttled":
            return random.choice(["ThrottlingError", "ProvisionedThroughputExceeded", "TransactionConflict"])
        if what == "now":
            effect()
        elif what == "later":
            self._land_later(effect, _LANDS_WITHIN["dynamodb"], "a statement")
        return "InternalServerError"

    def _land_later(self, effect: Callable[[], object], within: float, what: str) -> None:
        def land() -> None:
            self._aws.trace.append(f"{self._aws.world.now.isoformat(timespec='milliseconds')} lands: {what}")
            effect()

        self._aws.world.after(self._random.uniform(0.0, within), land)

    def _draw(self, process: Process, service: str) -> str:
        """The fault of this try; the fault of the one before may go on."""
        if self._aws.outage.hits(service, self._aws.world.now):
            return "outage"
        fault = self._spells.pop((process, service), "")
        if not fault or self._random.random() > _GOES_ON:
            fault = self._aws.draw()
        if not fault and service == "events":
            more = (self._aws.draw() for _ in range(_DRAWS_OF_EVENTS))
            fault = next((each for each in more if each in {"time_out", "fail"}), "")
        if fault in {"refuse", "time_out", "fail"}:
            self._spells[process, service] = fault
        return fault


def refusal(refused: Refused) -> Answer:
    return Answer(refused.status, {"__type": refused.code, "message": refused.message, **refused.more})


def _subject(sent: Try) -> object:
    request = sent.request
    about = request.get("Key") or request.get("Item") or request
    match sent.operation:
        case "GetItem" | "PutItem" | "UpdateItem":
            return about["id"]["S"]
        case "Query":
            return request["ExpressionAttributeValues"][":lane"]["S"]
        case "BatchExecuteStatement":
            return f"{request['Statements'][0]['Statement'][:6]} {len(request['Statements'])}"
        case "PutRule":
            return request["ScheduleExpression"]
    return ""
