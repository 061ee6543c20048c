"""Intake messages, read into entries. Each entry adds, pushes or changes a task.

The fields are those of the HTTP API's bodies. In addition, an entry has `do`, and an entry for a change has
the task's `id`, which the API has in the address.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Self, cast

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

#: Values of `do` that are no verbs of an editor.
_ADD, _BACKFILL = "add", "backfill"

#: The verb of a push.
PUSH = "push"

_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

#: The detail-types of events of EventBridge. Each has a value of `do`.
_DETAIL_TYPES = tuple(f"duebell.{do}" for do in INTAKE_VERBS)


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message as SQS delivers it to the Lambda.

    id        SQS's id, the same each time the message is delivered
    receipt   the receipt handle of this delivery
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
        """The message in a record of Lambda's event. If the record has no time, it was sent `now`.

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
    """A change or a backfill of the task with this id, or a push: an add that delays the task if it waits.

    verb      the name of the editor's method, or PUSH
    fields    the arguments of the method; for a push, the task to add, with a due date
    max_wait  how long pushes can put the task off
    sent      when its message was sent
    mark      identifies the change if its message comes again
    """

    verb: str
    id: str
    mark: IntakeMark
    sent: datetime
    fields: Mapping[str, Any] = {}
    max_wait: timedelta | None = None


def check_rights(settings: Settings, wanted: NewTask | Change) -> None:
    """Raise InvalidTask for an entry that the settings of the intake do not allow.

    If the intake has actions, a task must have one of them, before and after a change, and so must its
    follow-ups. If it has prefixes, an id must begin with one of them, and so must the id of a batch.
    """
    if isinstance(wanted, Change):
        verb = _ADD if wanted.verb == PUSH else str(wanted.verb)
        id, fields = wanted.id, wanted.fields
    else:
        verb, id, fields = _ADD, str(wanted["id"]), cast("Mapping[str, Any]", wanted)
    verbs, prefixes = settings.intake_verbs, settings.intake_prefixes
    if verbs and verb not in verbs:
        raise InvalidTask("do", f"{quoted(verb)} may not be asked for here: {', '.join(verbs)} may")
    for field, named in (("id", id), ("batch", fields.get("batch"))):
        if prefixes and named and not str(named).startswith(prefixes):
            raise InvalidTask(field, f"must begin with one of {', '.join(prefixes)}, not be {quoted(named)}")
    then = fields.get("then")
    check_action(settings, "action", fields.get("action"))
    check_action(settings, "on_failed", fields.get("on_failed"))
    follow_up = then.get("action") if isinstance(then, Mapping) else then and then.action
    check_action(settings, "then", follow_up)


def check_action(settings: Settings, field: str, action: object) -> None:
    """Raise InvalidTask if messages may not add or change tasks of this action. Empty means no action."""
    allowed = settings.intake_actions
    if allowed and action and action not in allowed:
        raise InvalidTask(field, f"{quoted(action)} is not one of {', '.join(allowed)}")


ALL_RIGHTS = Settings()


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a message.

    place   its place in the message's list; None if the message is this entry alone
    given   its JSON value
    wanted  a task to add, which has an id; a change; or the error of an entry that cannot be right
    """

    message: Message
    wanted: NewTask | Change | InvalidInput
    place: int | None = None
    given: object = None

    @property
    def body(self) -> str:
        """The entry as a message of its own, without the other entries of its list."""
        if self.place is None:
            return self.message.body
        try:
            return json.dumps(self.given)  # in ASCII: SQS refuses some characters
        except RecursionError:  # it could be read, but is nested too deeply to be written
            return self.message.body


def entries_of(message: Message, settings: Settings = ALL_RIGHTS) -> list[Entry]:
    """The entries of a message. A wrong entry has an error, and so has a message that is not JSON."""
    try:
        given = read_json(message.body)
    except ValueError as error:
        wrong = InvalidTask("message", f"is not JSON as it is taken here: {error}")
        return [Entry(message=message, wanted=wrong)]
    if isinstance(given, list) and len(given) > MAX_MANY:
        what = f"is a list of {len(given):,}, and at most {MAX_MANY:,} are taken: send several messages"
        return [Entry(message=message, wanted=InvalidTask("message", what))]
    if isinstance(given, list):
        return [_entry(message, settings, one, place) for place, one in enumerate(given)]
    return [_entry(message, settings, given)]


def _entry(message: Message, settings: Settings, given: object, place: int | None = None) -> Entry:
    wanted: NewTask | Change | InvalidInput
    try:
        check_rights(settings, wanted := _wanted(message, given, place))
    except InvalidInput as error:
        wanted = error
    return Entry(message=message, wanted=wanted, place=place, given=given)


def _wanted(message: Message, given: object, place: int | None) -> NewTask | Change:
    """The task or change that an entry asks for. Raises InvalidTask, naming the field."""
    if not isinstance(given, Mapping):
        raise InvalidTask("message", f"must be a JSON object or a list of them, not {quoted(given)}")
    source, fields = message.id, dict(given)
    if place is None and "detail-type" in given:
        source, fields = _event_fields(message, given)
    do = fields.pop("do", _ADD)
    if do not in INTAKE_VERBS:
        verbs = ", ".join(INTAKE_VERBS)
        raise InvalidTask("do", f"{quoted(do)} is not one of {verbs}; left out, it is {_ADD}")
    mark = IntakeMark(source=source, place=place or 0)
    if do == _ADD and fields.get("if_exists") == IfExists.PUSH:
        return _push(fields, message.sent, mark=mark)
    if do == _ADD:
        return _new_task(fields, message.sent, id=source if place is None else f"{source}-{place}")
    return _change(do, fields, message.sent, mark=mark)


def _event_fields(message: Message, event: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The event's id and the fields in its detail.

    The event's id is used because EventBridge may put an event into the queue twice, as two messages. It must
    be a UUID, as EventBridge makes it. With any other id, a sender could choose the author of the change.
    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-events-structure.html
    """
    kind, detail = event["detail-type"], event.get("detail")
    if kind not in _DETAIL_TYPES:
        raise InvalidTask("detail-type", f"{quoted(kind)} is not one of {', '.join(_DETAIL_TYPES)}")
    if not isinstance(detail, Mapping):
        raise InvalidTask("detail", f"must be an object with the fields of a task, not {quoted(detail)}")
    if "do" in detail:
        raise InvalidTask("do", "cannot be combined with a detail-type, which says what to do: leave it out")
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
        raise InvalidTask("max_wait", "needs if_exists 'push'")
    task = fields_of_json(NewTask, fields)
    task["id"] = check_name("id", id if task.get("id") is None else task["id"])
    return _counted_from(sent, task)


def _push(fields: dict[str, Any], sent: datetime, *, mark: IntakeMark) -> Change:
    del fields["if_exists"]
    given = fields.pop("max_wait", None)
    max_wait = None if given is None else read_seconds("max_wait", given)
    task = fields_of_json(NewTask, fields)
    check_not_recurring(task.get("schedule"))
    if task.get("id") is None:
        raise InvalidTask("id", "is missing: a push needs one, by which the waiting task is found")
    return Change(
        verb=PUSH,
        id=check_name("id", task["id"]),
        fields=_counted_from(sent, task),
        max_wait=Policy.of(IfExists.PUSH, max_wait).max_wait,
        sent=sent,
        mark=mark,
    )


#: The fields of an entry beside its id, by `do`. An update takes all fields of a change.
_TAKES = {Verb.CANCEL: (), Verb.MOVE: ("due", "in"), _BACKFILL: ("start", "end", "per_second")}


def _change(do: str, fields: dict[str, Any], sent: datetime, *, mark: IntakeMark) -> Change:
    id = fields.pop("id", None)
    if id is None:
        raise InvalidTask("id", f"is missing: name the task to {do}")
    takes = _TAKES.get(do, fields)
    for name in fields:
        if name not in takes:
            names = ", ".join(("id", *takes))
            raise InvalidTask(shortened(name), f"is no field for do {quoted(do)}, which takes {names}")
    given: Mapping[str, Any] = {}
    if do == _BACKFILL:
        for name in ("start", "end"):
            if name not in fields:
                raise InvalidTask(name, "is missing: a backfill needs the start and the end of a range")
            fields[name] = read_instant(name, fields[name])
        given = fields
    elif do != Verb.CANCEL:
        change = fields_of_json(TaskChange, {"due": None, **fields} if do == Verb.MOVE else fields)
        check_change(change)
        if "due" in change:
            change["due"] = check_due(change["due"], sent)  # counted from when the message was sent
        given = cast("Mapping[str, Any]", change)
    return Change(verb=do, id=check_name("id", id), mark=mark, sent=sent, fields=given)


def _counted_from(sent: datetime, task: NewTask) -> NewTask:
    """The task with `in` counted from when the message was sent, however long it waited."""
    if task.get("schedule") is not None:
        return task
    return task | {"due": check_due(task.get("due"), sent)}
