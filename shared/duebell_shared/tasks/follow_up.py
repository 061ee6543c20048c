"""Follow-ups: tasks that are added when a task is done, or has failed for good. Values and functions only.

Problem: a task and its follow-up are two items, and a run may die between the two writes. Solution: the write
that ends the task leaves it in the queue, with the follow-up that it *owes*. The id of the follow-up follows
from the task, so it cannot be added twice. After the add, another write takes the task out of the queue.
"""

from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from duebell_shared.errors import InvalidTask
from duebell_shared.instants import MILLISECOND, NO_TIME, Instant, render
from duebell_shared.payloads import payload as payloads
from duebell_shared.quoting import in_brief, quoted

from .checks import MAX_NAME, Count, check_name

#: The most bytes of a follow-up's payload as JSON: it is stored beside the payload of its task.
MAX_PAYLOAD = 32 * 1024

#: The longest time between a task and its follow-up.
MAX_AFTER = timedelta(days=36_525)


class Then(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task to be added when another one is done: `then=Then("invoice", {"order": 42})`.

    action   name of its action, 1 to 256 printable characters
    payload  its payload as for `Editor.add`, at most 32 KB as JSON
    after    the time from the end of the other task to its due date; a century at most
    result_as  the field of the payload, an object, that gets the return value of the other task's action. The
               action must be declared with `keep_result=True`; None: the result is not passed on
    """

    action: str
    payload: object = None
    after: timedelta = NO_TIME
    result_as: str | None = None


class FollowUp(msgspec.Struct, frozen=True, kw_only=True):
    """A `Then` as it is stored: `payload_json` is the payload as JSON text.

    after      the time from the end of the other task to its due date
    result_as  the field of the payload that gets the task's result; unset if it is not passed on
    """

    action: str
    payload_json: str = "{}"
    after: timedelta = NO_TIME
    result_as: str | UnsetType = UNSET

    @property
    def payload(self) -> Any:
        """The payload as JSON's own types."""
        return payloads.decode_or_text(self.payload_json)

    def payload_after(self, result_json: str | None, error: str | None) -> Any:
        """The payload after a task with this result. Raises InvalidTask if a result to pass on is missing."""
        payload = self.payload
        if self.result_as is UNSET:
            return payload
        if result_json is None:
            raise InvalidTask(
                "then.result_as", f"has no result to pass on: {error or 'the action kept none'}"
            )
        _check_result_as(self.result_as, payload)
        return {**payload, self.result_as: payloads.decode_or_text(result_json)}


class Cause(StrEnum):
    """The reason of a follow-up, which is a part of its id."""

    FAILED = "failed"
    DONE = "then"


class Members(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Counts of the tasks that a batch waits for: not ended, and ended in each way.

    open       whether more tasks can be added
    left       the number of tasks that have not ended
    on_failed  the action in place of the batch's, if any of the tasks has failed; None for none
    after      the time from the end of the last task to the due date of the batch
    """

    open: bool = True
    left: Count = 0
    done: Count = 0
    failed: Count = 0
    cancelled: Count = 0
    expired: Count = 0
    on_failed: str | None = None
    after: timedelta = NO_TIME

    @property
    def _ends(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in ("done", "failed", "cancelled", "expired")}

    @property
    def ended(self) -> int:
        """The number of tasks that have ended."""
        return sum(self._ends.values())

    def told(self, id: str) -> dict[str, Any]:
        """The counts as the follow-up of this batch gets them in its payload."""
        return {"id": id, **self._ends}

    @property
    def words(self) -> str:
        """The progress, for people."""
        return (
            f"{self.ended:,} of {self.ended + self.left:,} have ended, {self.failed:,} failed"
            f"{'; open for more' if self.open else ''}"
        )


class Owed(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A follow-up that is still to be added, kept on a task whose last attempt has ended.

    cause       whether the task was done or failed for good
    action      the action of the follow-up; empty if only the batch must count the task's end
    at          when the attempt ended; the follow-up counts as added then
    due         when the task was due
    attempts    the attempts that were made
    queued      the time until which a recurring task waits for its next occurrence, once the follow-up is
                added; None for a task that has ended
    expires_at  when the history of a task that has ended is deleted; not before the follow-up is added
    """

    cause: Cause
    action: str
    at: Instant
    due: Instant
    attempts: Count
    queued: Instant | None = None
    expires_at: Instant | None = None

    @cached_property
    def endings(self) -> tuple[str, ...]:
        """The two suffixes for the follow-up's id, after the task's id: the second if the first is taken.

        The first is `/failed` or `/then`; for an occurrence of a recurring task, with its due date. The
        second has the time of the attempt's end, so that a task that failed again has a second follow-up.
        """
        first = f"/{self.cause}" if self.queued is None else f"/{self.cause}@{render(self.due)}"
        return first, f"/{self.cause}@{render(self.at)}"


#: The most characters of the id of a task that has follow-ups, whose own ids are longer.
MAX_ID = MAX_NAME - len(f"/{Cause.FAILED}@2026-12-31T00:00:00.000Z")


def check_id(id: str) -> None:
    """Raise InvalidTask if the id is too long for a task that has a follow-up."""
    if len(id) > MAX_ID:
        raise InvalidTask(
            "id",
            f"must be at most {MAX_ID} characters, not {len(id)}: its follow-ups have longer ids, such as "
            f"'<id>/failed'",
        )


def read_then(given: object) -> Then:
    """The follow-up from a JSON object, in which lengths of time are seconds. Raises InvalidTask."""
    try:
        return msgspec.convert(given, Then, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidTask("then", in_brief(error)) from None


def check_then(then: object) -> FollowUp:
    """The follow-up as it is stored. Raises InvalidTask."""
    if not isinstance(then, Then | FollowUp):
        raise InvalidTask("then", f"must be a Then, such as Then('report'), not {type(then).__name__}")
    check_name("then.action", then.action)
    if not isinstance(then.after, timedelta):
        raise InvalidTask("then.after", f"must be a timedelta, not {type(then.after).__name__}")
    if not timedelta(0) <= then.after <= MAX_AFTER:
        raise InvalidTask("then.after", f"must be from 0 to {MAX_AFTER.days:,} days, not {then.after}")
    if isinstance(then, Then):
        try:
            payload_json = payloads.of_task(then.payload)
        except InvalidTask as error:
            raise InvalidTask(f"then.{error.field}", error.reason) from None
        then = FollowUp(
            action=then.action,
            payload_json=payload_json,
            after=then.after // MILLISECOND * MILLISECOND,
            result_as=UNSET if then.result_as is None else then.result_as,
        )
    if (size := len(then.payload_json.encode())) > MAX_PAYLOAD:
        raise InvalidTask(
            "then.payload",
            f"is {size:,} bytes as JSON, at most {MAX_PAYLOAD:,} are allowed: keep the data elsewhere, in S3 "
            "for example, and put its key here",
        )
    if then.result_as is not UNSET:
        _check_result_as(then.result_as, then.payload)
    return then


def no_result_of(action: str) -> InvalidTask:
    """The error of a follow-up that needs the result of an action that keeps no results."""
    return InvalidTask(
        "then.result_as",
        f"needs a result, and the action {quoted(action)} keeps none: declare it with keep_result=True",
    )


def _check_result_as(result_as: object, payload: object) -> None:
    check_name("then.result_as", result_as)
    if not isinstance(payload, dict):
        raise InvalidTask("then.payload", "must be an object: `result_as` names a field of it")
    if result_as in payload:
        raise InvalidTask(
            "then.result_as", f"names {quoted(result_as)}, which the payload has: leave it out there"
        )
