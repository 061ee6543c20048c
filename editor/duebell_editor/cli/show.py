"""The commands `show`, `preview`, `status` and `doctor`."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from duebell_editor.library.json_fields import plain_values, preview_fields, status_fields, task_fields
from duebell_editor.listing.filters import MAX_LIMIT
from duebell_editor.listing.queue_counts import MOST_COUNTED
from duebell_editor.status.health import Problem, SchedulerStatus
from duebell_editor.status.why import WaitCause
from duebell_shared.instants import MILLISECOND
from duebell_shared.schedules.schedule import make_schedule
from duebell_shared.schedules.zones import zone_of
from duebell_shared.tasks.fields import SCHEDULE
from duebell_shared.tasks.history import FORGOTTEN, Event

from .context import Context, flag, option
from .errors import Exit
from .options import Id, with_fields
from .output import console, in_one_line, when
from .program import examples

app = typer.Typer()


@app.command(epilog=examples("show sale-42", "show sale-42 --json"))
def show(context: Context, id: Id) -> None:
    """It shows the fields, the failed attempts, and the past occurrences of a recurring task."""
    task = context.editor().get(id)
    fields = task_fields(task)
    if not context.out.as_json:
        fields["on_failed"] = "nothing" if task.on_failed == "" else task.on_failed
        fields["parts_of_lateness"] = fields.pop("lateness")
        fields["failures"] = list(map(_event_row, task.failures))
    context.answer(fields)


@app.command(epilog=examples("why sale-42", "why sale-42 --json"))
def why(context: Context, id: Id) -> None:
    """It names the cause, and what to do. The lateness of an attempt is split into its parts."""
    found, out = context.editor().why(id), console()
    if context.out.as_json:
        context.answer(plain_values(found))
        return
    late = "late: " if found.is_late else ""
    out.print(Text(in_one_line(f"{late}{found.what}"), style="red" if found.is_late else ""))
    if found.way_out:
        out.print(Text(f"  {context.out.in_full(found.way_out)}"))
    if found.starts_by and not found.is_late and found.cause is not WaitCause.SCHEDULER:
        out.print(Text(f"  it starts by {when(found.starts_by, context.now())}, if nothing goes wrong"))


@app.command(epilog=examples("history sale-42", "history sale-42 --json"))
def history(context: Context, id: Id) -> None:
    """The latest is at the end. Earlier changes and attempts are kept as far as they cost nothing."""
    events = context.editor().get(id).history
    context.answer(plain_values(events) if context.out.as_json else list(map(_event_row, events)))


def _event_row(event: Event) -> dict[str, Any]:
    """An event as a row of the history: of an attempt, its length and the parts of its lateness too."""
    # An occurrence that expired or was skipped has no attempt.
    what = f"attempt {event.attempt} {event.result}" if event.attempt else event.result or event.what
    return {
        "at": event.at,
        "what": "changes and attempts before are not kept" if event.what == FORGOTTEN else what,
        "by": event.by,
        "took_ms": (event.ended_at - event.at) // MILLISECOND if event.ended_at else None,
        "lateness_ms": event.lateness_ms,
        "parts_of_lateness": plain_values(event.lateness),
        "error": event.error,
    }


@app.command(
    epilog=examples(
        "preview 'rate(90 minutes)' --start 2026-12-31T09:00Z",
        "preview '0 9 * * 1-5' --timezone Europe/Berlin --count 3",
    )
)
@with_fields(*(name for name in SCHEDULE if name != "schedule"))
def preview(
    context: Context,
    schedule: Annotated[str, typer.Argument(metavar="EXPRESSION", help="As given to add --schedule.")],
    *,
    count: Annotated[
        int, option("--count", "N", f"How many times to list, up to {MAX_LIMIT}.", min=1, max=MAX_LIMIT)
    ] = 10,
    **given: Any,
) -> None:
    """Nothing is stored."""
    now, zone = context.now(), given["timezone"]
    asked = {**given, "timezone": zone and zone.key}
    if given["calendar"]:
        meant, occurrences, on_holidays = context.editor().preview(schedule, count=count, **asked)
    else:
        meant = make_schedule(schedule, **asked, now=now)
        occurrences, on_holidays = meant.preview(count, now), ()
    fields = preview_fields(meant, occurrences, on_holidays)
    if not context.out.as_json:
        clocks = zone_of(meant.timezone)
        fields["occurrences"] = [
            {clocks.key: f"{one.astimezone(clocks):%a %Y-%m-%d %H:%M:%S %z}", "here": one}
            for one in occurrences
        ]
        del fields["starts_by"]
    context.answer(fields)


@app.command(epilog=examples("status", "--name shop status --json"))
def status(context: Context) -> None:
    """It shows when the rule rings, and how many tasks failed, are late, or are due by 06:00 UTC.

    The exit status is 6 if something is wrong, failed tasks included.
    """
    found = context.editor().status()
    fields = status_fields(found)
    if not context.out.as_json:
        _print_verdict(context, found)
        del fields["healthy"], fields["verdict"], fields["problems"]
        fields["rings_at"] = found.rings_at or ("parked" if found.enabled else "never")
        fields |= {name: f"at least {MOST_COUNTED:,}" for name in _COUNTED if fields[name] == MOST_COUNTED}
        fields = {**dict.fromkeys(_FIRST), **fields}
    context.answer(fields)
    if not found.healthy:
        raise typer.Exit(Exit.WRONG)


@app.command(epilog=examples("doctor", "doctor --fix"))
def doctor(
    context: Context,
    *,
    fix: Annotated[bool, flag("--fix", "Repair what can be repaired, and list it.")] = False,
) -> None:
    """It names each problem and the command that repairs it.

    It also looks for tasks whose action is missing, for alarms that notify nobody, and for missing targets
    of deliveries. The exit status is 6 if something is wrong; with --fix, if something is still wrong.
    """
    diagnosis = context.editor().doctor(fix=fix)
    found, mended = diagnosis.status, diagnosis.mended
    if context.out.as_json:
        more = {"mended": [problem.what for problem in mended]} if fix else {}
        advice = [problem.what for problem in diagnosis.advice]
        context.answer({**status_fields(found), **more, "advice": advice})
    else:
        for problem in mended:
            console().print(Text(f"repaired: {problem.what}", style="green"))
        _print_verdict(context, found)
        _print_problems(context, diagnosis.advice, style="yellow")
    if not found.healthy:
        raise typer.Exit(Exit.WRONG)


#: Numbers of the status that are counted up to `MOST_COUNTED`.
_COUNTED = ("overdue", "failed", "failing", "running", "queued")

#: Fields of the status that come first: what is wrong, and what runs next.
_FIRST = (*_COUNTED, "due_tonight", "next_due", "rings_at", "armed")


def _print_verdict(context: Context, status: SchedulerStatus) -> None:
    words = f"{status.verdict}: nothing is wrong" if status.healthy else status.verdict
    console().print(Text(words, style="green" if status.healthy else "red"))
    _print_problems(context, status.problems, style="red")


def _print_problems(context: Context, problems: Sequence[Problem], *, style: str) -> None:
    for one in problems:
        console().print(Text(in_one_line(f"{one.kind}: {one.what}"), style=style))
        way_out = f"{context.out.in_full(one.way_out)}{' (--fix does)' if one.mendable else ''}"
        console().print(Text(f"  {way_out}"))
