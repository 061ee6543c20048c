"""Mutants of what keeps `duebell verify` from harm on a queue that is in use, and from leaving anything."""

from .mutant import Killer, Mutant

__all__ = ["OF_VERIFYING"]

_RECORD = "infra/duebell_infra/verify/record.py"
_OWN = "infra/duebell_infra/verify/own_tasks.py"
_CHECKS = "infra/duebell_infra/verify/checks.py"
_WORKER = "worker/duebell_worker/worker.py"

OF_VERIFYING = (
    Mutant(
        name="the record is swapped wherever conditions do not hold",
        file=_RECORD,
        line="    if not scene.conditions_hold:\n",
        broken="    if False:\n",
        why="a swap that must lose wins, and what was added meanwhile is never woken for",
        killers=(Killer.VERIFYING,),
    ),
    Mutant(
        name="a rule that is about to ring is set anew",
        file=_RECORD,
        line="if scene.rings_within(SOON) or record.is_being_applied(scene.now()):",
        broken="if record.is_being_applied(scene.now()):",
        why="it rings a minute or two later than it would have: the user's task is late",
        killers=(Killer.VERIFYING,),
    ),
    Mutant(
        name="verify reads past-index once",
        file="infra/duebell_infra/verify/reads.py",
        line="    return scene.wait(is_so, until=scene.now() + _LAG)\n",
        broken="    return is_so()\n",
        why="a global index lags behind, so a table that is well is told to be broken",
        killers=(Killer.VERIFYING,),
    ),
    Mutant(
        name="verify deletes whatever has the id",
        file=_OWN,
        line='ConditionExpression="#action = :verify",',
        broken='ConditionExpression="attribute_exists(#action) OR #action = :verify",',
        why="a user's task of such an id is lost",
        killers=(Killer.VERIFYING,),
    ),
    Mutant(
        name="what another verify at work has stored is removed",
        file=_OWN,
        line=" if task.created_at < before]",
        broken="]",
        why="the other one fails",
        killers=(Killer.VERIFYING,),
    ),
    Mutant(
        name="an entry is removed before the task it tells of",
        file=_OWN,
        line="key=lambda key: key[0], reverse=True):",
        broken="key=lambda key: key[0]):",
        why="broken off between the two, the task is found by nobody any more",
        killers=(Killer.VERIFYING,),
    ),
    Mutant(
        name="a verify that is ended does not tidy up",
        file=_CHECKS,
        line="            scene.own.remove()\n",
        broken="            pass\n",
        why="Ctrl-C leaves a probe in the queue",
        killers=(Killer.VERIFYING,),
    ),
    Mutant(
        name="an invocation that is to fail on purpose runs first",
        file=_WORKER,
        line="        if token := token_in(event):\n            raise FailedOnPurpose(token)\n",
        broken="        if token := token_in(event):\n"
        "            self.run()\n            raise FailedOnPurpose(token)\n",
        why="the user's actions run three times over for a check",
        killers=(Killer.BUILT_IN,),
    ),
    Mutant(
        name="a user takes the name of a built-in action",
        file="worker/duebell_worker/actions/actions.py",
        line="        if is_reserved(action.name):\n",
        broken="        if False:\n",
        why="a probe runs the user's code",
        killers=(Killer.BUILT_IN,),
    ),
)
