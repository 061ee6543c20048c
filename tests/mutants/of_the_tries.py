"""Mutants of the tries of one invocation, of what follows on a death, and of the order of what it left."""

from .mutant import Killer, Mutant

__all__ = ["OF_THE_TRIES"]

_OWNER = "shared/duebell_shared/bell/owner.py"
_LEASE = "worker/duebell_worker/run/lease.py"
_SUCCESSOR = "worker/duebell_worker/run/successor.py"
_NOT_CLAIMED = "worker/duebell_worker/run/not_claimed.py"
_LANE_READER = "worker/duebell_worker/run/lane_reader.py"
_INVOCATION = "worker/duebell_worker/invocation.py"

OF_THE_TRIES = (
    Mutant(
        name="each try is a request of its own",
        file=_INVOCATION,
        line='id = owner_of(getattr(context, "aws_request_id", "") or uuid.uuid4().hex)',
        broken="id = owner_of(uuid.uuid4().hex)",
        why="Lambda's next try finds the lanes held, ends well, and is the last",
        killers=(Killer.TRIES, Killer.KILLER),
    ),
    Mutant(
        name="the tries of a request are one run",
        file=_OWNER,
        line='return f"{request}.{uuid.uuid4().hex[:_NONCE]}"',
        broken='return f"{request}.{0:08}"',
        why="a try takes the lease of one that lives for its own, and its tasks run twice",
        killers=(Killer.TRIES, Killer.KILLER),
    ),
    Mutant(
        name="a context without a request id has an empty one",
        file=_INVOCATION,
        line='id = owner_of(getattr(context, "aws_request_id", "") or uuid.uuid4().hex)',
        broken='id = owner_of(getattr(context, "aws_request_id", ""))',
        why="all runs are tries of one request, and wait for each other",
        killers=(Killer.TRIES,),
    ),
    Mutant(
        name="every run that holds lanes is another try",
        file=_OWNER,
        line="        and request_of(lane.owner) == request_of(owner)\n",
        broken="",
        why="each ring during a long run pays for a run that waits two minutes",
        killers=(Killer.TRIES,),
    ),
    Mutant(
        name="its own lease is another try's",
        file=_OWNER,
        line="        and lane.owner != owner\n",
        broken="",
        why="a run that failed and goes on waits for the end of its own lease",
        killers=(Killer.TRIES,),
    ),
    Mutant(
        name="a lease that has ended is waited for",
        file=_OWNER,
        line="        and not lane.is_free(now)\n",
        broken="",
        why="Lambda's third try claims at its second look only",
        killers=(Killer.TRIES,),
    ),
    Mutant(
        name="a try does not wait",
        file=_LEASE,
        line="claim_at = None if has_waited else other_try_ends(record.lanes, owner, clock())",
        broken="claim_at = None",
        why="Lambda's next try finds the lanes held, ends well, and is the last",
        killers=(Killer.TRIES, Killer.KILLER),
    ),
    Mutant(
        name="a try waits for ever",
        file=_LEASE,
        line="claim_at = None if has_waited else other_try_ends(record.lanes, owner, clock())",
        broken="claim_at = other_try_ends(record.lanes, owner, clock())",
        why="a run whose twin lives claims nothing, and does not leave the watchdog confirmed either",
        killers=(Killer.TRIES,),
    ),
    Mutant(
        name="claimed before the other try's lease has ended",
        file=_LEASE,
        line="            if claim_at:\n                return record\n",
        broken="",
        why="it takes the free lanes before it waits, and is told to wait while it holds them",
        killers=(Killer.TRIES,),
    ),
    Mutant(
        name="waits without a watchdog",
        file=_SUCCESSOR,
        line="    arm_watchdog(context, lease)\n    until = ",
        broken="    until = ",
        why="the run before may have died before it set the rule; if the try that waits dies, all is lost",
        killers=(Killer.TRIES,),
    ),
    Mutant(
        name="waits once, whatever the clock says then",
        file=_SUCCESSOR,
        line="    while (left := until - context.now()).total_seconds() > 0:",
        broken="    if (left := until - context.now()).total_seconds() > 0:",
        why="a clock that is set back makes it find the lanes held, and end well",
        killers=(Killer.TRIES,),
    ),
    Mutant(
        name="waits for another lease beyond its time",
        file=_SUCCESSOR,
        line="until = min(claim_at, context.stop_at or NEVER)",
        broken="until = claim_at",
        why="Lambda ends it while it waits, and that counts as another death",
        killers=(Killer.TRIES,),
    ),
    Mutant(
        name="a death is told by the last look only",
        file=_LEASE,
        line="for n, lane in enumerate(record.lanes) if lane.owner != owner)",
        broken="for n, lane in enumerate(record.lanes))",
        why="a death is not counted if the claim took effect without an answer",
        killers=(Killer.TRIES,),
    ),
    Mutant(
        name="a death is not told",
        file=_SUCCESSOR,
        line="for run, lease_ended in lease.died.items():",
        broken="for run, lease_ended in ():",
        why="nobody learns of it, or of the request whose log says why",
        killers=(Killer.TRIES,),
    ),
    Mutant(
        name="a death is not counted",
        file=_SUCCESSOR,
        line="if lease.died and context.metrics:",
        broken="if False:",
        why="no alarm goes off",
        killers=(Killer.TRIES,),
    ),
    Mutant(
        name="what was left running goes by its place in the queue",
        file=_NOT_CLAIMED,
        line="key = min(self._keys, key=lambda key: (self._left_running.get(key, 0), key))",
        broken="key = self._keys[0]",
        why="a task that kills its process and sorts first blocks the others until it has failed",
        killers=(Killer.TRIES, Killer.KILLER),
    ),
    Mutant(
        name="attempts that cannot be read end the run",
        file=_LANE_READER,
        line="        except AwsError:\n            found = {}\n",
        broken="        except AwsError:\n            raise\n",
        why="an order that is only better becomes a condition",
        killers=(Killer.TRIES,),
    ),
    Mutant(
        name="attempts are read for one task",
        file=_NOT_CLAIMED,
        line="if self._keys[1:] and self.settle():",
        broken="if self.settle():",
        why="each death costs a read that decides nothing",
        killers=(Killer.TRIES,),
    ),
)
