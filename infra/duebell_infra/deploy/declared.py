"""The last step of a deployment: the recurring tasks that the new worker declares."""

from collections.abc import Callable

from duebell_editor import Editor, SyncStep, SyncVerb, WorkerNotStarted

__all__ = ["sync_declared"]


def sync_declared(editor: Editor, *, say: Callable[[str], None]) -> None:
    """Bring the queue to what the worker declares.

    `say` is given a line for each task that was changed, one for each that could not be, and one with the
    minute that the rule rings by then. A worker that has not started yet is only told of. Raises AwsError and
    NotArmed.
    """
    try:
        report = editor.sync()
    except WorkerNotStarted as error:
        say(f"sync  not brought to what the code declares, for {error}; then `duebell sync`")
        return
    failed = {failure.id for failure in report.failures}
    made = [step for step in report.steps if step.id not in failed]
    for step in made:
        say(f"sync  {step.id}: {_done(step)}")
    for failure in report.failures:
        say(f"sync  {failure.id} stays as it was, call `duebell sync` later: {failure.error}")
    # The worker that was called before knew nothing of these: what its log says of the rule is outdated.
    if made and (rings_at := editor.status().rings_at):
        say(f"sync  the rule rings by {rings_at.astimezone():%Y-%m-%d %H:%M}")


def _done(step: SyncStep) -> str:
    """The step in words, as something that was done: `added (report, rate(1 day))`."""
    match step.verb:
        case SyncVerb.ADD:
            return f"added ({step.action}, {step.schedule})"
        case SyncVerb.CHANGE:
            values = {"schedule": f"schedule {step.schedule}", "declared": "now declared in the code"}
            return f"changed: {', '.join(values.get(field, field) for field in step.fields)}"
        case SyncVerb.CANCEL:
            return "cancelled, for the code declares it no more"
