"""The beginning of a run: claims its lanes, perhaps from a run that died, and arms its watchdog."""

import logging
from collections.abc import Collection
from datetime import datetime
from functools import partial

from duebell_shared.bell.owner import request_of
from duebell_shared.errors import AwsError, NotArmed
from duebell_shared.instants import NEVER

from .context import RunContext
from .lease import Lease

__all__ = ["arm_watchdog", "claimed_lease", "log_died"]

#: Seconds until the rule is tried to be set again before a run starts without its watchdog.
_ARM_AGAIN = (1.0, 4.0)


def claimed_lease(context: RunContext, lanes: Collection[int] | None) -> Lease:
    """Claim the free lanes, or those of `lanes` that are free; log and count the runs that died with them.

    If another try of this invocation holds lanes, wait first until that lease has ended.
    """
    backend = context.backend
    # A process leaves the head start as it is: the Lambda goes by it, whom the rule rings for.
    head_start = None if context.host else backend.settings.head_start
    claim = partial(Lease.claim, backend.armer, context.id, backend.clock, only=lanes, head_start=head_start)
    lease = claim()
    if lease.claim_at:
        _wait_until(context, lease, lease.claim_at)
        lease = claim(has_waited=True)
    log_died(context, lease)
    return lease


def log_died(context: RunContext, lease: Lease) -> None:
    """Log and count the runs that died with lanes which this one has claimed."""
    for run, lease_ended in lease.died.items():
        request = request_of(run)
        context.log("run_died", level=logging.ERROR, died=run, request=request, lease_ended=lease_ended)
    if lease.died and context.metrics:  # at once: what killed the other run may kill this one
        context.metrics.write(context.now(), DeadRuns=len(lease.died))


def _wait_until(context: RunContext, lease: Lease, claim_at: datetime) -> None:
    """Wait for the lease of another try to end, with its watchdog armed, as far as the time allows."""
    request = request_of(context.id)
    context.log("waits_for_lease", level=logging.WARNING, request=request, lease_ends=claim_at)
    arm_watchdog(context, lease)
    until = min(claim_at, context.stop_at or NEVER)
    while (left := until - context.now()).total_seconds() > 0:  # a clock that is set back makes it longer
        context.backend.sleep(left.total_seconds())


def arm_watchdog(context: RunContext, lease: Lease) -> None:
    """Set the rule to ring at the end of the lease, before anything runs that could kill the process.

    If the rule cannot be set, what is due runs without a watchdog; the run then ends in an error, and
    Lambda invokes it again.
    """
    for pause in (*_ARM_AGAIN, None):
        try:
            lease.arm()
        except (NotArmed, AwsError) as error:
            said = str(error)
            context.log("not_armed", level=logging.ERROR, error=said, trying_again_in=pause)
        else:
            return
        if pause is not None:
            context.backend.sleep(pause)
