"""Answers and refusals of the shared parts and of a deployment's parameters: see `transcript.txt`."""

import io  # noqa: F401
import pkgutil
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import msgspec
import pytest
import typer
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ClientError

import duebell_shared
from duebell_infra.deploy import bells, deliveries, options, parameters  # noqa: F401
from duebell_infra.deploy.artifacts import Artifacts  # noqa: F401
from duebell_infra.deploy.queue_table import QueueTable  # noqa: F401
from duebell_infra.deploy.worker import call_once  # noqa: F401
from duebell_shared import instants
from duebell_shared.deliveries.delivery import DeliverySecret, deliveries_in, delivery_of  # noqa: F401
from duebell_shared.deliveries.message import message_of
from duebell_shared.errors import DuebellError
from duebell_shared.schedules.calendars import Calendar, Calendars, KnownCalendars
from duebell_shared.schedules.schedule import Holidays, make_schedule
from duebell_shared.settings import Settings  # noqa: F401
from duebell_shared.tasks.new_task import new_task
from tests import transcript
from tests.shared.test_calls import written  # noqa: F401
from tests.support import NOON, REGION

FILES = sorted(Path(__file__).parent.glob("*.txt"))
SHARED = [one.name for one in pkgutil.walk_packages(duebell_shared.__path__, "duebell_shared.")]
NAMES = {name.rpartition(".")[2]: import_module(name) for name in SHARED}
DAYS = Calendar(days={date(2026, 12, d): f"day {d}" for d in (24, 25, 26, 28)}, ends=date(2026, 12, 31))
known = KnownCalendars(lambda: Calendars(calendars={"xmas": DAYS}), lambda: NOON)
replace = msgspec.structs.replace


def noon(minute: int, second: int = 0) -> datetime:
    return NOON.replace(minute=minute, second=second)


def after(**span: float) -> datetime:
    return NOON + timedelta(**span)


def once(**given: Any) -> Any:
    return new_task(id="x", action="act", due=after(hours=1), now=NOON, **given)


def hourly(**given: Any) -> Any:
    return new_task(id="x", action="act", schedule="rate(1 hour)", now=NOON, **given)


ONCE, HOURLY = once(), hourly()


def recurring(task: Any, **changes: Any) -> Any:
    return replace(task, recurrence=replace(task.recurrence, **changes))


def table_of(on: Any) -> Any:
    client = on.aws.client("dynamodb")
    return NAMES["table"].DynamoTable("duebell", client, sleep=lambda seconds: on.say(f"{seconds:.3f} s"))


def times(expression: str, zone: str | None = None, now: str = "2026-11-21T12:00", **given: Any) -> Any:
    at = instants.parse(now)
    given |= {"holidays": Holidays(given["holidays"])} if given.get("holidays") else {}
    made = make_schedule(expression, timezone=zone, now=at, calendars=known.named, **given)
    five, until = made.preview(5, at), min(at + timedelta(days=400), instants.LATEST)
    shown = [f"{one:%y-%m-%d %H:%M:%S}" for one in (*five, *made.latest(at, until, 2))]
    return [made.describe(), *shown, made.count(at, until), *made.on_holidays(at, until, 3)]


def delivers(to: Any, **fields: Any) -> Any:
    made = delivery_of({"name": "tell", "to": to, **fields})
    target, kind = made.target, made.target.kind
    shown = [target.region, target.account, target.name, target.shown, target.is_fifo, kind.parameter]
    return [str(kind), *shown, made.sent_as, made.permissions]


class Aws(boto3.Session):
    """AWS, which answers in turn. A client is made once, as that takes long."""

    client = cache(boto3.Session.client)

    def __init__(self) -> None:
        super().__init__(region_name=REGION)
        self.answers, self.requests = list[dict[str, Any]](), list[Any]()
        self.events.register("before-call", self.answered)
        self.events.register("provide-client-params", self.requested)

    def requested(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.requests.append([model.name, {**params}])

    def answered(self, **_: Any) -> Any:
        answer = self.answers.pop(0) if self.answers else {}
        return AWSResponse("", 400 if "Error" in answer else 200, HTTPHeaders(), None), answer


AWS = cache(Aws)


def asked(call: Callable[[Any], Any], *answers: dict[str, Any]) -> Any:
    """The requests to AWS of this call, its result or its error, and its words."""
    said, aws = list[str](), AWS()
    aws.answers, aws.requests = [*answers], []
    try:
        result = call(SimpleNamespace(aws=aws, say=said.append))
    except (ClientError, DuebellError, LookupError) as error:
        result = f"{type(error).__name__}: {error}"
    return [*aws.requests, result, *said]


def sends(to: str, *ids: str, answer: Any = None, trace: Any = None, **fields: Any) -> Any:
    """The requests to AWS for a delivery of these tasks, or to read its target, and the answers."""
    delivery = delivery_of({"name": "tell", "to": to, **fields})
    target, kind = delivery.target, delivery.target.kind
    task = new_task(id="x", action="tell", due=NOON, payload={"n": 1}, now=NOON)
    tasks = [msgspec.structs.replace(task, id=id, attempt=2, traceparent=trace) for id in ids]
    sent = [message_of(delivery, one) for one in tasks]

    def call(on: Any) -> Any:
        client = on.aws.client(kind.client)
        if not ids:
            return kind.look(client, target)
        return kind.send(client, target, sent), [one.size for one in sent]

    return asked(call, answer or {"Entries": [{}]})


def ask(line: str) -> str:
    try:
        return f"{msgspec.json.encode(eval(line, NAMES | globals()), enc_hook=str).decode()}\n"
    except (ArithmeticError, DuebellError, TypeError, ValueError, typer.BadParameter) as error:
        return f"{type(error).__name__}: {error}\n"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_answers_refusals_and_log_lines_are_as_kept(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="duebell")

    def asked_and_logged(line: str) -> str:
        caplog.clear()
        return ask(line) + "".join(f"{name}: {text}\n" for name, _, text in caplog.record_tuples)

    transcript.check(file, transcript.stage(), asked_and_logged)
