"""Answers and refusals of the shared parts and of a deployment's parameters: see `transcript.txt`."""

from datetime import date, datetime, timedelta  # noqa: F401
from pathlib import Path
from typing import Any

import boto3
import msgspec
import typer
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError

from duebell_infra.deploy import bells, deliveries, options, parameters  # noqa: F401
from duebell_shared import instants, quoting  # noqa: F401
from duebell_shared.deliveries.delivery import DeliverySecret, deliveries_in, delivery_of  # noqa: F401
from duebell_shared.deliveries.message import message_of
from duebell_shared.errors import InvalidInput
from duebell_shared.payloads import json_schema, payload  # noqa: F401
from duebell_shared.schedules.calendars import Calendar, Calendars, KnownCalendars
from duebell_shared.schedules.schedule import Holidays, make_schedule
from duebell_shared.settings import Settings
from duebell_shared.tasks.new_task import new_task
from tests import transcript
from tests.support import NOON, REGION

DAYS = Calendar(days={date(2026, 12, d): f"day {d}" for d in (24, 25, 26, 28)}, ends=date(2026, 12, 31))
known = KnownCalendars(lambda: Calendars(calendars={"xmas": DAYS}), lambda: NOON)


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


def sends(to: str, *ids: str, answer: Any = (), trace: Any = None, **fields: Any) -> Any:
    """What is asked of AWS for a delivery of these tasks, or to look at its target, and the answers."""
    delivery, asked = delivery_of({"name": "tell", "to": to, **fields}), []
    target = delivery.target
    client: Any = boto3.client(target.kind.client, region_name=REGION)
    http = AWSResponse("", 400 if "Error" in answer else 200, {}, None)
    client.meta.events.register("provide-client-params", lambda params, **_: asked.append({**params}))
    client.meta.events.register("before-call", lambda **_: (http, {"Entries": [{}], **dict(answer)}))
    task = new_task(id="x", action="tell", due=NOON, payload={"n": 1}, now=NOON)
    sent = [
        message_of(delivery, msgspec.structs.replace(task, id=id, attempt=2, traceparent=trace)) for id in ids
    ]
    try:
        answers = target.kind.send(client, target, sent) if ids else target.kind.look(client, target)
        return [*asked, answers, [one.size for one in sent]]
    except ClientError as error:
        return [*asked, str(error)]


def ask(line: str) -> str:
    try:
        return f"{msgspec.json.encode(eval(line), enc_hook=str).decode()}\n"
    except (InvalidInput, TypeError, ValueError, typer.BadParameter) as error:
        return f"{type(error).__name__}: {error}\n"


def test_answers_and_refusals_are_as_kept() -> None:
    transcript.check(Path(__file__).with_name("transcript.txt"), transcript.stage(), ask)
