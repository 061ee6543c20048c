"""The part of the editor that limits actions while the system is running."""

import logging

from msgspec import UNSET, UnsetType

from duebell_editor.status.action_limits import ActionLimit, action_limit, read_limits
from duebell_shared.errors import AwsError, InvalidTask, NotArmed, NotDeployed, TaskConflict
from duebell_shared.limits.limits import Limit, Limits, check_at_most, check_per_second
from duebell_shared.log_lines import log_event
from duebell_shared.quoting import quoted
from duebell_shared.tasks.given import check_name
from duebell_shared.tasks.reserved import is_reserved
from duebell_shared.tasks.worker_record import WorkerRecord

from .known_worker import unknown_action
from .queue_keeper import QueueKeeper
from .taken_ids import TRIES

__all__ = ["ActionLimit", "LimitEditor"]

_LOG = logging.getLogger("duebell.editor")


class LimitEditor(QueueKeeper):
    """Limits and pauses actions, and tells their limits."""

    def limit(
        self,
        action: str,
        *,
        at_most: int | UnsetType | None = UNSET,
        per_second: float | UnsetType | None = UNSET,
    ) -> ActionLimit:
        """Set the limits of an action in place of those that its code declares, over all runs together.

        at_most     attempts at a time, up to 10,000; 0 pauses the action, None is as declared
        per_second  attempts that are started a second, 0.0001 to 1,000; 0 and None likewise

        What is not given stays as it was set before. Runs that are under way follow within a minute. Tasks
        that waited while their action was paused are started at once, as far as its limits allow, and those
        that waited for an earlier limit as fast as the new one allows.

        Raises InvalidTask, TaskConflict, NotArmed.
        """
        check_at_most(None if at_most is UNSET else at_most)
        check_per_second(None if per_second is UNSET else per_second)
        check_name("action", action)
        if is_reserved(action):
            raise InvalidTask("action", f"{quoted(action)} is one of duebell's own, and has no limits")
        record = self._store.read_worker(consistent=True)
        for _ in range(TRIES):
            limits = self._store.read_limits()
            known = limits or Limits()
            before = known.overrides.get(action)
            if not before:
                _check_is_known(action, record)
            kept = before or Limit()
            wanted = Limit(
                at_most=kept.at_most if at_most is UNSET else at_most,
                per_second=kept.per_second if per_second is UNSET else per_second,
            )
            gauge, now = self._store.read_gauge(action), self._clock()
            line = max(gauge.line, gauge.late) if gauge else now
            changed = known.changed(
                action, wanted, now=now, line=line if line > now else None, by=self.changed_by
            )
            stored = limits if changed == known else self._store.swap_limits(limits, changed)
            if stored or changed == known:
                if stored:
                    self._follow(action, wanted, stored.rev)
                return action_limit(action, record, stored or known)
        raise TaskConflict("the limits keep changing: try again")

    def limits(self) -> tuple[ActionLimit, ...]:
        """The limits of all actions that have some, declared or set, by name, and what waits for them."""
        record, limits = self._store.read_worker(consistent=True), self._store.read_limits() or Limits()
        lanes = len(self._backend.armer.read().lanes)
        return tuple(read_limits(self._backend, record, limits, lanes=lanes, now=self._clock()))

    def _follow(self, action: str, limit: Limit, rev: int) -> None:
        """Tell runs of the new limits, and have them look into the queue: an earlier call may have failed."""
        log_event(
            _LOG,
            "limited",
            action=action,
            at_most=limit.at_most,
            per_second=limit.per_second,
            changed_by=self.changed_by,
        )
        armer = self._backend.armer
        try:
            record = armer.ensure(armer.change(lambda record: record.limited(rev, now=self._clock())))
        except (AwsError, NotArmed, NotDeployed) as error:
            reason, way_out = (error.what, error.way_out) if isinstance(error, NotArmed) else (str(error), "")
            raise NotArmed(f"the limit is stored, but {reason}", way_out=way_out) from error
        self._backend.hasten(record)


def _check_is_known(action: str, record: WorkerRecord | None) -> None:
    """Raise InvalidTask if the worker is known and has no such action."""
    worker = record.known if record else None
    if record and worker and record.is_all and not worker.action(action):
        raise unknown_action(action, [one.name for one in worker.actions])
