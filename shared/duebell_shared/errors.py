"""Every error that duebell raises on purpose, in one tree.

DuebellError
├── InvalidInput            the input cannot be right; nothing was written
│   ├── InvalidTask         a task's id, action, due date or payload
│   │   └── InvalidSchedule its schedule, time zone, start or end
│   ├── InvalidQuery        a filter, limit or cursor of a listing
│   ├── InvalidTransaction  a write of a transaction
│   └── InvalidSettings     an environment variable or a setting
├── TaskNotFound            no task with this id
├── TaskExists              the id is taken
├── TaskConflict            the task's status, or a concurrent change, does not allow this
│   └── TaskChanged         its rev is not the expected one any more
├── QueueFull               the task's lane holds as much as DynamoDB allows
├── UnreadableTask          this version cannot read an item of the table
├── NotArmed                the task is stored; the rule could not be confirmed
├── NotDeployed             the table or the rule is not there
│   └── IndexNotReady       DynamoDB is still building the table's index of ended and paused tasks
├── WorkerNotStarted        no worker has recorded what it declares
├── TransactionCancelled    a condition of the transaction did not hold; nothing of it was written
└── AwsError                a call to AWS failed
    ├── AwsRefused          AWS refused it: permissions, or a bug of ours; it had no effect
    └── AwsUnavailable      AWS could not be reached, or not in time; it may have had an effect
        └── TransactionUnknown  whether the transaction is committed is not known
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, ClassVar

import msgspec

from .quoting import in_brief, quoted


class DuebellError(Exception):
    """The base of all errors that duebell raises on purpose.

    http_status  the status of the HTTP API's answer with this error, which the exit status follows
    """

    http_status: ClassVar[int] = 500

    @property
    def kind(self) -> str:
        """The kind of error, for programs: `task-not-found` of TaskNotFound."""
        return "-".join(re.findall("[A-Z][a-z]+", type(self).__name__)).lower()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the error, as process pools do, without its constructor, which takes other arguments."""
        return Exception.__new__, (type(self), *self.args), self.__dict__


class InvalidInput(DuebellError):
    """Something given cannot be right. Nothing was written.

    `field` names the wrong value. `reason` says why it is wrong, and what would be right. If many inputs were
    checked together, `every` has the errors of all wrong ones.
    """

    http_status = 422

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        self.reason = reason
        self.every: tuple[InvalidInput, ...] = ()
        super().__init__(f"{field}: {reason}")


class InvalidTask(InvalidInput):
    """A task cannot be as it was given: its id, action, due date or payload."""


class InvalidSchedule(InvalidTask):
    """A schedule cannot be read, or it never comes: the expression, its time zone, start or end."""


class InvalidQuery(InvalidInput):
    """A listing was asked for with a filter, limit or cursor that cannot be right."""


class InvalidTransaction(InvalidInput):
    """A transaction, or a write of it, cannot be as it was given. Nothing was written."""


class InvalidSettings(InvalidInput):
    """An environment variable, or a setting given in code, cannot be right."""


class TaskNotFound(DuebellError):
    """There is no task with this id, or its history has expired."""

    http_status = 404

    def __init__(self, id: str) -> None:
        super().__init__(
            f"there is no task {quoted(id)}: none was added by this id, or it has ended and its retention "
            f"time is over"
        )
        self.id = id


#: The way out of a TaskExists that leaves the task as it is.
KEEP_IT = "or add with if_exists='keep' (leave it as it is)"


class TaskExists(DuebellError):
    """A task with this id is there already, waiting, as history, or reserved for a transaction.

    reserved_until  the end of the reservation, a minute after which the id is free; else None
    way_out         what to do instead of choosing another id
    """

    http_status = 409

    def __init__(
        self,
        id: str,
        *,
        reserved_until: datetime | None = None,
        way_out: str = f"{KEEP_IT} or if_exists='replace'",
    ) -> None:
        exists = f"a task {quoted(id)} exists already: choose another id, {way_out}"
        reserved = (
            f"task {quoted(id)} is reserved until {reserved_until} for a transaction that has yet to be "
            f"committed: add it a minute after that, or with if_exists='replace', which makes that "
            f"transaction fail"
        )
        super().__init__(reserved if reserved_until else exists)
        self.id = id
        self.reserved_until = reserved_until


class TaskConflict(DuebellError):
    """The task's status does not allow this change, or it kept changing meanwhile."""

    http_status = 409


class TaskChanged(TaskConflict):
    """The task was changed since it was read, and is at `rev` now. Nothing was written."""

    http_status = 412

    def __init__(self, id: str, *, expected: int, rev: int) -> None:
        super().__init__(
            f"task {quoted(id)} was changed meanwhile, to rev {rev} from {expected}: look at it again"
        )
        self.id = id
        self.expected = expected
        self.rev = rev


class QueueFull(DuebellError):
    """The task's lane holds nearly 10 GB, all that DynamoDB lets a lane hold. Nothing was written.

    Tasks that are in it still run. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html
    """

    http_status = 507

    def __init__(self, id: str, lane: int) -> None:
        super().__init__(
            f"task {quoted(id)} does not fit: its lane {lane} holds nearly 10 GB, the most DynamoDB allows; "
            f"give the queue more lanes with `duebell relane`, or keep less: fewer DUEBELL_RETENTION_DAYS, "
            f"DUEBELL_HISTORY=none, smaller payloads"
        )
        self.id = id
        self.lane = lane


class UnreadableTask(DuebellError):
    """This version cannot read an item of the table: another program wrote it, or a newer version."""

    def __init__(self, id: str, why: object) -> None:
        super().__init__(
            f"the item {quoted(id)} is no task that this version of duebell can read: {in_brief(why)}"
        )
        self.id = id


class NotArmed(DuebellError):
    """The change is stored, but it could not be confirmed that the rule rings for it.

    `ensure_armed()`, any later call that arms, or the same add with `if_exists="keep"` sets the rule.

    what     the message without the next step
    way_out  the next step of the user, in terms of the library
    task     the Task as it is stored, after a change of one task
    report   the AddReport of `add_many`: the tasks that are stored, and those that are not
    """

    http_status = 503

    def __init__(
        self,
        what: str,
        *,
        way_out: str = "",
        task: Any = None,  # no type: the modules of Task import this one
        report: "AddReport | None" = None,
    ) -> None:
        super().__init__(f"{what}: {way_out}" if way_out else what)
        self.what = what
        self.way_out = way_out
        self.task = task
        self.report = report


class NotDeployed(DuebellError):
    """The table or the rule does not exist in this account and region."""

    http_status = 503


class IndexNotReady(NotDeployed):
    """DynamoDB is still building `past-index`, so what has ended cannot be listed yet. Wait and repeat.

    Everything else works meanwhile.
    """


class ItemRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """The reason why one item of a transaction could not be written, so that none was.

    index    its place among the items, from 0
    what     the write: "task 'trial-42'", or "Put to table 'trials'"
    code     DynamoDB's code, such as ConditionalCheckFailed or TransactionConflict
    message  DynamoDB's own words
    item     the item as it is stored, if the write asked for it by `ReturnValuesOnConditionCheckFailure`
    """

    index: int
    code: str
    what: str = ""
    message: str = ""
    item: Mapping[str, Mapping[str, Any]] | None = None

    def __str__(self) -> str:
        return f"{self.what or f'item {self.index}'}: {self.message or self.code}"


class TransactionCancelled(DuebellError):
    """A transaction was not committed: DynamoDB refused at least one of its writes. Nothing was written.

    refusals  the writes that were refused, each with DynamoDB's reason
    """

    http_status = 409

    def __init__(self, refusals: tuple[ItemRefusal, ...]) -> None:
        most = 3
        others = f"; and {len(refusals) - most} more" if refusals[most:] else ""
        said = "; ".join(str(one) for one in refusals[:most])
        super().__init__(f"the transaction was not committed, and nothing of it is written: {said}{others}")
        self.refusals = refusals


class WorkerNotStarted(DuebellError):
    """The worker is unknown or could not start, so the declarations in its code are unknown, too."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: deploy a worker that starts, and invoke its function once")


class AwsError(DuebellError):
    """A call to AWS failed."""


class AwsRefused(AwsError):
    """AWS refused the call, and it had no effect. Most often a permission is missing."""

    http_status = 502


class AwsUnavailable(AwsError):
    """AWS could not be reached, or did not answer in time, after retries.

    Whether the call took effect may be unknown; an add with an id of your own and
    `if_exists="keep"` can be repeated without harm.
    """

    http_status = 503


class TransactionUnknown(AwsUnavailable):
    """A transaction may be committed or not: DynamoDB did not answer, also after retries.

    Read an item of it before you make the transaction again. Its tasks are run only if it is committed.
    """


class AddFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One task of many that was not added: its place in the input, its id, and why."""

    index: int
    id: str
    error: DuebellError


class AddReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of adding many tasks.

    added          the ids of the tasks that are stored, in the order given
    there_already  the tasks whose ids were taken: kept as they were, or replaced
    failures       the tasks that are not stored, and why
    """

    added: tuple[str, ...]
    failures: tuple[AddFailure, ...] = ()
    there_already: tuple[str, ...] = ()

    def with_other(self, other: "AddReport", places: Mapping[str, int]) -> "AddReport":
        """The two reports as one, in the order of these places. A task that failed in either has failed."""
        failures = {
            one.id: msgspec.structs.replace(one, index=places[one.id])
            for one in (*self.failures, *other.failures)
        }

        def stored(ids: Iterable[str]) -> tuple[str, ...]:
            return tuple(sorted((id for id in ids if id not in failures), key=places.__getitem__))

        return AddReport(
            added=stored((*self.added, *other.added)),
            failures=tuple(sorted(failures.values(), key=lambda failure: failure.index)),
            there_already=stored((*self.there_already, *other.there_already)),
        )
