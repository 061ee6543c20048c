"""Mutants of precision "second": the rule's head start, and the run that waits."""

from .mutant import Killer, Mutant

__all__ = ["OF_PRECISION"]

_LANE = "shared/duebell_shared/bell/lane.py"
_RECORD = "shared/duebell_shared/bell/arming.py"
_ARMER = "shared/duebell_shared/bell/armer.py"
_RUN = "worker/duebell_worker/run/run.py"
_WAITS = "worker/duebell_worker/run/waits.py"
_CONTEXT = "worker/duebell_worker/run/context.py"
_LEASE = "worker/duebell_worker/run/lease.py"

OF_PRECISION = (
    Mutant(
        name="no head start",
        file=_LANE,
        line="return self.until if self.owner else before(self.due, head_start)",
        broken="return self.until if self.owner else self.due",
        why="the rule rings at the due date, and the run comes a minute late",
        killers=(Killer.ARMING, Killer.PRECISION),
        is_fast=True,
    ),
    Mutant(
        name="a head start to the end of a lease",
        file=_LANE,
        line="return self.until if self.owner else before(self.due, head_start)",
        broken="return before(self.until if self.owner else self.due, head_start)",
        why="the watchdog rings while its run lives, and not when it is dead",
        killers=(Killer.ARMING,),
    ),
    Mutant(
        name="a head start to never",
        file=_LANE,
        line="return due if due == NEVER or due < FIRST + head_start else due - head_start",
        broken="return due if due < FIRST + head_start else due - head_start",
        why="the rule of an empty queue is not parked",
        killers=(Killer.ARMING,),
    ),
    Mutant(
        name="the worker does not say that it waits",
        file=_RECORD,
        line="return replace(self, head_start=head_start)",
        broken="return self",
        why="editors arm to the minute, for a worker that could be there before",
        killers=(Killer.PRECISION,),
    ),
    Mutant(
        name="the record made anew without the head start",
        file=_ARMER,
        line="            head_start=self._head_start,\n            earlier=",
        broken="            earlier=",
        why="what is added before the first run is late by up to two minutes",
        killers=(Killer.PRECISION,),
    ),
    Mutant(
        name="does not wait for what is due before the rule could ring",
        file=_LEASE,
        line="soonest <= now + unless_due_within",
        broken="soonest <= now",
        why="the run that came early for a due date leaves before it",
        killers=(Killer.PRECISION,),
    ),
    Mutant(
        name="stays too short",
        file=_RUN,
        line="self._backend.settings.head_start + LEAD if waits",
        broken="self._backend.settings.head_start if waits",
        why="what is due a little later than it stays for is nearer than the rule can ring ahead of",
        killers=(Killer.PRECISION,),
    ),
    Mutant(
        name="waits though it is run by hand",
        file=_CONTEXT,
        line="return bool(self.backend.settings.head_start) and self.stop_at is not None",
        broken="return bool(self.backend.settings.head_start)",
        why="who runs it by hand sits there for minutes",
        killers=(Killer.PRECISION,),
    ),
    Mutant(
        name="waits beyond its time",
        file=_WAITS,
        line="min(due, self._context.stop_at or NEVER)",
        broken="min(due, (self._context.stop_at or NEVER - timedelta(days=1)) + timedelta(seconds=4))",
        why="the time that is kept for giving the lanes back is waited away, and Lambda ends the process",
        killers=(Killer.PRECISION,),
    ),
    Mutant(
        name="does not watch the record while it waits",
        file=_WAITS,
        line="watches = watches and self._context.waits_for_due and by != NEVER",
        broken="watches = False",
        why="what is added meanwhile, and due before what it waits for, is late",
        killers=(Killer.PRECISION,),
    ),
    Mutant(
        name="seldom watches the record",
        file=_WAITS,
        line="_WATCH = timedelta(seconds=0.25)",
        broken="_WATCH = timedelta(seconds=5)",
        why="what is added meanwhile is late by that",
        killers=(Killer.PRECISION,),
    ),
    Mutant(
        name="not cleared when something was added",
        file=_WAITS,
        line="                return False\n            self._lease.clear()\n",
        broken="                return False\n",
        why="the due that was added looks new at each look, and the lanes are queried four times a second",
        killers=(Killer.PRECISION,),
    ),
    Mutant(
        name="cannot wait without the record",
        file=_WAITS,
        line="            self._lease.clear()\n        except (AwsError, NotArmed) as error:\n",
        broken="            self._lease.clear()\n        except NotArmed as error:\n",
        why="a table that does not answer for a moment ends the run",
        killers=(Killer.PRECISION,),
    ),
    Mutant(
        name="the next due is not looked at while actions run",
        file=_RUN,
        line="by=min(self._context.now() + _LOOK_AGAIN, next_due)",
        broken="by=self._context.now() + _LOOK_AGAIN",
        why="beside an action that takes long, others start up to five seconds late",
        killers=(Killer.PRECISION,),
    ),
    Mutant(
        name="does not look ahead",
        file="worker/duebell_worker/run/look_ahead.py",
        line="                self.next_due = key.queued\n",
        broken="",
        why="beside an action that takes long, others start up to five seconds late",
        killers=(Killer.PRECISION,),
    ),
    Mutant(
        name="what it looks ahead to is started",
        file="worker/duebell_worker/run/look_ahead.py",
        line="            if key.queued > now:\n",
        broken="            if False:\n",
        why="tasks start up to five seconds before they are due",
        killers=(Killer.PRECISION, Killer.HISTORIES),
    ),
)
