"""The commands `actions`, `sync` and `limit`: the worker, its recurring tasks, limits of its actions."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from duebell_editor.library.json_fields import plain_values
from duebell_editor.library.sync import SyncVerb
from duebell_editor.status.action_limits import LIMITS, ActionLimit, limit_words
from duebell_shared.errors import InvalidTask
from duebell_shared.instants import render

from .context import Context, flag, option
from .errors import Exit, describe_as_json, note_failures, words_of
from .output import plain
from .program import examples, with_json

app = typer.Typer()


@app.command(
    epilog=examples(
        "limit mail --per-second 2",
        "limit mail --at-most 0",
        'limit mail --closed "22:00-06:00 Europe/Berlin"',
        "limit mail --as-declared",
    )
)
@with_json()
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
    now = context.editor().limit(action, **(limits if as_declared else given))
    if context.out.as_json:
        context.out.print_json(plain_values(now))
    else:
        print(plain(f"{now.action}: {_state_of(now)}{_instead_of(now)}"))


def _state_of(limit: ActionLimit) -> str:
    """The limit in words, and the tasks that wait for it: `5 at a time, 2 a second; 30 wait`."""
    words = "paused" if limit.paused else limit_words(limit.at_most, limit.per_second, limit.closed)
    if limit.closed_until and not limit.paused:
        words += f" (now, until {render(limit.closed_until)})"
    if not limit.waiting:
        return words
    about = "" if limit.paused or limit.closed_until else "about "
    return f"{words}; {about}{limit.waiting:,} wait{'s' if limit.waiting == 1 else ''}"


def _instead_of(limit: ActionLimit) -> str:
    if limit.since is None:
        return ", as its code declares"
    declared = limit_words(limit.declared_at_most, limit.declared_per_second, limit.declared_closed)
    return f" (its code declares: {declared})"


@app.command(epilog=examples("actions", "actions --json"))
@with_json()
def actions(context: Context) -> None:
    """The worker stores its list of actions when it starts.

    The exit status is 6 if it could not start; then the error is shown.
    """
    editor = context.editor()
    worker, limits = editor.worker(), editor.limits()
    if context.out.as_json:
        context.answer({"worker": plain_values(worker), "limits": plain_values(limits)})
    elif worker is None:
        print("no worker has started in this queue yet: its first start stores its actions")
    else:
        said = {one.action: _state_of(one) for one in limits}
        described = [
            {
                "action": one.name,
                "kind": one.kind,
                "attempts": f"{one.attempts}, {one.timeout:g} s each" if one.timeout else one.attempts,
                "stoppable": one.stoppable,
                "keeps_result": one.keeps_result,
                "recurring": one.recurring,
                "limits": said.get(one.name),
                "to": one.to,
                "payload": _payload(one.schema),
            }
            for one in worker.actions
        ]
        context.answer({**plain_values(worker), "actions": described})
    if worker and worker.error:
        raise typer.Exit(Exit.WRONG)


@app.command(epilog=examples("sync --dry-run", "sync"))
@with_json()
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
    steps = plain_values(report.steps)
    if context.out.as_json:
        failures = [
            {"id": one.id, **describe_as_json(one.error, words_of(one.error))} for one in report.failures
        ]
        told = {"version": report.version, "steps": steps, "unchanged": report.unchanged}
        context.answer({**told, "failures": failures})
    else:
        context.answer(steps)
        counts = [f"{sum(one.verb is verb for one in report.steps)} to {verb}" for verb in SyncVerb]
        made = "" if dry_run or not steps else f"; {len(steps) - len(report.failures)} done"
        print(f"worker {report.version}: {', '.join(counts)}, {report.unchanged} unchanged{made}")
        note_failures(context.out, report.failures)
    if report.failures:
        raise typer.Exit(Exit.SOME_FAILED)


def _payload(schema: Mapping[str, Any] | None) -> str:
    """The fields of the payload; those that may be missing end with a question mark."""
    if schema is None:
        return "none"
    fields = schema.get("properties")
    if not isinstance(fields, dict):
        return str(schema.get("type", "any"))
    required = schema.get("required", ())
    return ", ".join(name if name in required else f"{name}?" for name in fields)
