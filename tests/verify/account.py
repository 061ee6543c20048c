"""An account for verify's tests: moto, with a worker that is called and rung for by a clock of the test's."""

import json
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import boto3

from duebell import Worker
from duebell_infra.testing import InlinePool
from duebell_infra.verify import CHECKS, Finding, Result, verify
from duebell_shared.backend import Backend
from duebell_shared.bell.expression import next_ring
from duebell_shared.settings import Settings
from tests.support import REGION, Clock

__all__ = ["Account", "denied"]

#: The answer of a hook in place of AWS: the HTTP status and the document.
Answered = tuple[int, dict[str, Any]]

_CONTEXT = cast("Any", SimpleNamespace(get_remaining_time_in_millis=lambda: 900_000))


class Account:
    """A scheduler in an account.

    rings      whether the rule rings, when the clock passes its minute
    delay      how long after its minute it does
    during     what happens meanwhile, whenever verify waits
    worker     what is called and rung for
    waited     what verify said it was waiting for
    invoked    the events that the function was invoked with
    """

    def __init__(self, clock: Clock, settings: Settings, session: boto3.Session | None = None) -> None:
        """`session` is verify's, if it may not do everything."""
        self.clock = clock
        self.settings = settings
        self.rings = True
        self.delay = timedelta(seconds=4)
        self.invoked: list[dict[str, Any]] = []
        self.waited: list[str] = []
        self.during: Callable[[], None] = lambda: None
        self._rung: str | None = None
        self._hooks: dict[str, Callable[[dict[str, Any]], Answered | None]] = {}
        self.session = session or boto3.Session(region_name=REGION)
        self.session.events.register("before-call", self._answer)
        self.others = boto3.Session(region_name=REGION)
        self.backend = Backend.connect(settings, self.others, clock=clock, sleep=clock.sleep)
        self.worker = Worker(backend=self.backend, pool=lambda _: InlinePool())
        self.on("Invoke", self._invoke)

    @staticmethod
    def arn(queue: str) -> str:
        return f"arn:aws:sqs:{REGION}:123456789012:duebell-{queue}"

    def on(self, operation: str, hook: Callable[[dict[str, Any]], Answered | None]) -> None:
        """Have the hook answer verify's calls of this operation, or do something before AWS does."""
        self._hooks[operation] = hook

    def answer(self, operation: str, document: dict[str, Any], *, status: int = 200) -> None:
        self.on(operation, lambda _: (status, document))

    def refuse(self, operation: str, code: str, message: str = "as the test wants it") -> None:
        self.answer(operation, {"Error": {"Code": code, "Message": message}}, status=400)

    def sleep(self, seconds: float) -> None:
        """Let time pass for verify, and the rule ring."""
        before, earliest = self.backend.rule.read(), self.clock() - self.delay - timedelta(minutes=1)
        self.clock.sleep(seconds)
        self.during()
        rule = self.backend.rule.read()
        if rule.expression != before.expression:
            earliest = self.clock() - self.delay - timedelta(minutes=1)
        ring = next_ring(rule.expression, earliest)
        is_due = ring is not None and ring + self.delay <= self.clock()
        if is_due and rule.is_enabled and self.rings and rule.expression != self._rung:
            self._rung = rule.expression
            self.worker.handler(None, _CONTEXT)

    def verify(self, *, probe: bool = True) -> dict[str, Finding]:
        """The result of each check by its name."""
        return {finding.check: finding for finding in self.findings(probe=probe)}

    def check(self, name: str, *, probe: bool = True) -> Finding:
        """The finding of this check. Of the others, only that of conditions is made, and all is removed."""
        made = [check for check in CHECKS if check.name in {"insert", name, "nothing-left"}]
        with patch("duebell_infra.verify.CHECKS", made):
            return self.verify(probe=probe)[name]

    def findings(self, *, probe: bool = True) -> Any:
        return verify(
            self.session,
            self.settings,
            probe=probe,
            progress=self.waited.append,
            clock=self.clock,
            sleep=self.sleep,
        )

    def items(self) -> list[dict[str, Any]]:
        """All that is in the table, but for the arming record."""
        items = self.others.client("dynamodb").scan(TableName="duebell")["Items"]
        return [item for item in items if item["id"]["S"] not in {"arming", "worker"}]

    def _answer(self, model: Any, params: dict[str, Any], context: dict[str, Any], **_: Any) -> Any:
        hook = self._hooks.get(model.name)
        answered = hook(params) if hook else None
        if answered is None:
            return None
        status, document = answered
        metadata = {"HTTPStatusCode": status, "RetryAttempts": 0}
        return SimpleNamespace(status_code=status), {**document, "ResponseMetadata": metadata}

    def _invoke(self, params: dict[str, Any]) -> Answered:
        event = json.loads(params["body"])
        self.invoked.append(event)
        try:
            self.worker.handler(event, _CONTEXT)
        except Exception as error:  # noqa: BLE001 (as Lambda does, when it has tried enough)
            client = self.others.client("sqs")
            body = {"requestPayload": event, "responsePayload": {"errorType": type(error).__name__}}
            url = client.get_queue_url(QueueName="duebell-failed-runs")["QueueUrl"]
            client.send_message(QueueUrl=url, MessageBody=json.dumps(body))
        return 202, {"StatusCode": 202}


def denied(action: str) -> str:
    """AWS's answer when a permission is missing."""
    user = "arn:aws:sts::123456789012:assumed-role/looker/me"
    return (
        f"User: {user} is not authorized to perform: {action} on resource: x because no identity-based "
        f"policy allows the {action} action"
    )


def all_ok(found: dict[str, Finding], *but: str) -> bool:
    """Tell whether all checks are OK, but for these, and those that --no-probe leaves out."""
    wrong = [
        finding
        for name, finding in found.items()
        if name not in but and finding.result is not Result.OK and finding.found != "--no-probe"
    ]
    if wrong:
        raise AssertionError([(finding.check, finding.result, finding.found) for finding in wrong])
    return True
