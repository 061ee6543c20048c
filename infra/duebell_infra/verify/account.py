"""Checks of the account: bell and arming record, intake, and the worker."""

import json
from contextlib import suppress
from datetime import datetime, timedelta

from msgspec.structs import replace

from duebell_shared.aws.sqs import queue_url
from duebell_shared.bell.arming import GRACE
from duebell_shared.bell.expression import LEAD
from duebell_shared.errors import TaskNotFound
from duebell_shared.instants import NEVER, ceil_to_minute, render
from duebell_shared.quoting import quoted
from duebell_shared.tasks.checks import VERIFY
from duebell_shared.tasks.status import Status
from duebell_shared.tasks.task import Task

from .checks import Finding, NotMade, Result, Scene, Wrong
from .queue import require_conditions

#: A rule that rings sooner than this is left alone: set anew, it could ring later.
_SOON = 3 * LEAD

#: A message of the intake is taken within this: Lambda waits a second for others, and a process has to start.
_TAKEN_WITHIN = timedelta(minutes=2)

#: A task that is due at once starts within this when the worker is called directly: a cold start.
_AT_ONCE = timedelta(seconds=30)

#: If a ring is lost, a later ring comes within this time after its minute.
_LATEST = timedelta(minutes=8)

#: A run that has nothing to do ends within this.
_ENDING = timedelta(seconds=30)

#: The longest time from choosing a due date to setting the rule to it.
_MARGIN = timedelta(seconds=10)

LOG = "`duebell doctor`; look into the worker's log"
_NOT_CALLED = "see that DUEBELL_FUNCTION names the worker: until a call starts it, what is due at once waits"
_NOT_SET = "set DUEBELL_FUNCTION for the editors: without it, what is due at once waits for the rule"


def nothing_left(scene: Scene) -> Finding:
    """Remove all tasks of this verify."""
    if not scene.remove():
        return Finding(found="the tasks of this verify stay, and DynamoDB deletes them when they expire")
    if left := scene.ids_left():
        raise Wrong(f"still there: {', '.join(left)}", "nothing: they expire within a day")
    return Finding(found="every task of this verify is deleted")


def status(scene: Scene) -> Finding:
    """Read the status of the scheduler, as `duebell status` has it."""
    found = scene.editor.status()
    if found.problems and scene.answers.lacks():
        raise NotMade("the status could not be read in full")
    if found.problems:
        raise Wrong("; ".join(one.what for one in found.problems), found.problems[0].way_out)
    where = f"rings at {found.rings_at:%Y-%m-%d %H:%M} UTC" if found.rings_at else "is parked"
    return Finding(found=f"the {found.bell} {where}; {found.lanes} lanes; to the {found.precision}")


def rule(scene: Scene) -> Finding:
    """Set the bell to the minute that it has, by the ordinary protocol: swap the record, set, confirm."""
    require_conditions(scene)
    bell, armer = scene.backend.rule, scene.backend.armer
    before, targets = bell.read(), bell.count_targets()
    record, now = armer.read(), scene.clock()
    rings = min(record.target, record.rings_at or NEVER)
    if rings < min(now + _SOON, NEVER) or record.is_being_applied(now):
        again = "verify again when less is due"
        raise NotMade(f"the {bell.kind} is to ring within minutes, and is not set meanwhile", again)
    # Mark the bell's state as unknown, as if somebody else had changed it.
    disputed = scene.store.swap_record(record, record.disputed())
    scene.answers.clear()
    armed = armer.ensure(disputed) if disputed else None
    is_set = any(not answer.code for answer in scene.answers.of(bell.setting))
    after = bell.read()
    if armed is None or not is_set or armer.read().rev != armed.rev:
        raise NotMade(f"somebody else set the {bell.kind} at the same time", "verify again")
    if not after.is_at(armed.set_to):
        wanted = render(armed.set_to) if armed.set_to else "never"
        raise Wrong(f"the {bell.kind} was set to ring at {wanted}, and is read as {after.expression}")
    said = f"{bell.setting} has changed the {bell.kind}'s"
    if any(getattr(after, name) != getattr(before, name) for name in ("state", "description", "role")):
        raise Wrong(f"{said} state or description: {before}, then {after}")
    if bell.count_targets() != targets:
        raise Wrong(f"{said} targets", "`duebell deploy` gives it one")
    return Finding(found=f"set to {after.expression}, and read so")


def intake(scene: Scene) -> Finding:
    """Send a message to the intake queue, and measure how soon its task is there.

    No run starts the task: it is due in a day, and is deleted as soon as it is found.
    """
    queue, sqs = scene.backend.settings.intake, scene.backend.sqs
    if not queue or sqs is None:
        return Finding(found="there is no intake queue")
    id = scene.ordinary_id("intake")
    message = json.dumps({"action": VERIFY, "in": timedelta(days=1).total_seconds(), "id": id})
    region, account = scene.backend.rule.read().place
    client = sqs.client(region)
    scene.answers.clear()
    client.send_message(QueueUrl=queue_url(client, account, queue), MessageBody=message)
    began = scene.clock()
    scene.progress("waiting for a message of the intake queue to become a task")

    def is_there() -> bool:
        with suppress(TaskNotFound):
            return bool(scene.editor.get(id))
        return False

    if not scene.wait(is_there, until=began + _TAKEN_WITHIN):
        raise Wrong(f"the message sent at {began:%H:%M:%S} UTC is no task yet")
    took = round((scene.clock() - began).total_seconds(), 1)
    scene.remove(id)
    return Finding(found=f"a task {took:.0f} s after it was sent", figures={"added_after_seconds": took})


def call(scene: Scene) -> Finding:
    """Call the worker directly for no lanes: it arms the rule, and does no more."""
    function = scene.backend.function
    if function is None:
        return Finding(
            found="DUEBELL_FUNCTION is not set here, so no worker is called",
            result=Result.SLOWER,
            way_out=_NOT_SET,
        )
    if function.start(()):
        return Finding()
    kind = NotMade if scene.answers.lacks() else Wrong
    raise kind(f"the function {quoted(function.name)} cannot be called: {scene.answers}", _NOT_CALLED)


def at_once(scene: Scene) -> Finding:
    """Add a task that is due at once: a direct call runs it within seconds, else the rule in two minutes."""
    _must_be_enabled(scene)
    id = scene.ordinary_id("at-once")
    scene.answers.clear()
    added = scene.editor.add(VERIFY, due=timedelta(0), id=id)
    is_called = any(not answer.code for answer in scene.answers.of("Invoke"))
    scene.progress("waiting for a task that is due at once")
    task = _ended(scene, added, until=added.due + 2 * LEAD + GRACE)
    figures = _figures(task)
    said = f"done {figures['started_after_seconds']:.1f} s after it was added"
    armer, until = scene.backend.armer, scene.clock() + _ENDING
    # Wait for the run to end: it may still set the rule.
    scene.wait(lambda: not any(lane.owner for lane in armer.read().lanes), until=until, every=0.5)
    if is_called and figures["started_after_seconds"] <= _AT_ONCE.total_seconds():
        return Finding(found=f"{said}, by a direct call", figures=figures)
    how = "a direct call was made, and took long" if is_called else "no direct call was made"
    way_out = LOG if is_called else _NOT_CALLED if scene.backend.function else _NOT_SET
    return Finding(found=f"{said}; {how}", result=Result.SLOWER, way_out=way_out, figures=figures)


def probe(scene: Scene) -> Finding:
    """Add a task that needs a ring. Measure its lateness, and how soon the rule's change took effect."""
    _must_be_enabled(scene)
    record = scene.backend.armer.read()
    id = scene.ordinary_id("probe")
    # Too far away for a direct call, and at a full minute, so that the rule must ring in it.
    bell = scene.backend.rule.kind
    due = ceil_to_minute(scene.clock() + record.head_start + LEAD + (LEAD if record.head_start else _MARGIN))
    scene.answers.clear()
    added = scene.editor.add(VERIFY, due=due, id=id)
    after = scene.backend.armer.read()
    set_at = scene.clock() if scene.answers.of(scene.backend.rule.setting) else None
    ring = after.rings_at
    scene.progress(
        f"waiting for the {bell} to ring at {ring or due:%H:%M} UTC, for a task due at {due:%H:%M}"
    )
    scene.backend.sleep(max((due - scene.clock()).total_seconds(), 0.0))  # nothing starts early
    task = _ended(scene, added, until=due + _LATEST)
    figures = _figures(task)
    if task.run and task.run in {lane.owner for lane in (*record.lanes, *after.lanes)}:
        raise NotMade(
            f"a run that was at work already started it, so the {bell} did not have to ring",
            "verify again when less is due",
        )
    note = f"; the {bell} was to ring by then anyway"
    if set_at and ring:
        early, took = (ring - set_at).total_seconds(), _since(set_at, task)
        figures |= {"set_before_its_minute_seconds": early, "started_after_the_change_seconds": took}
        note = (
            f"; the {bell} was changed {early:.1f} s before its minute, and the run came {took:.1f} s after "
            f"the change"
        )
    late = figures["lateness_seconds"]
    said = f"the {bell} rang, and the task started {late:.1f} s after it was due{note}"
    if late <= GRACE.total_seconds():
        return Finding(found=said, figures=figures)
    way_out = f"the ring of its minute did not come, and a later one did: verify again; {LOG}"
    return Finding(found=said, result=Result.SLOWER, way_out=way_out, figures=figures)


def _ended(scene: Scene, added: Task, *, until: datetime) -> Task:
    """The task once it is done. Raises Wrong if it is not done by `until`, or failed.

    With history=none a done task is deleted. It then counts as started when it was found missing.
    """
    task = added

    def is_over() -> bool:
        nonlocal task
        try:
            task = scene.editor.get(added.id)
        except TaskNotFound:
            task = replace(task, status=Status.DONE, started_at=scene.clock())
        return task.status.is_finished

    if not scene.wait(is_over, until=until):
        what = f"still {task.status} at {scene.clock():%H:%M:%S} UTC, due at {task.due:%H:%M:%S}"
        raise Wrong(f"no run has done the task: {what}", f"`duebell doctor --fix`; {LOG}")
    if task.status is Status.DONE:
        return task
    raise Wrong(f"the task ended as {task.status}: {task.failure}")


def _must_be_enabled(scene: Scene) -> None:
    bell = scene.backend.rule
    if not bell.read().is_enabled:
        way_out = f"enable the {bell.kind}, then verify again"
        raise NotMade(f"the {bell.kind} is disabled, so nothing runs", way_out)


def _figures(task: Task) -> dict[str, float]:
    """The start of the task, in seconds after it was due and after it was added."""
    return {
        "lateness_seconds": _since(task.due, task),
        "started_after_seconds": _since(task.created_at, task),
    }


def _since(moment: datetime, task: Task) -> float:
    return round(((task.started_at or moment) - moment).total_seconds(), 3)
