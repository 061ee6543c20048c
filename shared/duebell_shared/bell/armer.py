"""The arming protocol: the arming record, the rule, and the order of steps between them.

`arming.py` says what each step guarantees. This module makes processes wait for each other.
"""

import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.backoff import pause
from duebell_shared.bell.arming import ArmingRecord, Lane
from duebell_shared.bell.bell import CALL_LIMIT, Bell
from duebell_shared.bell.expression import early_minute, ring_minute
from duebell_shared.errors import AwsError, AwsRefused, AwsUnavailable, DuebellError, NotArmed, NotDeployed
from duebell_shared.instants import MOST_SKEW, NEVER, NO_TIME, utc_now
from duebell_shared.limits.limits import Limits
from duebell_shared.parallel import Parallel
from duebell_shared.queue.store import Store
from duebell_shared.settings import MAX_LANES

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

_LOG = logging.getLogger("duebell.armer")

#: The longest time for which one process keeps others from calling PutRule. Longer than its calls meanwhile,
#: and shorter than LEAD: the minute of the ring is never over before the rule is set.
HOLD = timedelta(seconds=20)

#: Calls must end within this part of a hold: an unanswered call may still take effect in the rest.
_CALLING = HOLD - CALL_LIMIT

#: The longest wait of a caller for the rule to be confirmed before it gives up with NotArmed.
PATIENCE = timedelta(seconds=45)

#: Reads of the record in that time.
_TRIES = 70

_TRY_AGAIN = "call ensure_armed() to try again"


class Function:
    """The worker's Lambda, invoked directly for tasks that are due sooner than the rule can ring.

    `connect` makes its client, when it is first needed: that takes time.
    """

    def __init__(self, name: str, connect: Callable[[], "LambdaClient"]) -> None:
        self.name = name
        self._connect = connect
        self._client: LambdaClient | None = None
        self._lock = threading.Lock()

    def start(self, lanes: Sequence[int] | None = None) -> bool:
        """Start a run without waiting for it: for these lanes, or for all free lanes.

        Logs an error and returns False if it could not be started: the rule still rings.
        """
        event = run_event(lanes)
        try:
            self._connected().invoke(
                FunctionName=self.name, InvocationType="Event", Payload=json.dumps(event).encode()
            )
        except (BotoCoreError, ClientError) as error:
            _LOG.warning("the function %r could not be invoked, so the rule will do it: %s", self.name, error)
            return False
        return True

    def _connected(self) -> "LambdaClient":
        with self._lock:
            self._client = self._client or self._connect()
            return self._client


def run_event(lanes: Sequence[int] | None) -> dict[str, object]:
    """The event that invokes the worker: a run of these lanes, or of all free lanes if None.

    A run of no lanes only sets the rule.
    """
    return {"duebell": {} if lanes is None else {"lanes": list(lanes)}}


class LanesChanged(Exception):
    """The queue was given more lanes after the new tasks were placed: the caller places the tasks again."""


class Armer(msgspec.Struct, eq=False):
    """Changes the arming record by compare-and-swap, and makes the rule follow it.

    lease  the lease of a run in a rehearsal, where none is renewed while an action works; else None
    """

    store: Store
    rule: Bell
    lanes: int
    head_start: timedelta = NO_TIME
    clock: Callable[[], datetime] = utc_now
    sleep: Callable[[float], None] = time.sleep
    parallel: Parallel = msgspec.field(default_factory=Parallel)
    function: Function | None = None
    lease: timedelta | None = None

    def read(self) -> ArmingRecord:
        """The record; made at the queue's first use, and again if it is damaged."""
        record = self.store.read_record()
        return record if record and record.lanes else self._make(record)

    def lower(self, dues: Mapping[int, datetime], *, lanes: int | None = None) -> ArmingRecord:
        """Have the rule ring for these lanes by their times in `dues`. Return the record after that.

        `lanes` is the number of lanes by which new tasks were placed. Raises LanesChanged when the queue has
        more lanes by now, and NotArmed.
        """

        def lower(record: ArmingRecord) -> ArmingRecord:
            if lanes is not None and len(record.lanes) != lanes:
                raise LanesChanged
            if any(lane >= len(record.lanes) for lane in dues):
                raise NotArmed("the queue has fewer lanes than it had: restart this process")
            return record.lowered(dues)

        applier = new_applier()
        return self.ensure(self.change(lower, applier=applier), applier=applier)

    def change(
        self,
        transition: Callable[[ArmingRecord], ArmingRecord],
        *,
        seen: ArmingRecord | None = None,
        applier: str | None = None,
    ) -> ArmingRecord:
        """Apply a transition by compare-and-swap, repeated on the newest record until it is stored.

        A transition that changes nothing writes nothing. Raises NotArmed when others keep coming first.

        seen     the record as it was seen last: the first try saves a read, and fails if it has changed since
        applier  a new name for each call: if the rule must be set, the same write takes hold of it in this
                 name, and `ensure` then sets it

        Problem: the answer to a write is lost, and the SDK's next try is refused, as if another process had
        come first. Nobody would hold the rule. Solution: the name shows whose write it was.
        """
        give_up = self.clock() + PATIENCE
        for tries in range(_TRIES):
            record = seen if seen and not tries else self.read()
            if applier and record.applier == applier:
                return record
            changed = transition(record)
            if changed == record:
                return record
            now = self.clock()
            if applier and not changed.is_settled(now) and not changed.is_being_applied(now):
                changed = changed.applying(applier, until=now + HOLD)
            if swapped := self.store.swap_record(record, changed):
                return swapped
            if self.clock() > give_up:
                break
            if tries or not seen:
                self.sleep(_pause(tries))
        raise NotArmed("the arming record kept changing", way_out=_TRY_AGAIN)

    def ensure(self, record: ArmingRecord | None = None, *, applier: str | None = None) -> ArmingRecord:
        """Set the rule to ring for the record's target, unless it is confirmed to do so.

        At most one PutRule is under way at any time, and all other processes wait for it. `record` is the
        newest record, if the caller has just seen it. `applier` is the name given to `change`. Raises
        NotArmed when the rule cannot be confirmed.
        """
        give_up = self.clock() + PATIENCE
        failure: DuebellError | None = None
        me, seen = applier or new_applier(), _Hold()
        is_mine = applier is not None and record is not None and record.applier == applier
        for tries in range(_TRIES):
            record = record or self.read()
            now = self.clock()
            if record.is_settled(now):
                return record
            skew = timedelta(0) if record.applier == me else MOST_SKEW
            if is_mine or not record.is_being_applied(now, skew=skew) or seen.is_over(record, now):
                try:
                    taken = record if is_mine else record.applying(me, until=now + HOLD)
                    held = record if is_mine else self.store.swap_record(record, taken)
                    is_mine = False
                    record = self._set(held, me) if held else None
                except AwsUnavailable as error:
                    failure = error
                except (AwsRefused, NotDeployed) as error:  # waiting does not help
                    raise NotArmed(f"the {self.rule.kind} could not be set: {error}") from error
                else:
                    continue
            if self.clock() > give_up:
                break
            self.sleep(_pause(tries))
            record = None
        what = f"the {self.rule.kind} could not be confirmed{f' ({failure})' if failure else ''}"
        raise NotArmed(what, way_out=_TRY_AGAIN) from failure

    def start_run_if_late(self, record: ArmingRecord) -> None:
        """Start a run directly if the rule, as it is set, rings later than something is due.

        `record` is the newest one, with the rule confirmed. Without a function to invoke, or if the call
        fails, the rule still rings, so nothing is raised. While the rule is disabled, no run is started.
        """
        if self.function is None or not record.rings_too_late(self.clock()):
            return
        try:
            if self.rule.read().is_enabled and self.call():
                self.function.start()
        except (AwsError, NotArmed, NotDeployed) as error:
            _LOG.warning("no run was started directly, so the rule will do it: %s", error)

    def call(self) -> bool:
        """Tell whether the caller must start a run directly: a run is needed, and nobody else starts one."""
        is_mine = False

        def call(record: ArmingRecord) -> ArmingRecord:
            nonlocal is_mine
            called = record.called(self.clock())
            is_mine = called != record
            return called

        self.change(call)
        return is_mine

    def heads(self, lanes: Iterable[int]) -> dict[int, datetime]:
        """Read the earliest due time of each of these lanes. A lane that cannot be read counts as due now.

        Raises AwsError, NotDeployed when none can be read.
        """
        lanes = list(lanes)
        heads = self.parallel(self.store.head, lanes)
        failed = [head for head in heads if isinstance(head, DuebellError)]
        if failed and len(failed) == len(lanes):
            raise failed[0]
        for lane, head in zip(lanes, heads, strict=True):
            if isinstance(head, DuebellError):
                _LOG.warning("lane %d cannot be read, so it counts as due: %s", lane, head)
        now = self.clock()
        due = [now if isinstance(head, DuebellError) else head for head in heads]
        return dict(zip(lanes, due, strict=True))

    def verify(self) -> ArmingRecord:
        """Compare the record with the queue and the rule, which other programs may change; then `ensure`."""
        record = self.read()
        while record.is_held_too_long(self.clock()):
            record = self._make(record)
        dues = self.heads(range(len(record.lanes)))
        record = self.change(lambda record: record.lowered(dues))
        if record.armed is not None and not record.is_being_applied(self.clock()):
            try:
                found = self.rule.read()
            except DuebellError as error:
                raise NotArmed(f"the {self.rule.kind} could not be read: {error}") from error
            if not found.is_at(record.set_to):
                record = self.store.swap_record(record, record.disputed()) or self.read()
        return self.ensure(record)

    def _set(self, held: ArmingRecord, me: str) -> ArmingRecord:
        taken_at = held.applier_until - HOLD
        minute = ring_minute(held.target, taken_at)
        try:
            is_all_answered = self.rule.ring_at(
                minute,
                early=early_minute(minute, held.target, taken_at),
                within=taken_at + _CALLING - self.clock(),
            )
        except (AwsRefused, NotDeployed):
            # The call had no effect, so no process needs to wait for our hold to end. After a time-out they
            # must wait: the call may still take effect.
            self.change(lambda newest: newest.unheld() if newest.applier == me else newest)
            raise

        answered_at = self.clock()
        return self.change(
            lambda newest: newest.confirmed(
                me, held.target, minute, now=answered_at, may_land_again=not is_all_answered
            ),
            seen=held,
        )

    def _make(self, damaged: ArmingRecord | None) -> ArmingRecord:
        """Make a record from the lanes' heads.

        It has the lanes of the damaged record, or else of the settings, and more if further lanes have tasks.
        """
        lanes = len(damaged.lanes) if damaged and damaged.lanes else self.lanes
        heads = self.heads(range(lanes))
        beyond = self.parallel(self.store.head, range(lanes, MAX_LANES))
        for lane, head in enumerate(beyond, start=lanes):
            if isinstance(head, DuebellError):  # this lane may hold tasks, so the number of lanes is unknown
                raise head
            heads[lane] = head
        limits = self.store.read(Limits)
        in_use = [lane + 1 for lane, head in heads.items() if head != NEVER]
        made = ArmingRecord(
            lanes=tuple(Lane(due=heads[lane]) for lane in range(max(lanes, *in_use, 0))),
            head_start=damaged.head_start if damaged and damaged.lanes else self.head_start,
            earlier=damaged.earlier if damaged else (),
            limits=limits.rev if limits else 0,
            calendars=damaged.calendars if damaged else 0,
        )
        return self.store.swap_record(damaged, made) or self.read()


class _Hold:
    """The time for which another process has been seen to hold the rule; no hold is longer than HOLD."""

    def __init__(self) -> None:
        self._holder: tuple[str | None, datetime] | None = None
        self._since = NEVER

    def is_over(self, record: ArmingRecord, now: datetime) -> bool:
        """Tell whether the record's hold is certainly over: this process has seen it for HOLD or longer."""
        holder = (record.applier, record.applier_until)
        if holder != self._holder:
            self._holder, self._since = holder, now
        return now - self._since >= HOLD


def new_applier() -> str:
    return secrets.token_hex(16)


def _pause(tries: int) -> float:
    """Seconds to wait before the next read; about PATIENCE in all _TRIES."""
    return pause(tries, 0.05, 1.0, 1.5)
