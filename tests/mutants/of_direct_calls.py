"""Mutants of who calls a run directly, and when: for what is due sooner than the rule rings."""

from .mutant import Killer, Mutant

__all__ = ["OF_DIRECT_CALLS"]

_RECORD = "shared/duebell_shared/arming.py"
_ARMER = "shared/duebell_shared/armer.py"
_BACKEND = "shared/duebell_shared/backend.py"
_FUNCTION = "shared/duebell_shared/function.py"
_EDITOR = "editor/duebell_editor/editor.py"
_RUN = "worker/duebell_worker/run.py"

OF_DIRECT_CALLS = (
    Mutant(
        name="an editor calls nobody",
        file=_EDITOR,
        line="        self._backend.hasten(record)\n",
        broken="",
        why="what is due at once waits for the rule, a minute or two",
        killers=(Killer.CALLING,),
    ),
    Mutant(
        name="the successor is not called",
        file=_RUN,
        line="        self._backend.hasten(record)\n",
        broken="",
        why="what a run had to leave waits for the rule, a minute or two",
        killers=(Killer.CALLING,),
    ),
    Mutant(
        name="a call that was made is ignored",
        file=_RECORD,
        line="(self.called_at and self.called_at > now - _CALL):",
        broken="False:",
        why="a burst of adds calls a run each",
        killers=(Killer.ARMING, Killer.CALLING),
        is_fast=True,
    ),
    Mutant(
        name="a call that was made holds for ever",
        file=_RECORD,
        line="(self.called_at and self.called_at > now - _CALL):",
        broken="self.called_at:",
        why="when the run that was called does not come, no other one is called any more",
        killers=(Killer.ARMING, Killer.CALLING),
    ),
    Mutant(
        name="called_at is not reset by the run that comes",
        file=_RECORD,
        line="return replace(record, armed=None, rings_at=None, called_at=None, late_ring=late_ring)",
        broken="return replace(record, armed=None, rings_at=None, late_ring=late_ring)",
        why="what is added after it has ended waits for the rule",
        killers=(Killer.ARMING, Killer.CALLING),
    ),
    Mutant(
        name="a held lane's run is called",
        file=_RECORD,
        line="free = [lane for lane in self.lanes if lane.is_free(now)]\n"
        "        due = min((lane.until if lane.owner else lane.due for lane in free), default=NEVER)",
        broken="due = min(lane.due for lane in self.lanes)",
        why="whatever is added while a run works calls another one, which finds nothing to do",
        killers=(Killer.ARMING, Killer.CALLING),
    ),
    Mutant(
        name="a run is called for the end of a live one's lease",
        file=_RECORD,
        line="        free = [lane for lane in self.lanes if lane.is_free(now)]\n",
        broken="        free = list(self.lanes)\n",
        why="with a head start every lease ends soon, and each add calls a run for nothing",
        killers=(Killer.ARMING, Killer.CALLING),
    ),
    Mutant(
        name="nobody is called for what a dead run held",
        file=_RECORD,
        line="lane.until if lane.owner else lane.due for lane in free",
        broken="lane.due for lane in free",
        why="a claim forgets the dues: the lane of a run that died says never, whatever is in it",
        killers=(Killer.ARMING,),
    ),
    Mutant(
        name="called though the rule rings",
        file=_RECORD,
        line="return self.rings_at is None or self.rings_at > now",
        broken="return True",
        why="each ring, until its run has come, is followed by calls of others",
        killers=(Killer.ARMING,),
    ),
    Mutant(
        name="called for what it will not wait for",
        file=_RECORD,
        line="is_near = bool(self.head_start) and start_by <= now + LEAD",
        broken="is_near = start_by <= now + LEAD",
        why="a run that goes by the minute finds nothing due, and calls the next one, and so on",
        killers=(Killer.ARMING, Killer.CALLING),
    ),
    Mutant(
        name="nobody is called to wait",
        file=_RECORD,
        line="is_near = bool(self.head_start) and start_by <= now + LEAD",
        broken="is_near = False",
        why="what is due within two minutes is late by one, though the worker goes by the second",
        killers=(Killer.ARMING, Killer.CALLING),
    ),
    Mutant(
        name="called though the rule rings in time",
        file=_RECORD,
        line="return is_near and (self.rings_at is None or self.rings_at > ceil_to_minute(start_by))",
        broken="return is_near",
        why="whatever is due soon has a run called, and the rule wakes another one",
        killers=(Killer.ARMING,),
    ),
    Mutant(
        name="called whether it is needed or not",
        file=_RECORD,
        line="return replace(self, called_at=now) if self.rings_too_late(now) else self",
        broken="return replace(self, called_at=now)",
        why="of two who want a run at once, each calls one",
        killers=(Killer.ARMING, Killer.ARMER),
    ),
    Mutant(
        name="called without a note of it",
        file=_ARMER,
        line="            return called\n\n        self.change(call)",
        broken="            return record\n\n        self.change(call)",
        why="nobody else knows of it, and a burst of adds calls a run each",
        killers=(Killer.CALLING,),
    ),
    Mutant(
        name="called though another did so just before",
        file=_ARMER,
        line="            is_mine = called != record\n",
        broken="            is_mine = is_mine or called != record\n",
        why="of two who want a run at once, each calls one",
        killers=(Killer.ARMING, Killer.CALLING),
    ),
    Mutant(
        name="called while the rule is disabled",
        file=_BACKEND,
        line="if self.rule.read().is_enabled and self.armer.call():",
        broken="if self.armer.call():",
        why="an operator stops the scheduler, and it goes on",
        killers=(Killer.CALLING,),
    ),
    Mutant(
        name="another run is called for lanes that were just handed over",
        file=_RECORD,
        line="return replace(self.released(owner, heads), called_at=now)",
        broken="return self.released(owner, heads)",
        why="the runs that are started for them are not there yet, and one more comes",
        killers=(Killer.CALLING,),
    ),
    Mutant(
        name="who is called by a clock that is ahead leaves at once",
        file=_RUN,
        line="stays_for = self._backend.settings.head_start + LEAD if waits else _MOMENT",
        broken="stays_for = self._backend.settings.head_start + LEAD if waits else timedelta(0)",
        why="by its own clock nothing is due yet, and the task waits for the rule",
        killers=(Killer.CALLING,),
    ),
    Mutant(
        name="the record is read for each add",
        file=_BACKEND,
        line="if self.function is None or not record.rings_too_late(self.clock()):",
        broken="if self.function is None:",
        why="an add of what is due later costs a read more",
        killers=(Killer.COSTS, Killer.CALLING),
    ),
    Mutant(
        name="who cannot call fails",
        file=_BACKEND,
        line="except (AwsError, NotArmed, NotDeployed) as error:",
        broken="except NotDeployed as error:",
        why="an add raises though its task is stored and the rule set",
        killers=(Killer.CALLING,),
    ),
    Mutant(
        name="an invocation that is refused fails",
        file=_FUNCTION,
        line="except (BotoCoreError, ClientError) as error:",
        broken="except BotoCoreError as error:",
        why="an add raises though its task is stored and the rule set",
        killers=(Killer.CALLING,),
    ),
    Mutant(
        name="waits for the run it calls",
        file=_FUNCTION,
        line='InvocationType="Event"',
        broken='InvocationType="RequestResponse"',
        why="an add takes as long as the run",
        killers=(Killer.CALLING,),
    ),
)
