"""Mutants of what makes the rule follow the record: the armer, the rule, and the editor's order of steps."""

from .mutant import Killer, Mutant

__all__ = ["OF_ARMING"]

_ARMER = "shared/duebell_shared/armer.py"
_RULE = "shared/duebell_shared/rule.py"
_RECORD = "shared/duebell_shared/arming.py"
_EDITOR = "editor/duebell_editor/editor.py"

OF_ARMING = (
    Mutant(
        name="the lock ignored",
        file=_ARMER,
        line="if not record.is_being_applied(now):",
        broken="if True:",
        why="two calls of PutRule are under way at once, and the earlier one may land last",
        killers=(Killer.ARMER, Killer.HISTORIES),
    ),
    Mutant(
        name="settled without a look",
        file=_ARMER,
        line="            if record.is_settled(now):\n",
        broken="            if record.armed is not None:\n",
        why="the rule stays where it was set for another target",
        killers=(Killer.ARMER, Killer.HISTORIES),
    ),
    Mutant(
        name="a time-out gives up the hold",
        file=_ARMER,
        line="except (AwsRefused, NotDeployed):\n            # It had",
        broken="except (AwsRefused, NotDeployed, AwsUnavailable):\n            # It had",
        why="the call that was not answered may land after the next applier's",
        killers=(Killer.ARMER, Killer.HISTORIES),
    ),
    Mutant(
        name="the target from before the hold",
        file=_ARMER,
        line="newest.confirmed(\n                me, held.target, minute,",
        broken="newest.confirmed(\n                me, newest.target, minute,",
        why="an earlier target that came while PutRule was under way counts as armed",
        killers=(Killer.MEANWHILE, Killer.ARMER),
    ),
    Mutant(
        name="the early minute is counted on",
        file=_ARMER,
        line="            lambda newest: newest.confirmed(\n                me, held.target, minute, now",
        broken="            lambda newest: newest.confirmed(\n"
        "                me, held.target, early_minute(minute, held.target, now) or minute, now",
        why="a minute that may be over before the rule is changed counts as a ring to come",
        killers=(Killer.ARMING, Killer.ARMER),
    ),
    Mutant(
        name="never rings early",
        file=_ARMER,
        line="early=early_minute(minute, held.target, now)",
        broken="early=None",
        why="what is due at once waits a minute longer than it most often need",
        killers=(Killer.ARMING, Killer.ARMER),
    ),
    Mutant(
        name="an early minute before the target",
        file=_RECORD,
        line="return early if early >= target and early > now else None",
        broken="return early if early > now else None",
        why="each due date has its rule ring a minute before, for nothing",
        killers=(Killer.ARMING,),
    ),
    Mutant(
        name="an early minute that is over",
        file=_RECORD,
        line="return early if early >= target and early > now else None",
        broken="return early if early >= target else None",
        why="nothing rings in a minute that has begun",
        killers=(Killer.ARMING,),
    ),
    Mutant(
        name="an early minute of another hour",
        file=_RECORD,
        line="if minute is None or minute.minute == 0:",
        broken="if minute is None:",
        why="the rule would ring in minute 59 of the later hour, and not a minute earlier",
        killers=(Killer.ARMING,),
    ),
    Mutant(
        name="the early minute taken for the rule's",
        file=_RULE,
        line=r"cron\((?:\d+,)?(\d+) ",
        broken=r"cron\((\d+)(?:,\d+)? ",
        why="whoever verifies the rule finds it set to another minute than it was",
        killers=(Killer.RULE,),
    ),
    Mutant(
        name="a lost swap counts",
        file=_ARMER,
        line="            if swapped := self._store.swap_record(record, changed):\n"
        "                return swapped\n",
        broken="            return self._store.swap_record(record, changed) or changed\n",
        why="someone else got in first, and the change is lost",
        killers=(Killer.MEANWHILE, Killer.HISTORIES),
    ),
    Mutant(
        name="a hold as long as a minute and more",
        file=_ARMER,
        line="HOLD = timedelta(seconds=20)",
        broken="HOLD = timedelta(seconds=150)",
        why="a ring is confirmed that was over before the rule was set to it",
        killers=(Killer.ARMER, Killer.HISTORIES),
    ),
    Mutant(
        name="the record made anew without the heads",
        file=_ARMER,
        line="Lane(due=due) for due in heads[",
        broken="Lane() for due in heads[",
        why="the tasks of a queue that has outlived its record are never looked at",
        killers=(Killer.ARMER, Killer.SHAPES),
    ),
    Mutant(
        name="what the rule was is not given back",
        file=_RULE,
        line="**{name: value for name, value in kept.items() if value},",
        broken="",
        why="PutRule enables a rule that an operator disabled, and empties its description",
        killers=(Killer.RULE,),
    ),
    Mutant(
        name="ConcurrentModificationException is not tried again",
        file=_RULE,
        line='    "ConcurrentModificationException",\n',
        broken="",
        why="PutRule answers so in practice, and the SDK does not try again",
        killers=(Killer.RULE, Killer.HISTORIES),
    ),
    Mutant(
        name="armed before written",
        file=_EDITOR,
        line="task = self._write(new, if_exists, rev)\n        self._arm([task])\n",
        broken="self._arm([new])\n        task = self._write(new, if_exists, rev)\n",
        why="a run between the two reads the head without the task, and releases the lane without its due",
        killers=(Killer.MEANWHILE, Killer.HISTORIES),
    ),
    Mutant(
        name="not armed after a move or a resume",
        file=_EDITOR,
        line="self._arm([changed] if changed.queued != task.queued else [])",
        broken="self._arm([])",
        why="the rule stays at the later time",
        killers=(Killer.MEANWHILE, Killer.HISTORIES),
    ),
    Mutant(
        name="not armed for a change that was made and never answered",
        file=_EDITOR,
        line="                self._arm([task])  # it may have been made before, and never answered\n",
        broken="",
        why="the change is refused when it is repeated, and the rule stays at the later time",
        killers=(Killer.CHANGED,),
    ),
    Mutant(
        name="armed without lowering",
        file=_EDITOR,
        line="self._armer.ensure(self._armer.lower(dues))",
        broken="self._armer.ensure()",
        why="the record does not know of the task",
        killers=(Killer.SCENARIO, Killer.HISTORIES),
        is_fast=True,
    ),
)
