"""The checks, in the order in which they are made, each with what to do when it is not ok."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from . import of_the_dead_letters, of_the_reads, of_the_record, of_the_worker, of_the_writes
from .finding import Found
from .scene import Scene

__all__ = ["CHECKS", "Check", "When"]

_REPORT = "duebell relies on this: report it, with the output of --json"


class When(StrEnum):
    """Whether a check is made: always, when waiting is allowed, when a dead letter is asked for."""

    ALWAYS = "always"
    PROBING = "probing"
    DEAD_LETTER = "dead letter"


@dataclass(frozen=True)
class Check:
    """A check: its name, what makes it, what to do when it fails and does not say so itself."""

    name: str
    make: Callable[[Scene], Found]
    way_out: str = _REPORT
    when: When = When.ALWAYS


_NO_TRACE = "`duebell deploy` sets it up"
_LOG = "`duebell doctor`; look into the worker's log"

#: Writes under conditions come before what is made only once these were seen to hold.
CHECKS = (
    Check("status", of_the_record.status, "`duebell doctor --fix`"),
    Check("insert", of_the_writes.insert),
    Check("insert-many", of_the_writes.insert_many),
    Check("read", of_the_reads.read),
    Check("index", of_the_reads.index),
    Check("history", of_the_reads.history),
    Check("expiry", of_the_reads.expiry),
    Check("claim", of_the_writes.claim),
    Check("claim-many", of_the_writes.claim_many),
    Check("change", of_the_writes.change),
    Check("change-many", of_the_writes.change_many),
    Check("delete", of_the_writes.delete),
    Check("delete-many", of_the_writes.delete_many),
    Check("swaps-lost", of_the_record.swaps_lost),
    Check("rule", of_the_record.rule),
    Check("lost-rings", of_the_dead_letters.lost_rings, _NO_TRACE),
    Check("failed-runs", of_the_dead_letters.failed_runs, _NO_TRACE),
    Check("call", of_the_worker.call, _LOG),
    Check("at-once", of_the_worker.at_once, _LOG, When.PROBING),
    Check("probe", of_the_worker.probe, _LOG, When.PROBING),
    Check("dead-letter", of_the_dead_letters.dead_letter, _LOG, When.DEAD_LETTER),
)
