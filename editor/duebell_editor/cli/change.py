"""The commands that change tasks: `move` and `update` one; `cancel`, `pause`, … one, several, or many."""

import shlex
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from duebell_editor.library.batches import FOLLOW_UPS
from duebell_editor.library.change_many import MAX_MANY, ChangeFailure, Selection, statuses_for
from duebell_editor.library.editor import Editor
from duebell_editor.library.json_fields import plain_values, task_fields
from duebell_shared.errors import DuebellError
from duebell_shared.instants import MILLISECOND
from duebell_shared.quoting import quoted
from duebell_shared.schedules.zones import zone_of
from duebell_shared.tasks.fields import TaskChange, names_of
from duebell_shared.tasks.status import Status, Verb

from . import options
from .context import Context, flag, option
from .errors import Exit, WrongUsage, failure_fields
from .options import with_fields, with_filters
from .output import Output, count_of, local, plain
from .program import examples
from .tasks import print_change

app = typer.Typer()

#: Tasks that are changed at a time.
_CHUNK = 200


@app.command(
    epilog=examples(
        "move sale-42 --in 1h30m", "move sale-42 --due '2026-12-31 09:00' --timezone Europe/Berlin"
    )
)
@with_fields("due", "in", "timezone")
def move(context: Context, id: options.Id, **given: Any) -> None:
    """It must be scheduled, paused or running.

    Of a recurring task, this moves only the current occurrence. The outcome of a running attempt no longer
    applies.
    """
    due = options.due_from(given["due"], given["in_"])
    print_change(context, context.editor().move(id, due=due))


@app.command(
    epilog=examples(
        "update report --schedule '0 8 * * 1-5' --timezone Europe/Berlin",
        """update report --no-end --payload '{"n": 2}'""",
    )
)
@with_fields(*(name for name in names_of(TaskChange) if name != "due"), in_change=True)
def update(context: Context, id: options.Id, **given: Any) -> None:
    """The task must be scheduled, paused, failed or expired. Options that are not given change nothing.

    A new schedule comes with its own time zone, start and end, and runs first at its next time: a rate at
    its --start, or one interval from now. The schedule of a failed or expired task cannot be changed.
    `move` gives another due date.
    """
    changes = options.fields_from(given)
    if given["timezone"]:
        changes["timezone"] = given["timezone"].key
    print_change(context, context.editor().update(id, **changes))


@app.command(
    epilog=examples(
        "backfill daily-report --from 2026-01-01 --to 2026-01-31 --per-second 2",
        "list --prefix daily-report@",
    )
)
def backfill(
    context: Context,
    id: options.Id,
    *,
    start: Annotated[str, option("--from", "TIME", "The first day, or time.")],
    end: Annotated[str, option("--to", "TIME", "The last day, or time; a day counts as a whole.")],
    timezone: options.Timezone = None,
    per_second: Annotated[
        float | None, option("--per-second", "N", "Space them: start so many a second. [all at once]")
    ] = None,
    dry_run: Annotated[bool, flag("--dry-run", "Only count them; nothing is added.")] = False,
) -> None:
    """ID is a recurring task. Its occurrences in the range are added as tasks of their own.

    Without --timezone, the times are in the zone of its schedule. It can be repeated: tasks that an earlier
    backfill added stay as they are.
    """
    editor, out = context.editor(), context.out
    there = editor.get(id).recurrence
    zone = timezone or zone_of(there.schedule.timezone if there else "UTC")
    try:
        span = options.instant(start, zone), _end(end, zone, context.now())
    except (ValueError, OverflowError) as error:
        raise WrongUsage(str(error)) from error
    report = editor.backfill(id, *span, per_second=per_second, dry_run=dry_run)
    if dry_run:
        done = f"{count_of(len(report.dues))} would be added; nothing was changed"
    else:
        listed = out.in_full(f"`duebell list --prefix {plain(shlex.quote(report.prefix))}`")
        done = f"{listed}: {report.added:,} added, {report.there_already:,} there already"
    out.report(done, plain_values(report), failure_fields(report.failures))
    if report.failures:
        raise typer.Exit(Exit.SOME_FAILED)


def _end(text: str, zone: ZoneInfo, now: datetime) -> datetime:
    """Read the end of a range. A day counts as a whole, and today until now."""
    at = options.instant(text, zone)
    if len(text) > len("2026-01-31"):
        return at
    day_after = date.fromisoformat(text) + timedelta(days=1)
    return min(options.instant(str(day_after), zone) - MILLISECOND, max(at, now))


@app.command(
    epilog=examples(
        "batch import-7 --then report --on-failed alarm",
        """add work --in 1m --payload '{"row": 1}' --batch import-7""",
        "batch import-7 --close",
        "batch month --wait-for load --wait-for check --then report",
    )
)
@with_fields("then", "on_failed", of=FOLLOW_UPS)
def batch(
    context: Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="The batch's id.")],
    *,
    wait_for: Annotated[
        list[str] | None, option("--wait-for", "ID", "A task that is there already; may be repeated.")
    ] = None,
    close: Annotated[bool, flag("--close", "Take no more tasks, and go on when all have ended.")] = False,
    **given: Any,
) -> None:
    """Without an option, it shows how many tasks of the batch have ended.

    With --then or --on-failed it makes an open batch, which `add --batch` adds tasks to. When it is closed
    and all of its tasks have ended, the batch runs its follow-up, with the counts in its payload. With
    --wait-for the batch is made of these tasks, and closed.
    """
    editor, fields = context.editor(), options.fields_from(given)
    fields |= {"wait_for": wait_for} if wait_for else {}
    if close and fields:
        raise WrongUsage("give --close, or what makes a batch, not both")
    task = editor.close_batch(id) if close else editor.batch(id, **fields) if fields else editor.get(id)
    if task.members is None:
        raise WrongUsage(f"task {quoted(id)} is no batch")
    if context.out.as_json:
        context.answer(task_fields(task))
    else:
        print(plain(f"{id}: {task.status}, {task.members.words}"))


#: An example of a filter for each verb, where it has one of its own.
_EXAMPLES = {
    Verb.CANCEL: "--action remind --before 2027-01-01 --timezone Europe/Berlin --dry-run",
    Verb.RESUME: "--status paused --prefix sale- --yes",
    Verb.RETRY: "--status failed --action put_on_sale --error TimeoutError --yes",
}

_HELP = """A task must be {statuses}.

Name one task or several, or give a filter. With a filter it asks first, unless --yes is given. A filter takes
only tasks whose status allows it."""

_SOME_FAILED = """If some of several could not be changed, they are listed and the exit status is 7.
"""


def _add_command(verb: Verb) -> None:
    *most, last = (status for status in Status if status in verb.rules.statuses)
    statuses = f"{', '.join(most)} or {last}" if most else last
    name = verb.replace("_", "-")
    calls = (f"{name} sale-42 sale-43", f"{name} {_EXAMPLES.get(verb, '--prefix sale- --yes')}")

    @app.command(name, help=_HELP.format(statuses=statuses), epilog=examples(*calls, more=_SOME_FAILED))
    @with_filters(statuses_for(verb))
    def change(
        context: Context,
        ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Their ids.")] = None,
        *,
        timezone: options.Timezone = None,
        limit: Annotated[
            int | None, option("--limit", "N", f"Of those found, at most this many. [{MAX_MANY}]", min=1)
        ] = None,
        dry_run: Annotated[bool, flag("--dry-run", "Only count them; nothing is changed.")] = False,
        yes: Annotated[bool, flag("--yes", "Do not ask, when a filter chooses the tasks.", "-y")] = False,
        **given: Any,
    ) -> None:
        filters = options.filters_from(given)
        if bool(ids) is bool(filters):
            raise WrongUsage("give ids, or else a filter such as --action")
        if ids and (dry_run or limit):
            raise WrongUsage(f"{'--dry-run' if dry_run else '--limit'} needs a filter, in place of ids")
        editor, out = context.editor(), context.out
        if ids and not ids[1:]:
            _change_one(context, verb, ids)
            return
        chosen = Selection(ids=tuple(dict.fromkeys(ids or ())))
        if filters:
            chosen = editor.select(verb, limit=limit or MAX_MANY, **filters)
        if chosen.ids and filters and not (yes or dry_run):
            _ask(context, verb, chosen, filters)
        changed: Sequence[str] = ()
        failures: Sequence[ChangeFailure] = ()
        done = f"{count_of(len(chosen.ids))} would be {verb.rules.done}; nothing was changed"
        if not dry_run:
            changed, failures = _change(editor, out, verb, chosen.ids)
            done = f"{count_of(len(changed))} {verb.rules.done}"
        # The form of the HTTP editor's answer to /api/bulk.
        counts = {"found": len(chosen.ids), "is_all": chosen.is_all, "dry_run": dry_run, "changed": changed}
        out.report(done, counts, failure_fields(failures))
        if not chosen.is_all and not out.as_json:
            out.note("there are more than these: repeat it, or take more with --limit")
        if failures:
            raise typer.Exit(Exit.SOME_FAILED)


for _verb in (one for one in Verb if one.rules.for_many):
    _add_command(_verb)


def _shown(value: object) -> str:
    """The value of a filter, in a question."""
    if isinstance(value, datetime):
        return local(value)
    return plain(" or ".join(map(str, value)) if isinstance(value, list) else str(value))


def _change_one(context: Context, verb: Verb, ids: Sequence[str]) -> None:
    report = context.editor().change_many(verb, ids)
    if report.failures:
        raise report.failures[0].error
    print_change(context, report.changed[0])


def _ask(context: Context, verb: Verb, chosen: Selection, filters: Mapping[str, Any]) -> None:
    which = ", ".join(f"{name} {_shown(value)}" for name, value in filters.items())
    more = "" if chosen.is_all else ", and there are more,"
    tasks = f"{count_of(len(chosen.ids))} ({which}){more}"
    context.confirm(f"{plain(context.account.scheduler)}: {tasks} would be {verb.rules.done}")


def _change(
    editor: Editor, out: Output, verb: Verb, ids: Sequence[str]
) -> tuple[list[str], list[ChangeFailure]]:
    """Change these tasks in chunks. Returns the ids of the changed tasks, and the failures."""
    changed: list[str] = []
    failures: list[ChangeFailure] = []
    try:
        for start in range(0, len(ids) or 1, _CHUNK):  # also without ids, to arm the rule
            out.progress(start, len(ids))
            report = editor.change_many(verb, ids[start : start + _CHUNK])
            changed += [task.id for task in report.changed]
            failures += report.failures
    except (KeyboardInterrupt, DuebellError):
        done = f"{count_of(len(changed))} {verb.rules.done}, {len(failures):,} failed"
        out.warn(f"broken off: {done}, and perhaps up to {_CHUNK} more were changed")
        raise
    return changed, failures
