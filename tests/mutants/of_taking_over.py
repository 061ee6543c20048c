"""Mutants of taking over: of several runs that wait to the second, one gets the lanes of the others."""

from .mutant import Killer, Mutant

__all__ = ["OF_TAKING_OVER"]

_RECORD = "shared/duebell_shared/bell/arming.py"
_RUN = "worker/duebell_worker/run/run.py"
_WAITS = "worker/duebell_worker/run/waits.py"
_LEASE = "worker/duebell_worker/run/lease.py"

OF_TAKING_OVER = (
    # The record.
    Mutant(
        name="lanes are given to a run whose lease has run out",
        file=_RECORD,
        line="return self.taker if self.taker in self.owners(now) - {owner} else None",
        broken="return self.taker if self.taker != owner else None",
        why="nobody looks at the lanes, and nothing rings for them",
        killers=(Killer.ARMING,),
        is_fast=True,
    ),
    Mutant(
        name="a run gives its lanes to itself",
        file=_RECORD,
        line="return self.taker if self.taker in self.owners(now) - {owner} else None",
        broken="return self.taker if self.taker in self.owners(now) else None",
        why="it never gives them back",
        killers=(Killer.ARMING,),
    ),
    Mutant(
        name="each run takes over from the one that takes over",
        file=_RECORD,
        line="return self if self.taker_for(owner, now) else replace(self, taker=owner)",
        broken="return replace(self, taker=owner)",
        why="two runs that wait write the record four times a second, and neither gives its lanes",
        killers=(Killer.ARMING,),
    ),
    Mutant(
        name="a run stops another one from taking over",
        file=_RECORD,
        line="return replace(self, taker=None) if self.taker == owner else self",
        broken="return replace(self, taker=None)",
        why="while one has all that it can do, the others go on waiting",
        killers=(Killer.ARMING,),
    ),
    Mutant(
        name="what was added to a lane since it was cleared is forgotten when it is given",
        file=_RECORD,
        line="Lane(due=min(self.lanes[number].due, heads[number]), owner=taker, until=until)",
        broken="Lane(due=heads[number], owner=taker, until=until)",
        why="the run that gets the lane does not look at it in time",
        killers=(Killer.ARMING,),
    ),
    Mutant(
        name="a lane that is given keeps the lease of the run that gives it",
        file=_RECORD,
        line="until = min(self.lanes[number].until for number in self.lanes_of(taker))",
        broken="until = min(self.lanes[number].until for number in self.lanes_of(owner))",
        why="another run claims it while the one that was given it runs its tasks",
        killers=(Killer.ARMING,),
    ),
    Mutant(
        name="lanes that are given have no watchdog",
        file=_RECORD,
        line="until = min(self.lanes[number].until for number in self.lanes_of(taker))",
        broken="until = NEVER",
        why="if the run that was given them dies, they are lost",
        killers=(Killer.ARMING,),
    ),
    # The lease.
    Mutant(
        name="lanes that were given are not looked for when a run ends",
        file=_LEASE,
        line="            if released.lanes_of(self.owner):\n",
        broken="            if False:\n",
        why="nobody looks at them before the lease ends",
        killers=(Killer.TAKING_OVER,),
    ),
    Mutant(
        name="a run that is given lanes takes its lease for lost",
        file=_LEASE,
        line="if not set(self.lanes) <= set(lanes):",
        broken="if set(self.lanes) != set(lanes):",
        why="it ends, and its lanes wait for the end of the lease",
        killers=(Killer.TAKING_OVER,),
    ),
    Mutant(
        name="a run does not learn of the lanes that it was given",
        file=_LEASE,
        line="            raise LeaseLost\n        self.lanes = lanes\n",
        broken="            raise LeaseLost\n",
        why="it never looks into them, and never ends",
        killers=(Killer.TAKING_OVER,),
    ),
    Mutant(
        name="lanes are given though something is due in them",
        file=_LEASE,
        line="if to_taker and not is_due and given != measured:",
        broken="if to_taker and given != measured:",
        why="what is due waits until the other run looks at the record",
        killers=(Killer.TAKING_OVER,),
    ),
    Mutant(
        name="a run that is alone says that it takes over",
        file=_LEASE,
        line="if self.seen.taker != self.owner and self.seen.owners(now) - {self.owner}:",
        broken="if self.seen.taker != self.owner:",
        why="each run writes the record once more than needed",
        killers=(Killer.TAKING_OVER,),
    ),
    # The run, and what it watches.
    Mutant(
        name="each run keeps its lanes",
        file=_RUN,
        line="to_taker=waits and not self._is_full,",
        broken="to_taker=False,",
        why="after a burst that was shared several runs wait, for as long as anything comes",
        killers=(Killer.TAKING_OVER, Killer.TRICKLE),
    ),
    Mutant(
        name="lanes with too much to do are given to a run that waits",
        file=_RUN,
        line="to_taker=waits and not self._is_full,",
        broken="to_taker=waits,",
        why="one run does what took two, and tasks are late",
        killers=(Killer.TAKING_OVER,),
    ),
    Mutant(
        name="to the minute lanes are given as well",
        file=_RUN,
        line="to_taker=waits and not self._is_full,",
        broken="to_taker=not self._is_full,",
        why="the run that gets them is about to end, and does not watch",
        killers=(Killer.TAKING_OVER,),
    ),
    Mutant(
        name="a run that was full once is full for ever",
        file=_RUN,
        line="        self._is_full = was_full\n",
        broken="",
        why="a run that shared a burst waits until its time is over",
        killers=(Killer.TAKING_OVER,),
    ),
    Mutant(
        name="a run with all that it can do takes lanes over",
        file=_RUN,
        line="                self._waits.stop_taking_over()\n",
        broken="",
        why="what is due in the lanes that it is given waits for a place, and for its next look",
        killers=(Killer.TAKING_OVER,),
    ),
    Mutant(
        name="a run without a free place says that it takes over",
        file=_WAITS,
        line="            if self._attempts.has_place:\n",
        broken="            if True:\n",
        why="what is due in the lanes that it is given waits for a place",
        killers=(Killer.TAKING_OVER,),
    ),
    Mutant(
        name="a run that waits does not see that another one does",
        file=_WAITS,
        line="if is_idle and (self._lease.must_leave or self._lease.has_taker()):",
        broken="if False:",
        why="it waits until something is due, beside the other one",
        killers=(Killer.TAKING_OVER,),
    ),
    Mutant(
        name="no run says that it takes over",
        file=_WAITS,
        line=("            if self._attempts.has_place:\n                self._lease.take_over()\n"),
        broken="",
        why="after a burst that was shared several runs wait, for as long as anything comes",
        killers=(Killer.TAKING_OVER, Killer.TRICKLE),
    ),
    Mutant(
        name="cannot go on when the record cannot be written",
        file=_WAITS,
        line="self._lease.stop_taking_over()\n        except (AwsError, NotArmed) as error:\n",
        broken="self._lease.stop_taking_over()\n        except NotArmed as error:\n",
        why="a table that does not answer for a moment ends the run, with what is due in its lanes",
        killers=(Killer.TAKING_OVER,),
    ),
)
