"""A check of a verify, the scene that it is made in, AWS's answers to its calls, and its finding."""

import re
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

import boto3
import msgspec
from msgspec.structs import replace

from duebell_editor.library.editor import Editor
from duebell_infra.testing import MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsRefused, IndexNotReady, NotDeployed
from duebell_shared.queue.places import lane_of
from duebell_shared.queue.store import Store
from duebell_shared.settings import Settings
from duebell_shared.tasks.checks import VERIFY
from duebell_shared.tasks.task import Task

_REPORT = "duebell relies on this: report it, with the output of --json"

#: IAM's refusal. https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
_DENIED = re.compile(r"not authorized to perform: ?([\w:]+)")

#: The beginning of the ids of a verify's tasks.
PREFIX = "duebell-verify-"

#: A lane that no queue has: theirs are numbers from 0.
LANE = -1

#: The time to live of the items in that lane, in case nobody else deletes them.
_KEPT = timedelta(days=1)


class Result(StrEnum):
    """The result of a check."""

    OK = "ok"
    SLOWER = "slower path"
    FAILED = "failed"
    SKIPPED = "skipped"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """AWS's answer to one call.

    operation   such as PutItem
    code        the error's code; None if the call was made
    statements  of a batch, the error's code of each statement, None if it was made
    lacks       the permission that was missing
    """

    operation: str
    code: str | None = None
    statements: tuple[str | None, ...] = ()
    lacks: str | None = None

    def __str__(self) -> str:
        """The call in short: `PutItem: ConditionalCheckFailedException`."""
        if self.code:
            return f"{self.operation}: {self.code}"
        if not self.statements:
            return self.operation
        counts = Counter(code or "made" for code in self.statements)
        return f"{self.operation} ({', '.join(f'{count} {code}' for code, count in counts.items())})"


class Answers(list[Answer]):
    """The answers to the calls of the clients that this session creates from now on."""

    def __init__(self, session: boto3.Session) -> None:
        super().__init__()
        session.events.register("after-call", self._note)

    def of(self, operation: str) -> list[Answer]:
        """The answers to calls of this operation, in order."""
        return [answer for answer in self if answer.operation == operation]

    def lacks(self) -> str | None:
        """The first permission that was missing."""
        return next((answer.lacks for answer in self if answer.lacks), None)

    def __str__(self) -> str:
        """The calls in short: `2 PutItem, PutItem: ConditionalCheckFailedException`."""
        counted = Counter(map(str, self))
        return ", ".join(f"{count} {what}" if count > 1 else what for what, count in counted.items())

    def _note(self, parsed: Mapping[str, Any], model: Any, **_: Any) -> None:
        error: Mapping[str, Any] = parsed.get("Error", {})
        responses = parsed.get("Responses")
        statements = [one.get("Error") or {} for one in responses] if isinstance(responses, list) else []
        answer = Answer(
            operation=model.name,
            code=error.get("Code"),
            statements=tuple(one.get("Code") for one in statements),
            lacks=next(filter(None, map(_lacking, (error, *statements))), None),
        )
        self.append(answer)


def _lacking(error: Mapping[str, Any]) -> str | None:
    """The missing permission, if this error is a refusal; None for any other error."""
    if "AccessDenied" not in (error.get("Code") or ""):
        return None
    found = _DENIED.search(error.get("Message") or "")
    return found[1] if found else "a permission"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one check.

    check    its name, which does not change between versions
    result   how it ended
    found    what was found, or why the check was not made; if a check gives none, the calls that it made
    way_out  what to do, if it is not ok
    lacks    the permission that its caller lacks
    figures  numbers that were measured, by name
    answers  AWS's answers in short, in order, such as `PutItem: ConditionalCheckFailedException`
    """

    check: str = ""
    result: Result = Result.OK
    found: str = ""
    way_out: str | None = None
    lacks: str | None = None
    figures: Mapping[str, float] = {}
    answers: tuple[str, ...] = ()


class Wrong(Exception):
    """AWS, or the scheduler, does not do what duebell relies on."""

    result = Result.FAILED

    def __init__(self, why: str, way_out: str | None = None) -> None:
        super().__init__(why)
        self.way_out = way_out


class NotMade(Wrong):
    """The check cannot be made."""

    result = Result.SKIPPED


class Scene:
    """One verify: the scheduler, AWS's answers, and the verify's own tasks.

    Its tasks are recognisable, never a user's, and gone afterwards. Tasks that no run may see are in LANE,
    which no run, listing, export or count reads; they all expire. Tasks that a run starts are ordinary tasks
    of the built-in action, which does nothing.

    now              when it began, in whole seconds, as DynamoDB's time to live counts seconds
    right            a queue in memory with the same tasks: its answers are the right ones
    conditions_hold  whether a write with a false condition was seen to change nothing
    progress         is told what the verify waits for
    """

    def __init__(
        self,
        session: boto3.Session,
        settings: Settings,
        *,
        progress: Callable[[str], None],
        clock: Callable[[], datetime],
        sleep: Callable[[float], None],
    ) -> None:
        self.answers = Answers(session)  # first: it notes only calls of clients that are made later
        self.backend = Backend.connect(settings, session, clock=clock, sleep=sleep)
        self.editor = Editor(backend=self.backend)
        self.clock = clock
        self.store: Store = self.backend.store
        self.right = MemoryStore()
        self.progress = progress
        self.now = clock().replace(microsecond=0)
        self.run = f"{PREFIX}{uuid.uuid4().hex[:12]}"
        self.conditions_hold = False
        self._keys: set[tuple[int, str]] = set()

    def compare(
        self, what: str, call: Callable[[Store], object], *, within: timedelta = timedelta(0)
    ) -> None:
        """Repeat the call until its answer is right. Raises Wrong if it is not right `within` this time."""
        right, until = call(self.right), self.clock() + within
        while (answer := call(self.store)) != right:
            if self.clock() >= until:
                raise Wrong(f"{what}: {answer}, and {right} is right")
            self.backend.sleep(1.0)

    def wait(self, is_so: Callable[[], bool], *, until: datetime, every: float = 1.0) -> bool:
        """Wait for `is_so`. Returns False if it is not so by `until`. It is called at least once."""
        while not is_so():
            if self.clock() >= until:
                return False
            self.backend.sleep(every)
        return True

    def make(self, name: str, **fields: Any) -> Task:
        """A task in LANE that is not stored yet; it is removed in the end, in case somebody stores it."""
        id, later = f"{self.run}-{name}", self.now + _KEPT
        self._keys.add((LANE, id))
        made = Task(
            id=id, lane=LANE, action=VERIFY, due=later, queued=later, created_at=self.now, expires_at=later
        )
        return replace(made, **fields)

    def insert_tasks(self, name: str, count: int = 1, **fields: Any) -> list[Task]:
        """Store `count` tasks in LANE, each queued a second after the one before."""
        tasks = [self.make(f"{name}-{number}", **fields) for number in range(count)]
        tasks = [
            replace(task, queued=task.queued and task.queued + timedelta(seconds=number))
            for number, task in enumerate(tasks)
        ]
        self.compare("new ids", lambda store: [store.insert(task) for task in tasks])
        return tasks

    def ordinary_id(self, name: str) -> str:
        """The id of an ordinary task, which is not stored yet; it is removed in the end."""
        id = f"{self.run}-{name}"
        self._keys.add((lane_of(id, len(self.backend.armer.read().lanes)), id))
        return id

    def remove(self, id: str | None = None) -> bool:
        """Delete the tasks of this verify, all or those of one id; False if deleting is not allowed."""
        tasks = [self.store.get(*key) for key in self._keys if id in {None, key[1]}]
        try:
            for task in tasks:
                if task and task.action == VERIFY:  # somebody may have replaced it
                    self.store.delete(task)
        except AwsRefused:
            return False
        return True

    def ids_left(self) -> list[str]:
        """The ids of this verify's tasks that are still there."""
        return sorted({id for lane, id in self._keys if self.store.get(lane, id)})


class Check(NamedTuple):
    """A row of the table: its name, the function that makes the calls, what to do if it fails.

    The function returns nothing if all is well. A check that `waits` is left out with --no-probe.
    """

    name: str
    make: Callable[[Scene], Finding | None]
    way_out: str = _REPORT
    waits: bool = False

    def finding(self, scene: Scene) -> Finding:
        """Make the check. Returns a finding, whatever it raises."""
        answers = scene.answers
        answers.clear()
        is_wrong = False
        try:
            made = self.make(scene) or Finding()
            made = replace(made, found=made.found or str(answers))
        except Wrong as wrong:
            is_wrong = wrong.result is Result.FAILED
            way_out = wrong.way_out or (self.way_out if is_wrong else None)
            made = Finding(result=wrong.result, found=str(wrong), way_out=way_out)
        except NotDeployed as error:
            result = Result.SKIPPED if isinstance(error, IndexNotReady) else Result.FAILED
            what, _, instead = str(error).partition(": ")
            made = Finding(result=result, found=what, way_out=instead or self.way_out)
        except Exception as error:  # noqa: BLE001 (whatever it is, the other checks are still made)
            found = f"{type(error).__name__}: {error}"
            made = Finding(result=Result.FAILED, found=found, way_out=self.way_out)
        lacks = answers.lacks()
        if lacks and not is_wrong:
            way_out = "give this user or role the permissions in docs/security.md, then verify again"
            found = f"{lacks} is not allowed to this user or role; {made.found}"
            made = replace(made, result=Result.SKIPPED, found=found, way_out=way_out)
        return replace(made, check=self.name, lacks=lacks, answers=tuple(map(str, answers)))
