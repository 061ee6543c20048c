"""Intake messages, read into entries: each adds a task, pushes one that may be there, or changes one.

The fields are those of the HTTP API's bodies, read by the same `values`. Beside them an entry has `do`, and
for a change the `id` that is part of the API's address.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Self, TypeVar, cast

import msgspec

from duebell_editor.library.change_many import MAX_MANY
from duebell_shared.errors import InvalidInput, InvalidTask
from duebell_shared.instants import MOST_SKEW
from duebell_shared.payloads.payload import read_json
from duebell_shared.queue.task_queue import Policy, check_not_recurring
from duebell_shared.quoting import quoted, shortened
from duebell_shared.settings import INTAKE_VERBS, Settings
from duebell_shared.tasks.checks import check_due, check_name, fit_traceparent, read_instant, read_seconds
from duebell_shared.tasks.fields import IfExists, NewTask, TaskChange, fields_of_json
from duebell_shared.tasks.new_task import check_change
from duebell_shared.tasks.status import Verb
from duebell_shared.tasks.task import IntakeMark

#: The values of `do`: what an entry does. An event of EventBridge has them in its detail-type.
_ADD, _BACKFILL, _DO = "add", "backfill", INTAKE_VERBS
#: Characters that SQS refuses, and which JSON can have escaped.
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
_NOT_IN_SQS = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_F = TypeVar("_F", NewTask, TaskChange)
_DETAIL_TYPES = tuple(f"duebell.{do}" for do in _DO)


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message as SQS delivers it to the Lambda.

    id        SQS's id, the same each time the message is delivered
    receipt   that of this delivery
    body      its text
    sent      when it was sent
    received  how often it has been delivered, by SQS's count
    traceparent  the W3C trace context in its attribute of this name, which instrumented clients set
    """

    id: str
    receipt: str
    body: str
    sent: datetime
    received: int
    traceparent: str | None = None

    @classmethod
    def of(cls, record: Mapping[str, Any], now: datetime) -> Self:
        """A record of the event that Lambda invokes with; sent `now` if it does not say when.

        https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
        """
        attributes = record.get("attributes", {})
        sent = attributes.get("SentTimestamp")
        trace = record.get("messageAttributes", {}).get("traceparent", {}).get("stringValue")
        return cls(
            id=record["messageId"],
            receipt=record["receiptHandle"],
            body=record["body"],
            sent=min(datetime.fromtimestamp(int(sent) / 1000, UTC), now + MOST_SKEW) if sent else now,
            received=int(attributes.get("ApproximateReceiveCount", 1)),
            traceparent=fit_traceparent(trace) if trace else None,
        )


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the task with this id, or a backfill of it.

    verb    the name of the editor's method
    fields  the arguments of the editor's method
    mark    what the change is known by when its message comes again
    """

    verb: str
    id: str
    mark: IntakeMark
    fields: Mapping[str, Any] = {}


class Push(msgspec.Struct, frozen=True, kw_only=True):
    """An add that puts off the task with its id, if that waits.

    task     the task to add; it has an id and a due date
    max_wait  how long pushes can put it off
    sent     when its message was sent
    mark     what the push is known by when its message comes again
    """

    task: NewTask
    max_wait: timedelta | None
    sent: datetime
    mark: IntakeMark

    @property
    def id(self) -> str:
        """The id of the task."""
        return str(self.task["id"])


class Rights(msgspec.Struct, frozen=True, kw_only=True):
    """The rights of messages, by the settings `DUEBELL_INTAKE_ACTIONS`, `_VERBS` and `_PREFIXES`.

    actions   the actions that tasks may have, before and after a change, and those of their follow-ups
    verbs     the values that `do` may have
    prefixes  the beginnings that ids may have

    Empty is no restriction.
    """

    actions: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The rights that the settings give."""
        return cls(
            actions=settings.intake_actions, verbs=settings.intake_verbs, prefixes=settings.intake_prefixes
        )

    def check(self, wanted: "NewTask | Push | Change") -> None:
        """Raise InvalidTask for an entry that messages may not make."""
        task = wanted.task if isinstance(wanted, Push) else wanted
        if isinstance(task, Change):
            verb, id, fields = str(task.verb), task.id, task.fields
        else:
            verb, id, fields = _ADD, str(task["id"]), cast("Mapping[str, Any]", task)
        if self.verbs and verb not in self.verbs:
            raise InvalidTask("do", f"{quoted(verb)} may not be asked for here: {', '.join(self.verbs)} may")
        if self.prefixes and not id.startswith(self.prefixes):
            raise InvalidTask("id", f"must begin with one of {', '.join(self.prefixes)}, not be {quoted(id)}")
        then = fields.get("then")
        self.check_action("action", fields.get("action"))
        self.check_action("on_failed", fields.get("on_failed"))
        self.check_action("then", then.get("action") if isinstance(then, Mapping) else then and then.action)

    def check_action(self, field: str, action: object) -> None:
        """Raise InvalidTask for an action that messages may not add or change tasks of; empty is none."""
        if self.actions and action and action not in self.actions:
            raise InvalidTask(field, f"{quoted(action)} is not one of {', '.join(self.actions)}")


ALL_RIGHTS = Rights()


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a message.

    place   its place in the message's list; None if the message is this entry alone
    given   its JSON value
    wanted  a task to add, which has an id; a push; a change; or the error of an entry that cannot be right
    """

    message: Message
    wanted: NewTask | Push | Change | InvalidInput
    place: int | None = None
    given: object = None

    @property
    def body(self) -> str:
        """The entry as a message of its own: of a list, only this entry, no larger than it was there."""
        if self.place is None:
            return self.message.body
        try:
            text = json.dumps(self.given, ensure_ascii=False, separators=(",", ":"))
            return _NOT_IN_SQS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
        except RecursionError:  # it could be read, but is nested too deeply to be written
            return self.message.body


def entries_of(message: Message, rights: Rights = ALL_RIGHTS) -> list[Entry]:
    """The entries of a message. One that cannot be right has an error, as has a message that is no JSON."""
    try:
        given = read_json(message.body)
    except ValueError as error:
        wrong = InvalidTask("message", f"is not JSON as it is taken here: {error}")
        return [Entry(message=message, wanted=wrong)]
    if isinstance(given, list) and len(given) > MAX_MANY:
        what = f"is a list of {len(given):,}, and at most {MAX_MANY:,} are taken: send several messages"
        return [Entry(message=message, wanted=InvalidTask("message", what))]
    if isinstance(given, list):
        return [_entry(message, rights, one, place) for place, one in enumerate(given)]
    return [_entry(message, rights, given)]


def _entry(message: Message, rights: Rights, given: object, place: int | None = None) -> Entry:
    wanted: NewTask | Push | Change | InvalidInput
    try:
        rights.check(wanted := _wanted(message, given, place))
    except InvalidInput as error:
        wanted = error
    return Entry(message=message, wanted=wanted, place=place, given=given)


def _wanted(message: Message, given: object, place: int | None) -> NewTask | Push | Change:
    """The task, push or change that an entry asks for. Raises InvalidTask, naming the field."""
    if not isinstance(given, Mapping):
        raise InvalidTask("message", f"must be a JSON object or a list of them, not {quoted(given)}")
    source, fields = message.id, dict(given)
    if place is None and "detail-type" in given:
        source, fields = _event_fields(message, given)
    do = fields.pop("do", _ADD)
    if do not in _DO:
        raise InvalidTask("do", f"{quoted(do)} is not one of {', '.join(_DO)}; left out, it is {_ADD}")
    mark = IntakeMark(source=source, place=place or 0)
    if do == _ADD and fields.get("if_exists") == IfExists.PUSH:
        return _push(fields, message.sent, mark=mark)
    if do == _ADD:
        return _new_task(fields, message.sent, id=source if place is None else f"{source}-{place}")
    if do == _BACKFILL:
        return _backfill(fields, mark=mark)
    return _change(Verb(do), fields, message.sent, mark=mark)


def _event_fields(message: Message, event: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The event's id and the fields in its detail.

    Its own id, for EventBridge may put one event into the queue twice, as two messages. Only if it is a UUID,
    as EventBridge gives it: whoever may send could choose any other, and so the author of the change.
    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-events-structure.html
    """
    kind, detail = event["detail-type"], event.get("detail")
    if kind not in _DETAIL_TYPES:
        raise InvalidTask("detail-type", f"{quoted(kind)} is not one of {', '.join(_DETAIL_TYPES)}")
    if not isinstance(detail, Mapping):
        raise InvalidTask("detail", f"must be an object with the fields of a task, not {quoted(detail)}")
    if "do" in detail:
        raise InvalidTask("do", "goes without a detail-type, which says what to do: leave it out")
    id = event.get("id")
    source = id if isinstance(id, str) and _UUID.fullmatch(id) else message.id
    return source, {**detail, "do": kind.removeprefix("duebell.")}


def _new_task(fields: dict[str, Any], sent: datetime, *, id: str) -> NewTask:
    if (if_exists := fields.pop("if_exists", IfExists.KEEP)) != IfExists.KEEP:
        raise InvalidTask(
            "if_exists",
            f"is 'keep' or 'push' here, not {quoted(if_exists)}, as a message may come twice: leave it out, "
            f"and change a task that is there by do 'update'",
        )
    if "max_wait" in fields:
        raise InvalidTask("max_wait", "goes with if_exists 'push'")
    task = fields_of_json(NewTask, fields)
    if task.get("due") is None and task.get("schedule") is None:
        raise InvalidTask("due", "is missing: say when it shall run by `due` or `in`, or give a `schedule`")
    task["id"] = check_name("id", id if task.get("id") is None else task["id"])
    return _counted_from(sent, task)


def _push(fields: dict[str, Any], sent: datetime, *, mark: IntakeMark) -> Push:
    del fields["if_exists"]
    given = fields.pop("max_wait", None)
    max_wait = None if given is None else read_seconds("max_wait", given)
    task = fields_of_json(NewTask, fields)
    check_not_recurring(task.get("schedule"))
    if task.get("id") is None:
        raise InvalidTask("id", "is missing: a push needs one, by which the waiting task is found")
    if task.get("due") is None:
        raise InvalidTask("due", "is missing: say when it shall run by `due` or `in`")
    check_name("id", task["id"])
    return Push(
        task=_counted_from(sent, task),
        max_wait=Policy.of(IfExists.PUSH, max_wait).max_wait,
        sent=sent,
        mark=mark,
    )


def _change(verb: Verb, fields: dict[str, Any], sent: datetime, *, mark: IntakeMark) -> Change:
    id = fields.pop("id", None)
    if id is None:
        raise InvalidTask("id", f"is missing: name the task to {verb.rule.words}")
    id = check_name("id", id)
    if verb is Verb.CANCEL:
        return Change(verb=verb, id=id, mark=mark, fields=_none_of(fields, verb))
    if verb is Verb.MOVE:
        _none_of({name: value for name, value in fields.items() if name not in {"due", "in"}}, verb)
        fields = {"due": None, **fields}
    change = fields_of_json(TaskChange, fields)
    check_change(change)
    if change.get("due", sent) is None:
        raise InvalidTask("due", "is missing: say when it shall run by `due` or `in`")
    if change.keys() == {"due"}:  # as in the API: a running task can be moved, but not updated
        verb = Verb.MOVE
    return Change(verb=verb, id=id, mark=mark, fields=_counted_from(sent, change))


def _backfill(fields: dict[str, Any], *, mark: IntakeMark) -> Change:
    id, given = fields.pop("id", None), {"per_second": fields.pop("per_second", None)}
    for name in ("start", "end"):
        if name not in fields:
            raise InvalidTask(name, "is missing: a backfill needs the start and the end of a range")
        given[name] = read_instant(name, fields.pop(name))
    for name in fields:
        raise InvalidTask(shortened(name), "does not go with do 'backfill'")
    return Change(verb=_BACKFILL, id=check_name("id", id), mark=mark, fields=given)


def _none_of(fields: dict[str, Any], verb: Verb) -> dict[str, Any]:
    for name in fields:
        takes = "id, due and in" if verb is Verb.MOVE else "id"
        raise InvalidTask(shortened(name), f"does not go with do {quoted(verb.value)}, which takes {takes}")
    return fields


def _counted_from(sent: datetime, given: _F) -> _F:
    """The fields with `in` counted from when the message was sent, however long it waited."""
    due = given.get("due")
    return given | {"due": check_due(due, sent)} if isinstance(due, timedelta) else given
