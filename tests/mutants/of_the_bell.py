"""Mutants of the bell: what setting it gives back, what is tried again, and how a queue changes it."""

from .mutant import Killer, Mutant

__all__ = ["OF_THE_BELL"]

_SCHEDULE = "shared/duebell_shared/bell/ring_schedule.py"

OF_THE_BELL = (
    Mutant(
        name="the schedule's state is not given back",
        file=_SCHEDULE,
        line='for one in ("Target", "State", "Description", "KmsKeyArn") if found.get(one)',
        broken='for one in ("Target", "Description", "KmsKeyArn") if found.get(one)',
        why="a schedule that an operator disabled rings again",
        killers=(Killer.RING_SCHEDULE,),
        is_fast=True,
    ),
    Mutant(
        name="the schedule's key is not given back",
        file=_SCHEDULE,
        line='for one in ("Target", "State", "Description", "KmsKeyArn") if found.get(one)',
        broken='for one in ("Target", "State", "Description") if found.get(one)',
        why="UpdateSchedule resets what it is not given",
        killers=(Killer.RING_SCHEDULE,),
    ),
    Mutant(
        name="a schedule rings in a time zone that somebody gave it",
        file=_SCHEDULE,
        line='            "ScheduleExpressionTimezone": "UTC",\n',
        broken='            "ScheduleExpressionTimezone": found.get("ScheduleExpressionTimezone", "UTC"),\n',
        why="the expression is in UTC, so it rings hours late",
        killers=(Killer.RING_SCHEDULE,),
    ),
    Mutant(
        name="a schedule is deleted after its last ring",
        file=_SCHEDULE,
        line='            "ActionAfterCompletion": "NONE",\n',
        broken='            "ActionAfterCompletion": found.get("ActionAfterCompletion", "NONE"),\n',
        why="there is nothing left to set",
        killers=(Killer.RING_SCHEDULE,),
    ),
    Mutant(
        name="a schedule is parked in the past",
        file=_SCHEDULE,
        line="    sentinel = FAR_SENTINEL\n",
        broken='    sentinel = "cron(0 0 1 1 ? 1970)"\n',
        why="nothing says that EventBridge Scheduler takes a year that is over",
        killers=(Killer.RING_SCHEDULE,),
    ),
    Mutant(
        name="a conflict is no reason to set the schedule again",
        file=_SCHEDULE,
        line='    _passing = "ConflictException"\n',
        broken='    _passing = ""\n',
        why="two editors at once, and one of them is refused",
        killers=(Killer.RULE,),
    ),
    Mutant(
        name="the far sentinel is no sentinel",
        file="shared/duebell_shared/bell/expression.py",
        line="        return expression in {SENTINEL, FAR_SENTINEL}\n",
        broken="        return expression == SENTINEL\n",
        why="a parked schedule counts as one that somebody else has set",
        killers=(Killer.RING_SCHEDULE,),
    ),
    Mutant(
        name="the old bell is removed with the change",
        file="infra/duebell_infra/deploy/bells.py",
        line='    return {_OTHER: "yes"}\n',
        broken="    return {}\n",
        why="what the rule was to ring for waits until the deployment has come to its end, or for ever",
        killers=(Killer.BELLS,),
    ),
    Mutant(
        name="the new bell is not looked at",
        file="infra/duebell_infra/deploy/bells.py",
        line="        if backend.rule.read().is_at(record.set_to):\n",
        broken="        if True:\n",
        why="an editor may have confirmed the other bell meanwhile, and that is about to be removed",
        killers=(Killer.BELLS, Killer.CHANGED_BELL),
    ),
    Mutant(
        name="the other bell is removed without a look at the one that stays",
        file="infra/duebell_infra/deploy/bells.py",
        line='    if before.get(_OTHER, "no") == "yes" and given.get(_OTHER, "no") == "no":\n',
        broken="    if False:\n",
        why="what only the other one was set for is not rung for while the stack changes",
        killers=(Killer.BELLS,),
    ),
    Mutant(
        name="after a failed change the bell that is not there is armed",
        file="infra/duebell_infra/deploy/deploy.py",
        line="                Backend.connect(settings_of(name, before), session).armer.verify()\n",
        broken="                backend.armer.verify()\n",
        why="CloudFormation may have parked the one of before",
        killers=(Killer.BELLS,),
    ),
)
