"""Mutants of the rule's echo as a run's watchdog, and of a change that takes hold of the rule as well."""

from .mutant import Killer, Mutant

__all__ = ["OF_ECHOES_AND_HOLDS"]

_KNOWN_RULE = "shared/duebell_shared/bell/known_rule.py"
_RECORD = "shared/duebell_shared/bell/arming.py"
_RING_TIMES = "shared/duebell_shared/bell/ring_times.py"
_ARMER = "shared/duebell_shared/bell/armer.py"

_HAS_RUNG = "has_rung = self.rings_at is not None and self.rings_at <= now and self.echo_of is None"
_WAKE = "free = min((lane.wake(self.head_start) for lane in self.lanes if not lane.owner), default=NEVER)"
_FREE = "(free == NEVER or self.rings_at <= minute_for(free, now))"

_TAKES_HOLD = "if applier and not changed.is_settled(now) and not changed.is_being_applied(now):"
_OF_ARMING = (Killer.ARMING, Killer.RUN_OF_ONE, Killer.PROTOCOL)
_OF_THE_ARMER = (Killer.ARMER, Killer.RUN_OF_ONE)

OF_ECHOES_AND_HOLDS = (
    # The echo as the watchdog.
    Mutant(
        name="the echo of a ring that is still to come",
        file=_KNOWN_RULE,
        line=_HAS_RUNG,
        broken="has_rung = self.rings_at is not None and self.echo_of is None",
        why="the rule is set anew before it rings, and the echo that was relied on never comes",
        killers=_OF_ARMING,
    ),
    Mutant(
        name="the echo of an echo",
        file=_KNOWN_RULE,
        line=_HAS_RUNG,
        broken="has_rung = self.rings_at is not None and self.rings_at <= now",
        why="the rule does not ring four minutes after an echo",
        killers=_OF_ARMING,
    ),
    Mutant(
        name="any later echo is the watchdog",
        file=_KNOWN_RULE,
        line="if echo is None or echo > lease_end + ECHO_SOON:",
        broken="if echo is None:",
        why="a run that dies is followed a quarter of an hour later",
        killers=_OF_ARMING,
    ),
    Mutant(
        name="an echo before the lease's end",
        file=_KNOWN_RULE,
        line="echo = echo_after(minute, lease_end)",
        broken="echo = echo_after(minute, minute)",
        why="the run that comes by it finds the dead run's lanes still held, and nothing else rings",
        killers=_OF_ARMING,
    ),
    Mutant(
        name="an echo in the next hour",
        file=_RING_TIMES,
        line=" for echo in ECHOES if minute.minute + echo < _MINUTES)",
        broken=" for echo in ECHOES)",
        why="the rule has no echo after the end of its minute's hour but at the same minutes of the next",
        killers=_OF_ARMING,
    ),
    Mutant(
        name="the minute of an echo is forgotten",
        file=_KNOWN_RULE,
        line="return replace(self, armed=lease_end, rings_at=echo, echo_of=minute)",
        broken="return replace(self, armed=lease_end, rings_at=echo)",
        why="the rule counts as set to the echo's minute, and whoever verifies it finds another one",
        killers=_OF_ARMING,
    ),
    Mutant(
        name="an echo is armed for its own minute",
        file=_KNOWN_RULE,
        line="return replace(self, armed=lease_end, rings_at=echo, echo_of=minute)",
        broken="return replace(self, armed=echo, rings_at=echo, echo_of=minute)",
        why="each run sets its watchdog all the same",
        killers=_OF_ARMING,
    ),
    Mutant(
        name="the echo's minute is looked for in the rule",
        file=_KNOWN_RULE,
        line="return self.echo_of or self.rings_at",
        broken="return self.rings_at",
        why="whoever verifies the rule while a run holds lanes takes it for changed",
        killers=_OF_ARMING,
    ),
    Mutant(
        name="an echo stays when the rule is unknown",
        within="KnownRule.unarmed",
        file=_KNOWN_RULE,
        line="return replace(self, armed=None, rings_at=None, echo_of=None)",
        broken="return replace(self, armed=None, rings_at=None)",
        why="a lease that is renewed while the rule is being set counts as guarded by what it was set to",
        killers=_OF_ARMING,
    ),
    Mutant(
        name="an echo is enough when all lanes are given back",
        file=_RECORD,
        line=f"return self.armed == self.lease_end and {_FREE}",
        broken=f"return {_FREE}",
        why="an empty queue has its rule ring for nothing, and others ring later than their due",
        killers=_OF_ARMING,
    ),
    Mutant(
        name="an echo is enough for what is due in a free lane",
        file=_RECORD,
        line=f"return self.armed == self.lease_end and {_FREE}",
        broken="return self.armed == self.lease_end",
        why="what is added to a lane that is free waits for the echo",
        killers=_OF_ARMING,
    ),
    Mutant(
        name="an echo is never enough where a lane is held",
        file=_RECORD,
        line=_WAKE,
        broken="free = self.target",
        why="each run sets its watchdog all the same",
        killers=_OF_ARMING,
    ),
    Mutant(
        name="the head start of what is due in a free lane is forgotten beside an echo",
        file=_RECORD,
        line=_WAKE,
        broken="free = min((lane.due for lane in self.lanes if not lane.owner), default=NEVER)",
        why="with precision second, what is added to a free lane starts minutes late",
        killers=_OF_ARMING,
    ),
    Mutant(
        name="a renewed lease keeps the end that its echo was for",
        within="ArmingRecord.renewed",
        file=_RECORD,
        line="return record.echoing(self.echo_of, record.lease_end) if self.echo_of else record",
        broken="return record",
        why="each renewal sets the rule, though its echo comes soon enough",
        killers=_OF_ARMING,
    ),
    Mutant(
        name="a renewed lease keeps its echo whenever that comes",
        within="ArmingRecord.renewed",
        file=_RECORD,
        line="return record.echoing(self.echo_of, record.lease_end) if self.echo_of else record",
        broken="return replace(record, armed=record.lease_end) if self.echo_of else record",
        why="the echo comes before the lease's end, and nothing after it",
        killers=_OF_ARMING,
    ),
    # One swap for two steps.
    Mutant(
        name="what was seen is tried again and again",
        file=_ARMER,
        line="record, seen = seen or self.read(), None",
        broken="record = seen or self.read()",
        why="a change that another got in before never succeeds",
        killers=_OF_THE_ARMER,
    ),
    Mutant(
        name="a change of what was seen waits before it reads",
        file=_ARMER,
        line="for pause in chain((0.0,), _pauses()) if seen else _pauses():",
        broken="for pause in _pauses():",
        why="a run that others changed the record beside waits for nothing",
        killers=_OF_THE_ARMER,
    ),
    Mutant(
        name="a change of what was seen reads it all the same",
        file=_ARMER,
        line="record, seen = seen or self.read(), None",
        broken="record = self.read()",
        why="each run pays for reads of what it has just written",
        killers=_OF_THE_ARMER,
    ),
    Mutant(
        name="a write of its own is taken for another's",
        file=_ARMER,
        line="            if applier and record.applier == applier:\n                return record\n",
        broken="",
        why="a run whose write had no answer says that it lost its lease, and sets the rule 20 seconds late",
        killers=_OF_THE_ARMER,
    ),
    Mutant(
        name="a hold of a rule that is settled",
        file=_ARMER,
        line=_TAKES_HOLD,
        broken="if applier and not changed.is_being_applied(now):",
        why="each change sets the rule",
        killers=_OF_THE_ARMER,
    ),
    Mutant(
        name="a hold of a rule that another process is setting",
        file=_ARMER,
        line=_TAKES_HOLD,
        broken="if applier and not changed.is_settled(now):",
        why="two calls of PutRule are under way at once, and the earlier one may land last",
        killers=_OF_THE_ARMER,
    ),
    Mutant(
        name="a hold of a rule that a process with a late clock is setting",
        file=_ARMER,
        line=_TAKES_HOLD,
        broken=_TAKES_HOLD.replace("(now):", "(now, skew=timedelta(0)):"),
        why="two calls of PutRule are under way at once when clocks differ",
        killers=_OF_THE_ARMER,
    ),
    Mutant(
        name="a change takes no hold",
        file=_ARMER,
        line=_TAKES_HOLD,
        broken="if False:",
        why="each run and each new head writes the record once more",
        killers=_OF_THE_ARMER,
    ),
    Mutant(
        name="a hold by nobody's name",
        within="Armer.ensure",
        file=_ARMER,
        line="me, seen = applier or new_applier(), _Hold()",
        broken="me, seen = new_applier(), _Hold()",
        why="nobody confirms the rule that was set, and it is set again",
        killers=_OF_THE_ARMER,
    ),
    Mutant(
        name="a name counts as a hold",
        file=_ARMER,
        line="is_mine = applier is not None and record is not None and record.applier == applier",
        broken="is_mine = applier is not None and record is not None",
        why="the rule is set beside another process that holds it",
        killers=_OF_THE_ARMER,
    ),
    Mutant(
        name="a hold that was taken is taken again",
        file=_ARMER,
        line="held = record if is_mine else self._take(record, me, now)",
        broken="held = self._take(record, me, now)",
        why="each run and each new head writes the record once more",
        killers=_OF_THE_ARMER,
    ),
    Mutant(
        name="a confirmation reads what it has just written",
        file=_ARMER,
        line="            seen=held,\n",
        broken="",
        why="each set of the rule costs a read",
        killers=_OF_THE_ARMER,
    ),
    Mutant(
        name="lowering takes no hold",
        within="Armer.lower",
        file=_ARMER,
        line="return self.ensure(self.change(lower, applier=applier), applier=applier)",
        broken="return self.ensure(self.change(lower))",
        why="each new head writes the record once more",
        killers=_OF_THE_ARMER,
    ),
)
