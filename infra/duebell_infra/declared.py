"""The last step of a deployment: the recurring tasks that the new worker declares."""

from collections.abc import Callable

from duebell_editor import Editor, WorkerNotStarted

__all__ = ["sync_declared"]


def sync_declared(editor: Editor, *, say: Callable[[str], None]) -> None:
    """Bring the queue to what the worker declares; `say` is given the plan first, and what failed.

    A worker that has not started yet is only told of. Raises AwsError and NotArmed.
    """
    try:
        plan = editor.sync(dry_run=True)
    except WorkerNotStarted as error:
        say(f"recurring tasks: not brought to what the code declares, for {error}; then `duebell sync`")
        return
    for step in plan.steps:
        say(f"recurring tasks: {step}")
    for failure in editor.sync().failures if plan.steps else ():
        say(f"recurring tasks: {failure.id} stays as it was, call `duebell sync` later: {failure.error}")
