"""The doctor: finds problems that take more reads than the status, and repairs the bell.

It cannot see whether the worker's role may send to the targets of deliveries.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from msgspec.structs import replace

from duebell_shared.aws.alarms import Silence
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind
from duebell_shared.bell.wiring import is_permitted, put_back
from duebell_shared.deliveries.delivery import target_of
from duebell_shared.errors import AwsRefused, DuebellError, InvalidSettings
from duebell_shared.instants import render
from duebell_shared.quoting import in_brief, quoted
from duebell_shared.tasks.worker_record import ActionDescription, WorkerRecord

from .health import Diagnosis, Problem, ProblemKind, SchedulerStatus
from .status import calendar_problem, read_status

#: Short time-outs for the calls that only the doctor makes: a person waits for them.
_LOOKING = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 2})

#: The problems that `restore` solves.
_REWIRED = {ProblemKind.RULE, ProblemKind.NO_TARGET, ProblemKind.NO_PERMISSION}

#: Advice, which is no problem.
_ADVICE = {
    ProblemKind.SILENCE,
    ProblemKind.UNSEEN,
    ProblemKind.CALENDAR_ENDS,
}

#: The codes by which the services say that the target of a delivery does not exist.
_MISSING = {
    "AWS.SimpleQueueService.NonExistentQueue",
    "ClientException",  # of ECS
    "NotFound",
    "NotFoundException",
    "QueueDoesNotExist",
    "ResourceNotFoundException",
    "StateMachineDoesNotExist",
}

#: The states of a mapping that takes no messages, now or soon.
#: https://docs.aws.amazon.com/lambda/latest/api/API_GetEventSourceMapping.html
_IDLE = {"Disabled", "Disabling", "Deleting"}


def diagnose(backend: Backend, *, fix: bool) -> Diagnosis:
    """Do what `Editor.doctor` does."""
    before: tuple[Problem, ...] = ()
    if fix:
        status = read_status(backend)
        before = (*status.problems, *_permission_problems(backend))
        if any(one.mendable and one.kind in _REWIRED for one in before):
            restore(backend)
        backend.armer.verify()
    status = read_status(backend, thorough=True)
    found = [
        *(_delivery_problems(backend) if status.lanes else ()),  # nothing is known without the table
        *_permission_problems(backend),
        *_queue_problems(status, backend),
        *_silence(backend),
        *_calendars_that_end(status, backend.clock()),
    ]
    status = status.with_problems(*(one for one in found if one.kind not in _ADVICE))
    left = {problem.kind for problem in status.problems}
    if fix:
        problems = tuple(_left_by_repair(problem, status) for problem in status.problems)
        status = replace(status, problems=problems)
    return Diagnosis(
        status=status,
        mended=tuple(one for one in before if one.mendable and one.kind not in left),
        advice=tuple(one for one in found if one.kind in _ADVICE),
    )


def _calendars_that_end(status: SchedulerStatus, now: datetime) -> Iterator[Problem]:
    """The calendars that end within a year."""
    for name, ends in status.calendars.items():
        if timedelta(0) <= ends - now.date() <= timedelta(days=365):
            yield calendar_problem(ProblemKind.CALENDAR_ENDS, name, ends)


def restore(backend: Backend) -> tuple[str, ...]:
    """Put back the parts of the bell that somebody deleted. Returns the names of these parts.

    Nothing is made if the function does not exist, because its name may be wrong. Raises AwsRefused.
    """
    if backend.client is None:
        return ()
    bell, client = backend.rule, backend.client
    function = backend.settings.function or bell.name
    try:
        client("lambda").get_function_configuration(FunctionName=function)
        return tuple(put_back(client, bell.kind, bell.name, function))
    except (ClientError, BotoCoreError, LookupError) as error:
        parts = ", its target or its permission" if bell.kind is BellKind.RULE else ""
        raise AwsRefused(
            f"{bell.kind} {quoted(bell.name)}{parts} cannot be put back: {in_brief(error)}. Let someone "
            f"with rights to change the stack run `duebell deploy`"
        ) from error


def _left_by_repair(problem: Problem, status: SchedulerStatus) -> Problem:
    """The problem as it is told after a repair. If it should be solved by now, its way out changes."""
    if not problem.mendable:
        return problem
    rings = f"the {status.bell} is set to ring at {render(status.rings_at)}; " if status.rings_at else ""
    way_out = f"{rings}if it stays so, look into the worker's log, and find out who else changes the rule"
    return replace(problem, way_out=way_out, mendable=False)


def _permission_problems(backend: Backend) -> Iterator[Problem]:
    """The problem of a rule that may not invoke the worker's function, if the function can be read."""
    if not backend.settings.function or backend.client is None or backend.rule.kind is not BellKind.RULE:
        return
    functions = backend.client("lambda")
    try:
        function = functions.get_function_configuration(FunctionName=backend.settings.function)
        if is_permitted(functions, function["FunctionArn"], backend.rule.read().arn):
            return
    except (ClientError, BotoCoreError, DuebellError):
        return
    yield Problem(
        kind=ProblemKind.NO_PERMISSION,
        what=f"rule {quoted(backend.rule.name)} may not invoke the worker's function, so nothing runs",
        way_out="`duebell doctor --fix` or `duebell deploy` gives the permission",
        mendable=True,
    )


def _silence(backend: Backend) -> Iterator[Problem]:
    if backend.alarms and (silence := backend.alarms.silence()):
        yield Problem(
            kind=ProblemKind.SILENCE,
            what=f"nobody is told when tasks fail: {silence}",
            way_out="somebody must follow the link in the mail that AWS sent, or subscribe to the topic of "
            "the alarms"
            if silence is Silence.UNCONFIRMED
            else "`duebell deploy --alarm-mail ADDRESS` has alarms mailed",
        )


def _delivery_problems(backend: Backend) -> list[Problem]:
    """The problems of targets of deliveries that do not exist, or may not be read. Makes only reads."""
    client, lock = backend.client, Lock()
    record = backend.store.read(WorkerRecord) if client else None
    worker = record.described(backend.clock()) if record else None
    if client is None or worker is None:
        return []

    def connect(service: str, region: str) -> Any:
        with lock:  # a session makes one client at a time
            return client(service, region_name=region, config=_LOOKING)

    def problem(action: ActionDescription) -> Problem | None:
        try:
            target = target_of(action.to)
        except InvalidSettings:
            return None  # of a newer version
        kind = target.kind
        if not kind.looks:  # nothing is sent to an https URL to try it
            return None
        named = f"the delivery {quoted(action.name)} goes to {target.to}"
        question = f"whether the target of the delivery {quoted(action.name)} exists, {target.to}"
        try:
            kind.look(connect(kind.client, target.region), target)
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            if code not in _MISSING:
                return _unseen(question, f"{kind.looks} is refused here ({code})")
            return Problem(
                kind=ProblemKind.DELIVERY,
                what=f"{named}, and there is no such {kind}, or it may not be seen from here",
                way_out="make the target, or give another by `duebell deploy --deliver NAME=ARN`, together "
                "with all other deliveries; then `duebell retry` the tasks that failed",
            )
        except BotoCoreError as error:
            return _unseen(question, in_brief(error))
        return None

    return [one for one in backend.parallel.all(problem, [one for one in worker.actions if one.to]) if one]


def _unseen(question: str, why: str) -> Problem:
    """Advice that a question, such as `whether a target exists`, cannot be answered here, and why."""
    return Problem(
        kind=ProblemKind.UNSEEN,
        what=f"it is not known {question}: {why}",
        way_out="give this user or role the permission, or look where it is",
    )


def _queue_problems(status: SchedulerStatus, backend: Backend) -> Iterator[Problem]:
    """Advice about queues that cannot be counted, and the problem of an intake queue that nobody reads."""
    queue, connect = backend.settings.intake, backend.client
    if connect is None or not status.region:
        return
    if status.lost_rings is None or status.failed_runs is None:
        yield _unseen(
            "how many rings were lost and runs failed", "a call of sqs:GetQueueAttributes failed here"
        )
    if not queue:
        return
    if status.intake_waiting is None and not any(one.kind is ProblemKind.INTAKE for one in status.problems):
        yield _unseen("how many messages the intake has", "a call of sqs:GetQueueAttributes failed here")
    functions, function = connect("lambda", config=_LOOKING), backend.settings.function
    arn = f"arn:{functions.meta.partition}:sqs:{status.region}:{status.account}:{queue}"
    try:
        pages = functions.get_paginator("list_event_source_mappings").paginate(EventSourceArn=arn)
        mappings = [one for page in pages for one in page["EventSourceMappings"]]
    except (ClientError, BotoCoreError) as error:
        yield _unseen("whether the intake's messages are taken", in_brief(error))
        return
    own = f":{function}" if function else ""  # without a name, any function that takes them will do
    states = [one["State"] for one in mappings if one["FunctionArn"].endswith(own)]
    if all(state in _IDLE for state in states):
        what = f"its event source mapping is {states[0]}" if states else "it has no event source mapping"
        yield Problem(
            kind=ProblemKind.INTAKE_IDLE,
            what=f"nobody takes messages from the intake queue {quoted(queue)}: {what}",
            way_out="enable it: `aws lambda update-event-source-mapping --uuid UUID --enabled`"
            if states
            else "`duebell deploy --intake` makes it",
        )
