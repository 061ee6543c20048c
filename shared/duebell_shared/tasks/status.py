"""The statuses of a task, the verbs, which are the changes that users make, and which ended tasks are kept.

`Task`, the editor, the command line, the HTTP editor and its page use these tables. A verb's value is the
name of the editor's method.
"""

from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple

import msgspec


class Status(StrEnum):
    """The state of a task.

    scheduled → running → done, or back to scheduled (a retry, the next occurrence), or failed;
    scheduled ↔ paused; → cancelled; → expired (too late to run, by its expiry or its schedule's policy).
    reserved → scheduled, by its transaction. It is not run before, and deleted if no transaction confirms it.
    blocked → scheduled, when all tasks of the batch have ended.
    """

    SCHEDULED = "scheduled"
    RUNNING = "running"
    PAUSED = "paused"
    RESERVED = "reserved"
    BLOCKED = "blocked"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    @property
    def is_finished(self) -> bool:
        """Tell whether the task is history, so that no run reads it any more."""
        return self in FINISHED


#: The statuses of tasks that have ended, and are history.
FINISHED = frozenset({Status.DONE, Status.FAILED, Status.CANCELLED, Status.EXPIRED})


_WAITING = frozenset({Status.SCHEDULED, Status.PAUSED})
_FAILED = frozenset({Status.FAILED, Status.EXPIRED})


class VerbRules(NamedTuple):
    """The rules of a verb.

    words     the verb in a text before "task 42"
    done      the verb in a text after "task 42", once it is done
    means     its meaning, for users who choose it
    statuses  the statuses that a task must have for it
    for_many  whether it can be done to many tasks at once
    queues    whether it puts a task into the queue, so that the rule must be set for it
    instead   the value of the verb that does the same to tasks of other statuses; empty if none does
    """

    words: str
    done: str
    means: str
    statuses: frozenset[Status]
    for_many: bool = True
    queues: bool = True
    instead: str = ""


class Verb(StrEnum):
    """A change that users make to a stored task."""

    MOVE = "move"
    UPDATE = "update"
    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"
    RETRY = "retry"
    RUN_NOW = "run_now"

    @property
    def rules(self) -> VerbRules:
        """The rules of this verb."""
        return _RULES[self]

    def applies_to(self, status: Status, *, recurs: bool) -> bool:
        """Tell whether a task of this status allows the verb. A recurring task is not moved while it runs."""
        overlaps = self is Verb.MOVE and recurs and status is Status.RUNNING
        return status in self.rules.statuses and not overlaps


_RULES = {
    Verb.MOVE: VerbRules(
        "move", "moved", "Give a task another due date.", _WAITING | {Status.RUNNING}, for_many=False
    ),
    Verb.UPDATE: VerbRules(
        "update", "updated", "Change what a task does, or its schedule.", _WAITING | _FAILED, for_many=False
    ),
    Verb.CANCEL: VerbRules(
        "cancel", "cancelled", "Never run a task; it is kept as history.",
        _WAITING | {Status.RUNNING, Status.RESERVED, Status.BLOCKED} | _FAILED, queues=False,
    ),
    Verb.PAUSE: VerbRules(
        "pause", "paused", "Take a task out of the queue until it is resumed.",
        frozenset({Status.SCHEDULED}), queues=False,
    ),
    Verb.RESUME: VerbRules(
        "resume", "resumed", "Put a paused task back in the queue.", frozenset({Status.PAUSED})
    ),
    Verb.RETRY: VerbRules(
        "retry", "set to be retried now", "Run a failed or expired task again, with all attempts.", _FAILED,
        instead="run_now",
    ),
    Verb.RUN_NOW: VerbRules(
        "run", "set to run now", "Run a task now; a recurring one once more.", frozenset({Status.SCHEDULED}),
        instead="retry",
    ),
}  # fmt: skip


#: The default retention of ended tasks.
RETENTION = timedelta(days=14)

#: Bytes of the largest payload that a done task keeps, unless chosen otherwise: with a payload of this size,
#: most items are below 3 KB.
KEPT_PAYLOAD = 2048


class History(StrEnum):
    """The ended tasks that are kept for the retention time. Failed and expired tasks always are.

    ALL     all ended tasks are kept and listed
    FAILED  done and cancelled tasks are found by their ids, but not listed: it saves a write unit for each
    NONE    a done task is deleted by the write that ends it, and its id is free again: a repeated add or
            import adds it anew. A cancelled task is found by its id
    """

    ALL = "all"
    FAILED = "failed"
    NONE = "none"


class RetentionPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The rules by which ended tasks are kept.

    retention    the time for which they are kept
    history      the ended tasks that are listed
    payload      bytes of the largest payload that a done task keeps, as JSON in UTF-8
    """

    retention: timedelta = RETENTION
    history: History = History.ALL
    payload: int = KEPT_PAYLOAD
