"""Mutants of what makes the rule follow the record: the armer, the rule, and the editor's order of steps."""

from .mutant import Killer, Mutant

__all__ = ["OF_ARMING"]

_RING_TIMES = "shared/duebell_shared/bell/ring_times.py"
_ARMER = "shared/duebell_shared/bell/armer.py"
_RULE = "shared/duebell_shared/bell/rule.py"
_BELL = "shared/duebell_shared/bell/bell.py"
_RECORD = "shared/duebell_shared/bell/arming.py"
_EXPRESSION = "shared/duebell_shared/bell/expression.py"
_EDITOR = "editor/duebell_editor/library/editor.py"

OF_ARMING = (
    Mutant(
        name="the lock ignored",
        file=_ARMER,
        line="if is_mine or not record.is_being_applied(now, skew=skew) or seen.is_over(record, now):",
        broken="if True:",
        why="two calls of PutRule are under way at once, and the earlier one may land last",
        killers=(Killer.ARMER, Killer.HISTORIES),
    ),
    Mutant(
        name="a hold ends by the clock of whoever looks",
        file=_ARMER,
        line="skew = timedelta(0) if record.applier == me else MOST_SKEW",
        broken="skew = timedelta(0)",
        why="a PutRule of a process whose clock is behind lands after the next one's",
        killers=(Killer.ARMER,),
    ),
    Mutant(
        name="a dead applier's hold is waited for by the clock only",
        file=_ARMER,
        line="        return now - self._since >= HOLD\n",
        broken="        return False\n",
        why="a process that dies while it sets the rule has the next ones give up with NotArmed",
        killers=(Killer.ARMER,),
    ),
    Mutant(
        name="settled without a look",
        within="Armer.ensure",
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
        "                me, held.target, early_minute(minute, held.target, taken_at) or minute, now",
        why="a minute that may be over before the rule is changed counts as a ring to come",
        killers=(Killer.ARMING, Killer.ARMER),
    ),
    Mutant(
        name="never rings early",
        file=_ARMER,
        line="early=early_minute(minute, held.target, taken_at)",
        broken="early=None",
        why="what is due at once waits a minute longer than it most often need",
        killers=(Killer.ARMING, Killer.ARMER),
    ),
    Mutant(
        name="an early minute before the target",
        file=_RING_TIMES,
        line="return early if early >= target and early > now else None",
        broken="return early if early > now else None",
        why="each due date has its rule ring a minute before, for nothing",
        killers=(Killer.ARMING,),
    ),
    Mutant(
        name="an early minute that is over",
        file=_RING_TIMES,
        line="return early if early >= target and early > now else None",
        broken="return early if early >= target else None",
        why="nothing rings in a minute that has begun",
        killers=(Killer.ARMING,),
    ),
    Mutant(
        name="an early minute of another hour",
        file=_RING_TIMES,
        line="if minute is None or minute.minute == 0:",
        broken="if minute is None:",
        why="the rule would ring in minute 59 of the later hour, and not a minute earlier",
        killers=(Killer.ARMING,),
    ),
    Mutant(
        name="the early minute taken for the rule's",
        file=_EXPRESSION,
        line="early = before if before.hour == minute.hour else None",
        broken="early = None",
        why="whoever verifies the rule finds it set to another minute than it was",
        killers=(Killer.EXPRESSION,),
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
        line="lanes=tuple(Lane(due=heads[lane]) for lane in",
        broken="lanes=tuple(Lane() for lane in",
        why="the tasks of a queue that has outlived its record are never looked at",
        killers=(Killer.ARMER, Killer.SHAPES),
    ),
    Mutant(
        name="what the rule was is not given back",
        file=_RULE,
        line='"ScheduleExpression": expression, **kept}',
        broken='"ScheduleExpression": expression}',
        why="PutRule enables a rule that an operator disabled, and empties its description",
        killers=(Killer.RULE,),
    ),
    Mutant(
        name="ConcurrentModificationException is not tried again",
        file=_RULE,
        line='    _passing = "ConcurrentModificationException"\n',
        broken='    _passing = ""\n',
        why="PutRule answers so in practice, and the SDK does not try again",
        killers=(Killer.RULE, Killer.HISTORIES),
    ),
    Mutant(
        name="armed before written",
        file=_EDITOR,
        line=(
            "            if not is_elsewhere and self._queue.store.insert(new):\n"
            "                log_change(added_as(new), None, new)\n"
            "                task = new\n"
            "            else:\n"
            "                task = self._settle(new, if_exists, rev, at_most)\n"
            "            if task is not new:\n"
            "                self._rule.arm([task])\n"
            "                return task\n"
            "            if not self._rule.arm_added([new], lanes):\n"
            "                return new if self._queue.lanes == lanes else self._queue.get(new.id) or new\n"
        ),
        broken=(
            "            self._rule.arm([new])\n"
            "            if not is_elsewhere and self._queue.store.insert(new):\n"
            "                log_change(added_as(new), None, new)\n"
            "                task = new\n"
            "            else:\n"
            "                task = self._settle(new, if_exists, rev, at_most)\n"
            "            if task is not new:\n"
            "                self._rule.arm([task])\n"
            "                return task\n"
            "            return new\n"
        ),
        why="a run between the two reads the head without the task, and releases the lane without its due",
        killers=(Killer.MEANWHILE, Killer.HISTORIES),
    ),
    Mutant(
        name="not armed after a move or a resume",
        file=_EDITOR,
        line="                self._rule.arm([changed])\n",
        broken="                self._arm([])\n",
        why="the rule stays at the later time",
        killers=(Killer.MEANWHILE, Killer.HISTORIES),
    ),
    Mutant(
        name="a repeated change arms nothing",
        file=_EDITOR,
        line="                self._rule.arm([changed])\n",
        broken="                self._rule.arm([changed] if changed.queued != task.queued else [])\n",
        why="the call that wrote the change raised or died, and its repetition returns as if all were well",
        killers=(Killer.REPEATING, Killer.HISTORIES),
    ),
    Mutant(
        name="an add that finds its id taken arms nothing",
        file=_EDITOR,
        line="            self._rule.arm_after(taken, there.values())\n",
        broken="",
        why="what is there may be its own, of a call that raised",
        killers=(Killer.REPEATING,),
    ),
    Mutant(
        name="a server's failure counts as a refusal",
        file=_BELL,
        line="return status >= _SERVER_FAILED",
        broken="return False",
        why="the call that failed may take effect when another one has set the rule",
        killers=(Killer.RULE, Killer.HISTORIES),
    ),
    Mutant(
        name="no echoes",
        file=_RING_TIMES,
        line="ECHOES = (4, 12, 27)",
        broken="ECHOES = (60,)",
        why="a ring that is lost comes again an hour later",
        killers=(Killer.EXPRESSION,),
    ),
    Mutant(
        name="no echoes in later hours",
        file=_EXPRESSION,
        line="if minute.hour < _LAST_HOUR else",
        broken="if not minute else",
        why="a ring that is lost in the last minutes of an hour comes a day later",
        killers=(Killer.EXPRESSION, Killer.HISTORIES),
    ),
    Mutant(
        name="no echoes on later days",
        file=_EXPRESSION,
        line='return f"{day}-{last} {month} ? {year}"',
        broken='return f"{day} {month} ? {year}"',
        why="a ring that is lost in the last minutes of a day never comes again",
        killers=(Killer.EXPRESSION,),
    ),
    Mutant(
        name="the first of this month rings too",
        file=_EXPRESSION,
        line="if (now.year, now.month) == (year, month) and now.day > 1:",
        broken="if True:",
        why="a rule that is set for the end of a month rings all through its first day",
        killers=(Killer.EXPRESSION,),
    ),
    Mutant(
        name="not armed for a change that was made and never answered",
        file=_EDITOR,
        line="                self._rule.arm_after(conflict, [task])",
        broken="                pass",
        why="the change is refused when it is repeated, and the rule stays at the later time",
        killers=(Killer.CHANGED,),
    ),
    Mutant(
        name="armed without lowering",
        file=_EDITOR,
        line="            record = self._backend.armer.lower(dues, lanes=lanes)\n",
        broken="            record = self._backend.armer.ensure()\n",
        why="the record does not know of the task",
        killers=(Killer.SCENARIO, Killer.HISTORIES),
        is_fast=True,
    ),
)
