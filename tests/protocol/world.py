"""The states that the explorer visits, small enough to keep millions of, and their times.

Time is a small integer; `instant` is what the real transitions of `duebell_shared.bell.arming` see of it. One
unit is a minute: as long as LEAD, so that the soonest a rule can ring is the next moment. A lease lasts two
and the rule's first echo comes four after its ring, as they really do; a hold on the rule lasts one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Self

from msgspec.structs import replace

from duebell_shared.bell.arming import ArmingRecord, Lane
from duebell_shared.bell.expression import echo_after, ring_minute
from duebell_shared.instants import NEVER

HOLD, LEASE = 1, 2

#: NEVER in model time: the sentinel, an empty lane.
NEVER_AT = 99

#: The due of a task that has run.
DONE = -1

_UNIT = timedelta(minutes=1)
_START = datetime(2030, 1, 1, tzinfo=UTC)


#: Each task's due (DONE when it has run), and the due that some editor's call has returned for.
Tasks = tuple[tuple[int, int], ...]


def instant(moment: int) -> datetime:
    return NEVER if moment == NEVER_AT else _START + moment * _UNIT


def at(time: datetime) -> int:
    return NEVER_AT if time == NEVER else -((_START - time) // _UNIT)


def alarm(target: int, now: int) -> int:
    """When a rule that is set for `target` at `now` rings."""
    minute = ring_minute(instant(target), instant(now))
    return NEVER_AT if minute is None else at(minute)


def echo(minute: int, now: int) -> int:
    """When a rule that is set to `minute` rings next, after `now`, which is not before."""
    following = echo_after(instant(minute), instant(now + 1))
    return NEVER_AT if following is None else at(following)


class Proc(NamedTuple):
    """One process: an editor's call ("a", "b" …) or a run ("W1" …), and what it holds in its own memory.

    step     what it does next
    then     where it goes on once the rule is settled
    due      of an editor: the date it wants
    lanes    of a run: the lanes it holds as far as it knows; before it has claimed any, those it is for
    until    of a run: its lease's end as far as it knows
    heads    of a run: the heads it has read since `clear`, or need not read again
    quiet    of a run: the heads of its lanes when it looked what is due, or None where something was
    known    of a run: the heads of its lanes once what it found due has run, or earlier times
    found    of a run: the tasks that it found due
    put      the target it is about to set the rule for, and the end of its hold
    answered when its PutRule was answered
    retried  and that only at the second try: the first may land yet
    lane     of an editor: where it has written its task
    placed_by  and by which number of lanes; 0 if the task was there
    guarded  a run whose watchdog is confirmed; Lambda's retry is not counted on for those, as it comes only
             twice, but for the others it must be
    """

    name: str
    step: str
    then: str = ""
    due: int = 0
    lanes: tuple[int, ...] = ()
    until: int = 0
    heads: tuple[int, ...] = ()
    quiet: tuple[int | None, ...] = ()
    known: tuple[int, ...] = ()
    found: tuple[int, ...] = ()
    put: tuple[int, int] = (0, 0)
    answered: int = 0
    retried: bool = False
    guarded: bool = False
    lane: int = 0
    placed_by: int = 0

    def is_pressed(self, now: int) -> bool:
        """True if its next step must come before time passes: else its hold or its lease would end."""
        is_applying = self.step in {"put", "confirm"} and self.put[1] == now + 1
        return is_applying or (bool(self.lanes) and self.until == now + 1)


class State(NamedTuple):
    """Everything there is at one moment.

    now       the time
    record    number of the arming record among `Records`
    rule      when the rule rings next
    minute    the minute that it is set to
    faults    how many more may happen
    idle      the editors that have not started yet
    procs     what runs, sorted
    places  the lane that each task is in
    reserved  by the call that reserved it: the task, the stage of its reservation, and when runs drop it
    """

    now: int
    record: int
    rule: int
    minute: int
    faults: int
    idle: tuple[str, ...]
    tasks: Tasks
    procs: tuple[Proc, ...]
    places: tuple[int, ...]
    reserved: tuple[tuple[str, tuple[int, str, int]], ...] = ()


def with_task(tasks: Tasks, number: int, task: tuple[int, int]) -> Tasks:
    return (*tasks[:number], task, *tasks[number + 1 :])


@dataclass(frozen=True)
class Edit:
    """One editor's call: task number `task` to be due at `due`; added, or moved if it is there already."""

    task: int
    due: int


@dataclass(frozen=True)
class Case:
    """A case to explore: the lane of each task, the tasks there at the start, the edits and the faults.

    faults  of these kinds, at most `budget` in all: "crash" of any process; "refuse", a PutRule that AWS
            refuses; "timeout", one whose answer is lost, and which may land until the hold ends; "stall", a
            process that is paused until its hold or its lease is over; "late", the same just before PutRule,
            which then lands after the hold; "hurry", a run whose time is up; "share", a run that hands one of
            its lanes to another, which is started for that one only; "call", a run that is started directly;
            "lose", a ring that brings no run; "outage", a crash after which Lambda does not invoke again;
            "retry", an action that fails, so that its task is put back
    end     time stops here
    """

    name: str
    lanes: tuple[int, ...]
    edits: tuple[Edit, ...]
    budget: int
    faults: frozenset[str] = frozenset({"crash"})
    there: dict[int, int] = field(default_factory=dict)
    end: int = 2


@dataclass(frozen=True)
class Ingredients:
    """The functions of the protocol; a test replaces one by a broken one.

    record       the transitions
    clear_first  a run forgets its lanes' dues before it reads their heads
    write_first  an editor writes its task before it lowers the lane's due
    echoes       the rule rings again after its minute
    superseded   a run looks again before it gives lanes back if a task was changed while it ran
    put_back     a run that gives its lanes back by what it has seen heeds what it has put back since
    asks         a run asks whether a task is reserved before it runs it
    is_fenced    its delete of a reserved task fails if the task was confirmed meanwhile
    comes_back   a run that left a reserved task sees to it that its lane is looked at again
    """

    record: type[ArmingRecord] = ArmingRecord
    clear_first: bool = True
    write_first: bool = True
    echoes: bool = True
    put_back: bool = True
    superseded: bool = True
    asks: bool = True
    is_fenced: bool = True
    comes_back: bool = True


class _Unechoed(ArmingRecord, frozen=True, kw_only=True):
    """The record in the last minutes of an hour: a ring has no echo in its hour."""

    def rung(self, now: datetime, lease_end: datetime) -> Self:
        return self.unarmed()


#: The protocol in the last minutes of an hour, where no run relies on an echo.
LATE_IN_THE_HOUR = Ingredients(record=_Unechoed, echoes=False)


class Records:
    """Every arming record that has been seen, by number, and what each transition makes of it.

    So each transition runs once for each record and argument, however many states it is taken in.
    """

    def __init__(self) -> None:
        self._numbers: dict[ArmingRecord, int] = {}
        self._records: list[ArmingRecord] = []
        self._known: dict[tuple[object, ...], int] = {}

    def __getitem__(self, number: int) -> ArmingRecord:
        return self._records[number]

    def number(self, record: ArmingRecord) -> int:
        number = self._numbers.setdefault(record, len(self._records))
        if number == len(self._records):
            self._records.append(record)
        return number

    def made(self, number: int, name: str, *arguments: Any, **times: int) -> int:
        """The number of what this transition makes of the record; lanes come with their moments."""
        key = (number, name, arguments, *times.values())
        if key not in self._known:
            given = (
                {lane: instant(moment) for lane, moment in each} if isinstance(each, tuple) else each
                for each in arguments
            )
            at_times = {name: instant(moment) for name, moment in times.items()}
            made = getattr(self._records[number], name)(*given, **at_times)
            self._known[key] = self.number(made)
        return self._known[key]

    def changed(self, number: int, transition: Callable[..., ArmingRecord], *arguments: object) -> int:
        """The number of what `transition` makes of the record; a compare-and-swap loop is one step."""
        key = (number, transition, *arguments)
        if key not in self._known:
            self._known[key] = self.number(transition(self._records[number], *arguments))
        return self._known[key]


def start(case: Case, kind: type[ArmingRecord], records: Records) -> State:
    """Some tasks added long ago, the rule armed for them, nothing running."""
    tasks = tuple((case.there.get(task, NEVER_AT),) * 2 for task in range(len(case.lanes)))
    dues = [
        min((tasks[t][0] for t, of in enumerate(case.lanes) if of == lane), default=NEVER_AT)
        for lane in range(max(case.lanes) + 1)
    ]
    head = min(dues)
    record = kind(lanes=tuple(Lane(due=instant(due)) for due in dues))
    record = replace(record, armed=instant(head), rings_at=ring_minute(instant(head), instant(-1)))
    idle = tuple("abcdef"[: len(case.edits)])
    return State(0, records.number(record), head, head, case.budget, idle, tasks, (), case.lanes)
