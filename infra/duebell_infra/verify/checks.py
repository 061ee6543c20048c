"""The checks of a verify, one after the other; nothing of it is left behind."""

import time
from collections.abc import Callable, Collection, Generator
from contextlib import suppress
from datetime import datetime

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from duebell_editor import Editor
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsRefused, DuebellError
from duebell_shared.instants import utc_now
from duebell_shared.settings import Settings

from . import dead_letters, intake, own_tasks, reads, record, worker, writes
from .answers import Answers
from .check import Check, When
from .finding import Finding, Result
from .own_tasks import OwnTasks
from .scene import Scene

__all__ = ["CHECKS", "verify"]

#: In this order. Writes under conditions come before the checks that need conditions to hold.
CHECKS: tuple[Check, ...] = (
    own_tasks.left_overs,
    record.status,
    writes.insert,
    writes.insert_many,
    reads.read,
    reads.index,
    reads.history,
    reads.expiry,
    writes.claim,
    writes.claim_many,
    writes.change,
    writes.change_many,
    writes.delete,
    writes.delete_many,
    record.swaps_lost,
    record.rule,
    dead_letters.lost_rings,
    dead_letters.failed_runs,
    worker.call,
    intake.intake,
    worker.at_once,
    worker.probe,
    dead_letters.dead_letter,
    own_tasks.nothing_left,
)

#: The words for a check that was not asked for, and how to ask for it.
_NOT_ASKED = {
    When.PROBING: ("--no-probe", None),
    When.DEAD_LETTER: (
        "takes Lambda three minutes, and raises the alarms for errors and failed runs",
        "--dead-letter does it",
    ),
}


def verify(
    session: boto3.Session,
    settings: Settings,
    *,
    when: Collection[When] = (When.ALWAYS, When.PROBING),
    progress: Callable[[str], None] = lambda _: None,
    clock: Callable[[], datetime] = utc_now,
    sleep: Callable[[float], None] = time.sleep,
) -> Generator[Finding, None, None]:
    """Make the checks, and yield the finding of each. To end early, close the iterator: it tidies up.

    `when` says which checks are made; the others are reported as skipped. Raises NotDeployed, AwsUnavailable,
    InvalidSettings when there is nothing to check.
    """
    answers = Answers(session)  # first: it hears only of clients that are made after it
    backend = Backend.connect(settings, session, clock=clock, sleep=sleep)
    scene = Scene(
        session=session,
        backend=backend,
        editor=Editor(backend=backend),
        answers=answers,
        own=OwnTasks(backend, session.client("dynamodb")),
        progress=progress,
        function=settings.function,
        is_set=settings.function is not None,
    )
    with suppress(AwsRefused):  # each check says by itself what it may not do
        backend.store.read_record()
    with suppress(AwsRefused):
        backend.rule.read()
        scene.function = scene.function or scene.target_function()
    try:
        for check in CHECKS:
            if check.when in when:
                yield check.finding(scene)
            else:
                why, way_out = _NOT_ASKED[check.when]
                yield Finding(check=check.name, result=Result.SKIPPED, found=why, way_out=way_out)
    except BaseException:
        with suppress(DuebellError, BotoCoreError, ClientError):
            scene.own.remove()
        raise
