"""Checks of the arming record and of the bell, by the ordinary protocol and by swaps that must lose."""

from msgspec.structs import replace

from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.bell import BellState
from duebell_shared.bell.ring_times import LEAD

from .check import Found, NotMade, Wrong, check, expect
from .scene import Scene

__all__ = ["SOON", "rule", "status", "swaps_lost"]

#: A rule that rings sooner than this is left alone: set anew, it could ring later.
SOON = 3 * LEAD

#: Tries of a swap, when those of others come first.
_TRIES = 5

#: More changes than any record sees.
_FAR = 10**12


@check("`duebell doctor --fix`")
def status(scene: Scene) -> Found:
    """The status of the scheduler, as `duebell status` has it."""
    found = scene.editor.status()
    if found.problems and scene.answers.lacks():
        raise NotMade("it cannot be said whether all is well")
    if found.problems:
        raise Wrong("; ".join(one.what for one in found.problems), found.problems[0].way_out)
    where = f"rings at {found.rings_at:%Y-%m-%d %H:%M} UTC" if found.rings_at else "is parked"
    return Found(f"the {found.bell} {where}; {found.lanes} lanes; to the {found.precision}")


@check()
def swaps_lost(scene: Scene) -> None:
    """The record under a wrong `rev`, as if there were none, as if it were damaged: each must be refused."""
    _conditions_must_hold(scene)
    record = scene.backend.armer.read()
    scene.answers.clear()
    for stale in (replace(record, rev=record.rev + _FAR), None, replace(record, rev=0)):
        if scene.store.swap_record(stale, record) is not None:
            raise Wrong(
                "the arming record was swapped though it was not as expected: tasks can be lost",
                "`duebell doctor --fix` at once; then report it, with the output of --json",
            )


@check()
def rule(scene: Scene) -> Found:
    """The bell set anew to where it is, by the ordinary protocol: a swap that wins, its setting, its echo."""
    _conditions_must_hold(scene)
    before, targets = scene.backend.rule.read(), scene.backend.rule.count_targets()
    disputed = _disputed(scene)
    scene.answers.clear()
    record = scene.backend.armer.ensure(disputed)
    after = echo(scene, record)
    kept = (after.state, after.description, after.role)
    is_kept = kept == (before.state, before.description, before.role)
    bell = scene.backend.rule
    expect(
        is_kept, f"{bell.setting} has changed the {bell.kind}'s state or description: {before}, then {after}"
    )
    if scene.backend.rule.count_targets() != targets:
        raise Wrong(f"{bell.setting} has changed the {bell.kind}'s targets", "`duebell deploy` gives it one")
    return Found(f"set to {after.expression}, and read so")


def echo(scene: Scene, record: ArmingRecord) -> BellState:
    """The bell as it is read after this set it.

    Raises NotMade if somebody else set it too, Wrong if it is not as it was given.
    """
    bell = scene.backend.rule
    puts = [call for call in scene.answers.of(bell.setting) if not call.answer.code]
    after = scene.backend.rule.read()
    if not puts or scene.backend.armer.read().rev != record.rev:
        raise NotMade(f"somebody else set the {bell.kind} at the same time", "verify again")
    given = puts[-1].params["ScheduleExpression"]
    if after.expression != given or not after.is_at(record.set_to):
        raise Wrong(f"the {bell.kind} was set to {given}, and is read as {after.expression}")
    return after


def _conditions_must_hold(scene: Scene) -> None:
    """Raise NotMade where a swap that must lose could win: conditions were not seen to hold."""
    if not scene.conditions_hold:
        raise NotMade("that conditions hold was not seen on tasks of its own, so the record is left alone")


def _disputed(scene: Scene) -> ArmingRecord:
    """The record, made to say that the bell's state is unknown, as if somebody else had changed it."""
    for _ in range(_TRIES):
        record = scene.backend.armer.read()
        if scene.rings_within(SOON) or record.is_being_applied(scene.now()):
            raise NotMade(
                f"the {scene.backend.rule.kind} is to ring within minutes, and is not set meanwhile",
                "verify again when less is due",
            )
        if swapped := scene.store.swap_record(record, record.disputed()):
            return swapped
    raise NotMade("the arming record keeps changing", "verify again when less is due")
