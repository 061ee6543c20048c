"""The commands `actions`, `sync` and `limit`: the worker, its recurring tasks, limits of its actions."""

from typing import Annotated, Any

import typer

from duebell_editor.library.json_fields import plain_values
from duebell_editor.status.action_limits import LIMITS
from duebell_shared.errors import InvalidTask

from .context import Context, flag, option
from .errors import Exit, failure_fields
from .program import examples

app = typer.Typer()


@app.command(
    epilog=examples(
        "limit mail --per-second 2",
        "limit mail --at-most 0",
        'limit mail --closed "22:00-06:00 Europe/Berlin"',
        "limit mail --as-declared",
    )
)
def limit(
    context: Context,
    action: Annotated[str, typer.Argument(metavar="ACTION", help="The action's name.")],
    *,
    at_most: Annotated[int | None, option("--at-most", "NUMBER", f"{LIMITS['at_most']}.")] = None,
    per_second: Annotated[float | None, option("--per-second", "NUMBER", f"{LIMITS['per_second']}.")] = None,
    closed: Annotated[list[str] | None, option("--closed", "HOURS", f"{LIMITS['closed']}.")] = None,
    as_declared: Annotated[bool, flag("--as-declared", "Back to what the code declares.")] = False,
) -> None:
    """The limit holds over all runs together. It replaces the limit that the code declares.

    A limit that is not given stays as it was set before. Runs under way follow within a minute.
    """
    hours = "; ".join(closed) if closed else None
    limits: dict[str, Any] = {"at_most": at_most, "per_second": per_second, "closed": hours}
    given = {name: value for name, value in limits.items() if value is not None}
    if as_declared and given:
        raise InvalidTask("--as-declared", "cannot be combined with other limits")
    if not as_declared and not given:
        raise InvalidTask("limit", "is missing: give --at-most, --per-second, --closed or --as-declared")
    context.answer(plain_values(context.editor().limit(action, **(limits if as_declared else given))))


@app.command(epilog=examples("actions", "actions --json"))
def actions(context: Context) -> None:
    """The worker stores its list of actions when it starts.

    The exit status is 6 if it could not start; then the error is shown.
    """
    editor = context.editor()
    worker, limits = plain_values(editor.worker()), plain_values(editor.limits())
    answer = {"worker": worker, "limits": limits}
    if not context.out.as_json:
        paused = {one["action"] for one in limits if one["paused"]}
        known = worker or {"worker": "none has started in this queue yet: its first start stores its actions"}
        for one in known.get("actions", ()):
            one["paused"] = one["name"] in paused
            del one["schema"]
        answer = {**known, "limits": limits}
    context.answer(answer)
    if worker and worker["error"]:
        raise typer.Exit(Exit.WRONG)


@app.command(epilog=examples("sync --dry-run", "sync"))
def sync(
    context: Context,
    *,
    dry_run: Annotated[bool, flag("--dry-run", "Only list what would change.")] = False,
) -> None:
    """The code declares recurring tasks with @worker.recurring.

    `duebell deploy` does this too. If another tool deploys, call it once the new worker has started. Tasks
    that were added by hand do not change, and paused ones stay paused.

    The exit status is 7 if some could not be changed, such as one that runs at this moment.
    """
    report = context.editor().sync(dry_run=dry_run)
    steps, failures = plain_values(report.steps), failure_fields(report.failures)
    if steps and not context.out.as_json:
        context.answer(steps)
    told = {"version": report.version, "steps": steps, "unchanged": report.unchanged}
    changes = f"changes {'to be made' if dry_run else 'made'}: {len(steps) - len(failures)}"
    context.out.report(f"worker {report.version}: {changes}, unchanged: {report.unchanged}", told, failures)
    if failures:
        raise typer.Exit(Exit.SOME_FAILED)
