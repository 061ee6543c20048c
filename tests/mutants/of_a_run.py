"""Mutants of a run: its lease, its order of steps, and what it writes."""

from .mutant import Killer, Mutant

__all__ = ["OF_A_RUN"]

_RUN = "worker/duebell_worker/run/run.py"
_SUCCESSOR = "worker/duebell_worker/run/successor.py"
_WAITS = "worker/duebell_worker/run/waits.py"
_LANE_WRITER = "worker/duebell_worker/run/lane_writer.py"
_PERFORMER = "worker/duebell_worker/run/performer.py"
_LEASE = "worker/duebell_worker/run/lease.py"
_TROUBLE = "worker/duebell_worker/run/trouble.py"
_LANE_READER = "worker/duebell_worker/run/lane_reader.py"
_ATTEMPTS = "worker/duebell_worker/run/attempts.py"
_OUTCOME = "worker/duebell_worker/run/outcome.py"
_ACTION = "worker/duebell_worker/actions/action.py"
_TASK = "shared/duebell_shared/tasks/task.py"

OF_A_RUN = (
    Mutant(
        name="not cleared",
        file=_RUN,
        line="        quiet = self._lease.clear()\n",
        broken="        quiet: dict[int, datetime] = {}\n",
        why="the release keeps a due from before, and what came of it rings again",
        killers=(Killer.ADDED_TO,),
    ),
    Mutant(
        name="cleared after the heads are read",
        file=_RUN,
        line="        quiet = self._lease.clear()\n",
        broken="        quiet = self._reader.heads(self._lease.lanes)\n        self._lease.clear()\n",
        why="what was added between the two is forgotten",
        killers=(Killer.GIVING_BACK, Killer.HISTORIES),
    ),
    Mutant(
        name="a lane that was added to is not read again",
        file="shared/duebell_shared/bell/arming.py",
        line="return {number for number in self.lanes_of(owner) if self.lanes[number].due == NEVER}",
        broken="return set(self.lanes_of(owner))",
        why="what was added since the look into a quiet lane is forgotten",
        killers=(Killer.GIVING_BACK,),
    ),
    Mutant(
        name="no watchdog armed",
        file=_SUCCESSOR,
        line="            lease.arm()\n",
        broken="            pass\n",
        why="a run that dies is noticed only by chance",
        killers=(Killer.HISTORIES, Killer.LEASE),
    ),
    Mutant(
        name="never renewed",
        file=_WAITS,
        line="if now >= self._renew_at:",
        broken="if False:",
        why="a run that takes longer than a lease loses its lanes, and its tasks run twice",
        killers=(Killer.HISTORIES, Killer.LEASE),
    ),
    Mutant(
        name="a lost lease is not noticed",
        file=_LEASE,
        line="if not set(self.lanes) <= set(lanes):",
        broken="if False:",
        why="two runs work on the same lanes",
        killers=(Killer.LEASE, Killer.HISTORIES),
    ),
    Mutant(
        name="claimed and written without the lease",
        file=_LANE_WRITER,
        line="            if not self._lease.is_held():\n                return [None]",
        broken="            if False:\n                return [None]",
        why="a run that lost its lease writes nothing more, and takes no task from the one that holds it",
        killers=(Killer.LEASE,),
    ),
    Mutant(
        name="a batch that raises takes all its tasks with it",
        file=_LANE_WRITER,
        line="if not batch[1:] or not isinstance(error, Exception):",
        broken="if True:",
        why="tasks beside one that nobody foresaw never run",
        killers=(Killer.WRITES,),
    ),
    Mutant(
        name="a twin is run like any task",
        file=_RUN,
        line="return is_ready and not (status is Status.SCHEDULED and self._is_twin(key))",
        broken="return is_ready",
        why="a task whose add took effect late, after a relane, runs twice",
        killers=(Killer.TWINS,),
    ),
    Mutant(
        name="called without the lease",
        file=_PERFORMER,
        line="if isinstance(task, Task) and self._lease.is_held():",
        broken="if isinstance(task, Task):",
        why="a process that stood still while it claimed calls the action beside another run's",
        killers=(Killer.LEASE, Killer.RUN),
    ),
    Mutant(
        name="holds what it has released",
        within="Lease.release",
        file=_LEASE,
        line="        self.until = self.clock()\n",
        broken="",
        why="what still hangs in its threads writes its outcome when another run holds the lane",
        killers=(Killer.LEASE,),
    ),
    Mutant(
        name="what is under way is started once more",
        file=_RUN,
        line="known = {*self._attempts.under_way(), *self._attempts",
        broken="known = {*self._attempts",
        why="while an action takes long, its task is claimed again at each look, for nothing",
        killers=(Killer.RUN, Killer.LEASE),
    ),
    Mutant(
        name="released although due",
        file=_LEASE,
        line="return record if is_near else released",
        broken="return released",
        why="what came due meanwhile waits for another ring",
        killers=(Killer.LEASE, Killer.RUN),
    ),
    Mutant(
        name="what a dead run left running is never claimed",
        file=_RUN,
        line="self._attempts.start(key, Status.RUNNING)",
        broken="self._attempts.start(key, Status.SCHEDULED)",
        why="a task whose process died stays running for ever",
        killers=(Killer.RUN, Killer.HISTORIES),
    ),
    Mutant(
        name="a last attempt that was never begun counts",
        file=_ACTION,
        line="return task.attempt > self.attempts and (task.begun or 0) >= self.attempts",
        broken="return task.attempt > self.attempts",
        why="one death after a batch was claimed fails all of it, and none of it was started",
        killers=(Killer.ABANDONED,),
    ),
    Mutant(
        name="a last attempt is not recorded as begun",
        file=_ACTION,
        line="return claimed.attempt >= self.attempts and (claimed.begun or 0) < self.attempts",
        broken="return False",
        why="a task that kills its process does so for ever",
        killers=(Killer.ABANDONED,),
    ),
    Mutant(
        name="the begun attempt is remembered",
        file=_TASK,
        line="return replace(self, rev=self.rev + 1, begun=begun, limited_since=limited_since, **changes)",
        broken="return replace(self, rev=self.rev + 1, limited_since=limited_since, **changes)",
        why="after a retry the last attempt counts as begun before it is",
        killers=(Killer.ABANDONED,),
    ),
    Mutant(
        name="an unanswered beginning is not made",
        file=_PERFORMER,
        line="if result is True or (isinstance(result, AwsUnavailable) and self._may_have_begun(attempt)):",
        broken="if result is True:",
        why="the task fails as if its process had died, and was never started",
        killers=(Killer.ABANDONED,),
    ),
    Mutant(
        name="attempts without a limit",
        file=_OUTCOME,
        line="    if action.is_used_up(task):\n",
        broken="    if False:\n",
        why="a task that kills its process does so for ever",
        killers=(Killer.RUN, Killer.HISTORIES),
    ),
    Mutant(
        name="started early",
        file=_RUN,
        line="self._lease.quiet, keys = self._reader.queued(lanes, now=now)\n",
        broken=(
            "now += timedelta(seconds=30)\n"
            "        self._lease.quiet, keys = self._reader.queued(lanes, now=now)\n"
        ),
        why="nothing runs before it is due",
        killers=(Killer.RUN, Killer.HISTORIES),
    ),
    Mutant(
        name="trouble of all lanes is forgotten",
        file=_RUN,
        line="        if error := self._trouble.error_of_all(len(lanes)):\n            raise error\n",
        broken="",
        why="Lambda does not try again, and no alarm says that the worker may do nothing",
        killers=(Killer.ONE_LANE,),
    ),
    Mutant(
        name="a lane in trouble is claimed from all the same",
        file=_RUN,
        line="is_ready = is_held and not self._trouble.again_at(key.lane)",
        broken="is_ready = is_held",
        why="actions are called whose outcomes cannot be written, one after the other",
        killers=(Killer.ONE_LANE, Killer.GIVING_BACK_ALL),
    ),
    Mutant(
        name="an outcome that could not be written is forgotten",
        file=_ATTEMPTS,
        line="                self._unrecorded.append(attempt)\n",
        broken="                pass\n",
        why="the action is called again, though the lease was held all along",
        killers=(Killer.ONE_LANE,),
    ),
    Mutant(
        name="a lane rests for a minute, however long its trouble lasts",
        file=_TROUBLE,
        line="lasted = min(max(now - trouble.since, _SHORTEST), _LONGEST)",
        broken="lasted = _SHORTEST",
        why="the rule rings every minute for a lane that is refused for days",
        killers=(Killer.ONE_LANE,),
    ),
    Mutant(
        name="calls that were under way together make a lane rest",
        file=_TROUBLE,
        line="            if trouble.failed and now < trouble.until:\n                return\n",
        broken="",
        why="a moment's throttling of a busy lane stops it for a minute",
        killers=(Killer.ONE_LANE,),
    ),
    Mutant(
        name="a lane whose head cannot be read is due never",
        file=_LANE_READER,
        line="heads.get(lane) or self._trouble.again_at(lane) or self._clock()",
        broken="heads.get(lane) or NEVER",
        why="the rule does not ring for what waits in it",
        killers=(Killer.ONE_LANE,),
    ),
    Mutant(
        name="every run counts",
        file=_LEASE,
        line="sizes is not None and record.counted_at == now",
        broken="sizes is not None",
        why="a run costs more by what it counts than by what it does",
        killers=(Killer.METRICS,),
    ),
    Mutant(
        name="the handler does not try again",
        file="worker/duebell_worker/invocation.py",
        line="_PAUSES = (1.0, 4.0, 16.0, 32.0)",
        broken="_PAUSES: tuple[float, ...] = ()",
        why="the ring does not come twice, and Lambda invokes only three times",
        killers=(Killer.HANDLER, Killer.HISTORIES),
    ),
    Mutant(
        name="what is due waits for a task left running",
        file=_RUN,
        line=(
            "            self._waits.wait_until_idle(by=self._context.now() + _LOOK_AGAIN)\n"
            "            self._run_due()\n"
        ),
        broken="            self._waits.wait_until_idle()\n",
        why="one that hangs keeps all lanes of its run from going on until the time is up",
        killers=(Killer.RUN,),
    ),
    Mutant(
        name="a task left running is not alone",
        file=_RUN,
        line=(
            "            self._waits.wait_until_idle(by=self._context.now() + _LOOK_AGAIN)\n"
            "            self._run_due()\n"
        ),
        broken="            self._run_due()\n",
        why="one that kills its process takes along whatever has come due meanwhile",
        killers=(Killer.RUN,),
    ),
    Mutant(
        name="a run for no lane believes the record",
        file=_RUN,
        line="record = armer.verify()",
        broken="record = armer.ensure()",
        why="after an apply of Terraform's the rule stays where the plan had it",
        killers=(Killer.HANDLER,),
    ),
)
