"""Checks of the worker: called directly, called for what is due at once, and rung for by the rule."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from duebell_shared.bell.arming import GRACE, ArmingRecord
from duebell_shared.bell.function import Function
from duebell_shared.bell.ring_times import LEAD
from duebell_shared.errors import TaskNotFound
from duebell_shared.instants import ceil_to_minute
from duebell_shared.quoting import quoted
from duebell_shared.tasks.reserved import VERIFY
from duebell_shared.tasks.task import Status, Task

from .check import LOOK_INTO_THE_LOG, Found, NotMade, When, Wrong, check
from .finding import Result
from .record import echo
from .scene import Scene

__all__ = ["at_once", "call", "probe"]

#: A task that is due at once starts within this when the worker is called directly: a cold start.
_AT_ONCE = timedelta(seconds=30)

#: A ring that was lost at first, and is made up for, comes within this after its minute.
_LATEST = timedelta(minutes=8)

#: A run that has nothing to do ends within this.
_ENDING = timedelta(seconds=30)

#: Between the moment at which a due date is chosen and the one at which the rule is set to it.
_MARGIN = timedelta(seconds=10)

_NOT_SET = "set DUEBELL_FUNCTION for the editors: without it, what is due at once waits for the rule"

_LOOK = "look into the worker's log, and into the queue of failed runs"

_RANG_LATER = "the ring of its minute did not come, and a later one did: verify again, and look into the log"


@check(LOOK_INTO_THE_LOG)
def call(scene: Scene) -> Found:
    """A direct call of the worker for no lanes: it arms the rule, and does no more."""
    if scene.function is None:
        raise NotMade("which function the worker is, is not known: the bell has no Lambda as its target")
    function = scene.backend.function or Function(scene.function, lambda: scene.client("lambda"))
    if not function.start(()):
        if scene.answers.lacks():
            raise NotMade(f"what is due at once waits for the {scene.backend.rule.kind}")
        raise Wrong(f"the function {quoted(scene.function)} cannot be called: {scene.answers}", _NOT_SET)
    if not scene.is_set:
        return Found(f"{scene.answers}; but DUEBELL_FUNCTION is not set here", Result.SLOWER, _NOT_SET)
    return Found(str(scene.answers))


@check(LOOK_INTO_THE_LOG, when=When.PROBING)
def at_once(scene: Scene) -> Found:
    """A task that is due at once: by a direct call within seconds, else by the rule within two minutes."""
    _must_be_enabled(scene)
    id = scene.own.enter("at-once", lanes=len(scene.backend.armer.read().lanes))
    scene.answers.clear()
    added = scene.editor.add(VERIFY, due=timedelta(0), id=id)
    is_called = any(not one.answer.code for one in scene.answers.of("Invoke"))
    scene.progress("waiting for a task that is due at once")
    task = _ended(scene, added, until=added.due + 2 * LEAD + GRACE)
    figures = _figures(task)
    said = f"done {figures['started_after_seconds']:.1f} s after it was added"
    _let_the_run_end(scene)
    if is_called and figures["started_after_seconds"] <= _AT_ONCE.total_seconds():
        return Found(f"{said}, by a direct call", figures=figures)
    how = "a direct call was made, and took long" if is_called else "no direct call was made"
    return Found(f"{said}; {how}", Result.SLOWER, _LOOK if is_called else _NOT_SET, figures)


@check(LOOK_INTO_THE_LOG, when=When.PROBING)
def probe(scene: Scene) -> Found:
    """A task that the rule must ring for: how late it starts, and how soon the rule's change took effect."""
    _must_be_enabled(scene)
    record = scene.backend.armer.read()
    id = scene.own.enter("probe", lanes=len(record.lanes))
    # Too far away to be called for directly, and on a minute, so that the rule is to ring in it.
    bell = scene.backend.rule.kind
    due = ceil_to_minute(scene.now() + record.head_start + LEAD + (LEAD if record.head_start else _MARGIN))
    scene.answers.clear()
    added = scene.editor.add(VERIFY, due=due, id=id)
    after = scene.backend.armer.read()
    set_at, note = _set_by_this(scene, after)
    ring = after.rings_at
    scene.progress(
        f"waiting for the {bell} to ring at {ring or due:%H:%M} UTC, for a task due at {due:%H:%M}"
    )
    scene.backend.sleep(max((due - scene.now()).total_seconds(), 0.0))  # nothing starts early
    task = _ended(scene, added, until=due + _LATEST)
    figures = _figures(task)
    if task.run and task.run in {lane.owner for lane in (*record.lanes, *after.lanes)}:
        raise NotMade(
            f"a run that was at work already started it, so the {bell} did not have to ring",
            "verify again when less is due",
        )
    said = f"the {bell} rang, and the task started {figures['lateness_seconds']:.1f} s after it was due"
    if set_at and ring:
        figures["set_before_its_minute_seconds"] = (ring - set_at).total_seconds()
        figures["started_after_the_change_seconds"] = _since(set_at, task)
        note = (
            f"; the {bell} was changed {figures['set_before_its_minute_seconds']:.1f} s before its minute, "
            f"and the run came {figures['started_after_the_change_seconds']:.1f} s after the change"
        )
    if figures["lateness_seconds"] > GRACE.total_seconds():
        return Found(f"{said}{note}", Result.SLOWER, _RANG_LATER, figures)
    return Found(f"{said}{note}", figures=figures)


def _set_by_this(scene: Scene, record: ArmingRecord) -> tuple[datetime | None, str]:
    """The time at which the rule was set for the probe; None if this did not do it, and a note why."""
    try:
        echo(scene, record)
    except NotMade:
        is_earlier = not scene.answers.of(scene.backend.rule.setting)
        return None, f"; the {scene.backend.rule.kind} was to ring by then anyway" if is_earlier else ""
    return scene.now(), ""


def _ended(scene: Scene, added: Task, *, until: datetime) -> Task:
    """The task once it is done. Raises Wrong if it is not by then, or failed.

    With history=none a done task is deleted. Then it counts as started when it was seen to be gone.
    """
    task = added

    def is_over() -> bool:
        nonlocal task
        try:
            task = scene.editor.get(added.id)
        except TaskNotFound:
            task = replace(task, status=Status.DONE, started_at=scene.now())
        return task.status.is_finished

    if not scene.wait(is_over, until=until):
        what = f"still {task.status} at {scene.now():%H:%M:%S} UTC, due at {task.due:%H:%M:%S}"
        raise Wrong(f"no run has done the task: {what}", f"`duebell doctor --fix`; {_LOOK}")
    if task.status is Status.DONE:
        return task
    if task.failure and task.failure.type == "UnknownAction":
        raise Wrong(
            "a run came, but the worker does not know verify's action: it is an older version", "deploy again"
        )
    raise Wrong(f"the task ended as {task.status}: {task.failure}", _LOOK)


def _let_the_run_end(scene: Scene) -> None:
    """Wait a while until no run is at work, for a run may set the rule."""
    armer = scene.backend.armer
    until = scene.now() + _ENDING
    scene.wait(lambda: not any(lane.owner for lane in armer.read().lanes), until=until, every=0.5)


def _must_be_enabled(scene: Scene) -> None:
    bell = scene.backend.rule
    if not bell.read().is_enabled:
        raise NotMade(
            f"the {bell.kind} is disabled, so nothing runs", f"enable the {bell.kind}, then verify again"
        )


def _figures(task: Task) -> dict[str, float]:
    """The start of the task, in seconds after it was due and after it was added."""
    return {
        "lateness_seconds": _since(task.due, task),
        "started_after_seconds": _since(task.created_at, task),
    }


def _since(moment: datetime, task: Task) -> float:
    return round(((task.started_at or moment) - moment).total_seconds(), 3)
