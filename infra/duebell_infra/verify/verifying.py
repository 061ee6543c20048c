"""A verify: the checks one after the other, what came of each, and nothing left behind."""

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

from .answers import Answers, permission_in
from .checks import CHECKS, Check, When
from .finding import Finding, Found, NotMade, Result, Wrong
from .own_tasks import OwnTasks
from .scene import Scene

__all__ = ["verify"]

#: Why a check is not made that was not asked for.
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
    """What each check finds, as it is made. Whoever ends this early closes the iterator, which tidies up.

    `when` says which checks are made; the others are told as skipped. Raises NotDeployed, AwsUnavailable,
    InvalidSettings when there is nothing to check.
    """
    scene = _scene(session, settings, progress=progress, clock=clock, sleep=sleep)
    try:
        yield _made(Check("left-overs", _left_overs), scene)
        for check in CHECKS:
            if check.when in when:
                yield _made(check, scene)
            else:
                why, way_out = _NOT_ASKED[check.when]
                yield Finding(check=check.name, result=Result.SKIPPED, found=why, way_out=way_out)
        yield _made(Check("nothing-left", _nothing_left), scene)
    except BaseException:
        with suppress(DuebellError, BotoCoreError, ClientError):
            scene.own.remove()
        raise


def _scene(
    session: boto3.Session,
    settings: Settings,
    *,
    progress: Callable[[str], None],
    clock: Callable[[], datetime],
    sleep: Callable[[float], None],
) -> Scene:
    """What the checks work on. Raises NotDeployed, AwsUnavailable, InvalidSettings."""
    answers = Answers(session)  # first: it hears of clients that are made after it
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
    return scene


def _left_overs(scene: Scene) -> Found:
    """What an earlier verify has left that was broken off."""
    count = scene.own.remove_left_overs()
    return Found(f"{count} of an earlier verify that was broken off: removed" if count else "none")


def _nothing_left(scene: Scene) -> Found:
    """All tasks of this verify removed."""
    is_deleted = scene.own.remove()
    if not is_deleted:
        return Found("the tasks of this verify are marked as expired, and DynamoDB deletes them within days")
    if left := scene.own.left():
        raise Wrong(f"still there: {', '.join(left)}", "verify again in half an hour: it removes them")
    return Found("every task of this verify is deleted")


def _made(check: Check, scene: Scene) -> Finding:
    """What came of a check, whatever it raises."""
    scene.answers.clear()
    found, is_aws_error = Found(""), False
    try:
        found = check.make(scene)
    except NotMade as reason:
        found = Found(str(reason), Result.SKIPPED, reason.way_out)
    except Wrong as wrong:
        found = Found(str(wrong), Result.FAILED, wrong.way_out or check.way_out)
    except (DuebellError, BotoCoreError, ClientError) as error:
        is_aws_error = True
        found = Found(str(error), Result.FAILED, check.way_out)
    except Exception as error:  # noqa: BLE001 (a bug of ours; the other checks are made all the same)
        found = Found(f"unexpected, {type(error).__name__}: {error}", Result.FAILED)
    lacks = scene.answers.lacks() or permission_in(found.text)
    if lacks and (is_aws_error or found.result is not Result.FAILED):
        found = found._replace(
            text=f"{lacks} is not allowed to whoever runs this" + ("" if is_aws_error else f"; {found.text}"),
            result=Result.SKIPPED,
            way_out="give whoever runs this the permissions in docs/security.md, then verify again",
        )
    return Finding(
        check=check.name,
        result=found.result,
        found=found.text,
        way_out=found.way_out,
        lacks=lacks,
        figures=found.figures,
        answers=tuple(call.answer for call in scene.answers.calls),
    )
