"""`duebell verify`: makes each kind of duebell's calls once, against a deployed scheduler.

It shows what only the user's own account can show, and no emulator. It is safe on a queue in use: it changes
only tasks of its own, and it changes the arming record only by the ordinary protocol.
"""

import json
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from datetime import datetime
from functools import partial

import boto3
import msgspec
import typer
from botocore.exceptions import BotoCoreError, ClientError

from duebell_editor.cli.errors import Exit
from duebell_editor.cli.output import plain
from duebell_shared.errors import AwsRefused, DuebellError
from duebell_shared.instants import utc_now
from duebell_shared.settings import Settings

from . import account, queue
from .checks import Check, Finding, Result, Scene

__all__ = ["CHECKS", "Finding", "Result", "tell", "verify"]

_INTAKE = "`duebell doctor` says whether the worker takes messages; look into the dead letters and its log"


def _writes(kind: str) -> tuple[Check, Check]:
    """The checks of writes of this kind: one by one, and with one call."""
    return (
        Check(kind, partial(queue.each, kind=kind)),
        Check(f"{kind}-many", partial(queue.together, kind=kind)),
    )


#: The checks, in this order. Writes under conditions come before the checks that need conditions to hold.
CHECKS = (
    Check("status", account.status, "`duebell doctor --fix`"),
    *_writes("insert"),
    Check("read", queue.read),
    Check("index", queue.index),
    Check("history", queue.history),
    *_writes("claim"),
    *_writes("change"),
    *_writes("delete"),
    Check("transaction", partial(queue.transaction, is_stale=False)),
    Check("transaction-cancelled", partial(queue.transaction, is_stale=True)),
    Check("swaps-lost", queue.swaps_lost, "`duebell doctor --fix` at once; then report it, with --json"),
    Check("rule", account.rule),
    Check("call", account.call, account.LOG),
    Check("intake", account.intake, _INTAKE, waits=True),
    Check("at-once", account.at_once, account.LOG, waits=True),
    Check("probe", account.probe, account.LOG, waits=True),
    Check("nothing-left", account.nothing_left),
)


def verify(
    session: boto3.Session,
    settings: Settings,
    *,
    probe: bool = True,
    progress: Callable[[str], None] = lambda _: None,
    clock: Callable[[], datetime] = utc_now,
    sleep: Callable[[float], None] = time.sleep,
) -> Generator[Finding, None, None]:
    """Make the checks, and yield the finding of each. To end early, close the iterator: it deletes its tasks.

    Without `probe`, checks that wait are reported as skipped. Raises NotDeployed, AwsUnavailable and
    InvalidSettings when there is nothing to check.
    """
    scene = Scene(session, settings, progress=progress, clock=clock, sleep=sleep)
    with suppress(AwsRefused):  # each check says by itself what it may not do
        scene.backend.store.read_record()
    with suppress(AwsRefused):
        scene.backend.rule.read()
    try:
        for check in CHECKS:
            if check.waits and not probe:
                yield Finding(check=check.name, result=Result.SKIPPED, found="--no-probe")
            else:
                yield check.finding(scene)
    except BaseException:
        with suppress(DuebellError, BotoCoreError, ClientError):
            scene.remove()
        raise


def tell(findings: Iterable[Finding], *, as_json: bool) -> Exit:
    """Print each finding as it comes. Returns the exit status."""
    status = Exit.DONE
    for finding in findings:
        if finding.result is Result.FAILED:
            status = Exit.WRONG
        elif finding.lacks and status is Exit.DONE:
            status = Exit.AWS
        if as_json:
            typer.echo(json.dumps(msgspec.to_builtins(finding)))
        else:
            _show(finding)
    return status


def _show(finding: Finding) -> None:
    """Print a line for people, and a second one if something is to be done."""
    named = f"{finding.result:<11}  {finding.check:<21}  "
    typer.echo(named + plain(" ".join(finding.found.split())))
    if finding.way_out:
        typer.echo(" " * len(named) + f"to do: {plain(finding.way_out)}")
