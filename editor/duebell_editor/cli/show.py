"""The commands `show`, `preview`, `status` and `doctor`."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer
from msgspec.structs import asdict
from rich.table import Table
from rich.text import Text

from duebell_editor.library.json_fields import plain_values, preview_fields, status_fields, task_fields
from duebell_editor.listing.queue_counts import MOST_COUNTED
from duebell_editor.status.action_limits import ActionLimit
from duebell_editor.status.health import SchedulerStatus
from duebell_editor.status.why import WORTH_SAYING, seconds
from duebell_shared.bell.arming import LastRun, LateRing
from duebell_shared.instants import MILLISECOND
from duebell_shared.schedules.schedule import make_schedule
from duebell_shared.schedules.zones import zone_of
from duebell_shared.tasks.fields import FIELDS, SCHEDULE, STORED
from duebell_shared.tasks.history import ATTEMPT, FORGOTTEN, Event, FailedAttempt, Occurrence
from duebell_shared.tasks.recurrence import Missed, Recurrence
from duebell_shared.tasks.task import Task

from .context import Context, flag, option
from .errors import Exit
from .options import Id, with_fields
from .output import COLORS, console, facts_table, in_one_line, local, plain, relative, short, table, when
from .program import examples, with_json
from .tasks import status_text
from .worker import in_words

app = typer.Typer()

_MISSED = {
    Missed.ONCE: "are made up for once",
    Missed.ALL: "are made up for, each",
    Missed.SKIP: "are skipped",
}

#: A lost ring is shown for this long.
_RECENT = timedelta(days=7)


@app.command(epilog=examples("show sale-42", "show sale-42 --json"))
@with_json()
def show(context: Context, id: Id) -> None:
    """It shows the fields, the failed attempts, and the past occurrences of a recurring task."""
    task, out = context.editor().get(id), console()
    if context.out.as_json:
        context.out.print_json(task_fields(task))
        return
    out.print(facts_table(_task_facts(task, context.now()).items()))
    if task.failures:
        out.print("", attempts_table(task.failures), sep="\n")
    if task.occurrences:
        out.print("", occurrences_table(task.occurrences), sep="\n")


@app.command(epilog=examples("why sale-42", "why sale-42 --json"))
@with_json()
def why(context: Context, id: Id) -> None:
    """It names the cause, and what to do. The lateness of an attempt is split into its parts."""
    found, out = context.editor().why(id), console()
    if context.out.as_json:
        context.out.print_json(plain_values(found))
        return
    late = "late: " if found.is_late else ""
    out.print(Text(f"{late}{plain(found.what)}", style="red" if found.is_late else ""))
    if found.way_out:
        out.print(Text(f"  {context.out.in_full(plain(found.way_out))}"))
    if found.starts_by and not found.is_late:
        out.print(Text(f"  it starts by {when(found.starts_by, context.now())}, if nothing goes wrong"))


@app.command(epilog=examples("history sale-42", "history sale-42 --json"))
@with_json()
def history(context: Context, id: Id) -> None:
    """The latest is at the end. Earlier changes and attempts are kept as far as they cost nothing."""
    events, out = context.editor().history(id), console()
    if context.out.as_json:
        context.out.print_json(plain_values(events))
        return
    rows = [
        (local(one.at), _happened(one), plain(one.by or one.run or ""), in_one_line(_event_words(one)))
        for one in events
    ]
    out.print(table(("at", "what", "by, or run", ""), rows))


def _happened(one: Event) -> str:
    return f"attempt {one.attempt} {one.result}" if one.what == ATTEMPT else one.what


def _event_words(one: Event) -> str:
    """The duration of an attempt, its lateness with the parts, and its error."""
    took = f"took {seconds((one.ended_at - one.at) / MILLISECOND)}" if one.attempt and one.ended_at else ""
    late = f"{seconds(one.lateness_ms)} late" if one.lateness_ms is not None else ""
    if one.lateness:
        parts = asdict(one.lateness).items()
        late += f" ({', '.join(f'{name} {ms / 1000:,.1f}' for name, ms in parts if ms >= WORTH_SAYING)})"
    lost = "changes and attempts before are not kept" if one.what == FORGOTTEN else ""
    return ", ".join(filter(None, [took, late, one.error, lost]))


@app.command(
    epilog=examples(
        "preview 'rate(90 minutes)' --start 2026-12-31T09:00Z",
        "preview '0 9 * * 1-5' --timezone Europe/Berlin --count 3",
    )
)
@with_json()
@with_fields(*(name for name in SCHEDULE if name != "schedule"))
def preview(
    context: Context,
    schedule: Annotated[str, typer.Argument(metavar="EXPRESSION", help="As given to add --schedule.")],
    *,
    count: Annotated[
        int, option("--count", "N", "How many times to list, up to 1000.", min=1, max=1000)
    ] = 10,
    **given: Any,
) -> None:
    """Nothing is stored."""
    now, zone = context.now(), given["timezone"] and given["timezone"].key
    asked = {"schedule": schedule, **given, "timezone": zone}
    if given["calendar"]:
        meant, occurrences, on_holidays = context.editor().preview(count=count, **asked)
    else:
        meant = make_schedule(asked.pop("schedule"), **asked, now=now)
        occurrences, on_holidays = meant.preview(count, now), ()
    if context.out.as_json:
        context.out.print_json(preview_fields(meant, occurrences, on_holidays))
        return
    out = console()
    out.print(Text(meant.describe(), style="bold"))
    out.print(times_table(occurrences, meant.timezone, now))
    for one in on_holidays:
        instead = f"runs {when(one.moved_to, now)} instead" if one.moved_to else "is skipped"
        out.print(Text(plain(f"{when(one.due, now)} {instead}: {one.holiday}")))


@app.command(epilog=examples("status", "--name shop status --json"))
@with_json()
def status(context: Context) -> None:
    """It shows when the rule rings, and how many tasks failed, are late, or run until 06:00 UTC.

    The exit status is 6 if something is wrong, failed tasks included.
    """
    found = context.editor().status()
    if context.out.as_json:
        context.out.print_json(status_fields(found))
    else:
        console().print(status_facts(found, context.now(), context.out.in_full))
    if not found.healthy:
        raise typer.Exit(Exit.WRONG)


@app.command(epilog=examples("doctor", "doctor --fix"))
@with_json()
def doctor(
    context: Context,
    *,
    fix: Annotated[bool, flag("--fix", "Repair what can be repaired, and list it.")] = False,
) -> None:
    """It names each problem and the command that repairs it.

    It also looks for tasks in lanes that no run reads, for alarms that notify nobody, and for missing targets
    of deliveries. The exit status is 6 if something is wrong; with --fix, if something is still wrong.
    """
    diagnosis, out, in_full = context.editor().doctor(fix=fix), console(), context.out.in_full
    found, mended = diagnosis.status, diagnosis.mended
    if context.out.as_json:
        more = {"mended": [problem.what for problem in mended]} if fix else {}
        advice = [problem.what for problem in diagnosis.advice]
        context.out.print_json({**status_fields(found), **more, "advice": advice})
    else:
        for problem in mended:
            out.print(Text(f"mended: {plain(problem.what)}", style="green"))
        words = f"{found.verdict}: nothing is wrong" if found.healthy else found.verdict
        out.print(Text(words, style="green" if found.healthy else "red"))
        for problem in found.problems:
            out.print(Text(f"{problem.kind}: {plain(problem.what)}", style="red"))
            out.print(
                Text(f"  {in_full(plain(problem.way_out))}{' (--fix does)' if problem.mendable else ''}")
            )
        for one in diagnosis.advice:
            out.print(Text(f"{one.kind}: {plain(one.what)}", style="yellow"))
            out.print(Text(f"  {in_full(plain(one.way_out))}"))
    if not found.healthy:
        raise typer.Exit(Exit.WRONG)


def _follow_up_facts(task: Task, now: datetime) -> dict[str, str | Text]:
    facts: dict[str, str | Text] = {}
    if task.on_failed is not None:
        facts["on failure"] = plain(task.on_failed) or "nothing"
    if task.then:
        after = f" {task.then.after} later" if task.then.after else ""
        gets = f", with the result as {plain(task.then.result_as)}" if task.then.result_as else ""
        facts["then"] = f"{plain(task.then.action)}{after}{gets}"
    if task.owes:
        tried = f"; the last try failed: {plain(task.follow_up_error)}" if task.follow_up_error else ""
        facts["follow-up"] = f"owed since {when(task.owes.at, now)}, a run adds it{tried}"
    elif task.follow_up_error:
        facts["follow-up"] = f"could not be added: {plain(task.follow_up_error)}"
    return facts


#: Fields that have words or places of their own.
_SHOWN = {"action", "payload", "on_failed", "then"}


def _task_facts(task: Task, now: datetime) -> Mapping[str, str | Text]:
    facts: dict[str, str | Text] = {
        "id": task.id,
        "action": task.action,
        "status": status_text(task.status),
        "due": when(task.due, now),
        "next look": when(task.queued, now),
        "attempt": str(task.attempt),
        "created": when(task.created_at, now),
        "changed by": plain(task.changed_by or "-"),
        "started": when(task.started_at, now),
        "finished": when(task.finished_at, now),
        "lateness": "-" if task.lateness_ms is None else f"{task.lateness_ms / 1000:,.3f} s",
        "run": task.run or "-",
        **({"trace": task.traceparent.split("-")[1]} if task.traceparent else {}),
        "deleted": when(task.expires_at, now),
        "payload": plain(json.dumps(task.payload, ensure_ascii=False, indent=2))
        if task.payload_dropped is None
        else f"not kept: it was {task.payload_dropped:,} bytes, and the task is done",
    }
    if task.result_json or task.result_error:
        text = json.dumps(task.result, ensure_ascii=False, indent=2)
        facts["result"] = plain(f"not kept: {task.result_error}" if task.result_error else text)
    if task.reserved_until:
        facts["reserved"] = f"until {when(task.reserved_until, now)}, for a transaction"
    if task.members:
        facts["its tasks"] = task.members.words
    if task.snoozes:
        facts["snoozed"] = f"{task.snoozes:,} times" if task.snoozes > 1 else "once"
    facts.update(_follow_up_facts(task, now))
    for name, attribute in STORED.items():
        row, value = FIELDS[name], getattr(task, attribute)
        if name not in _SHOWN and value != row.default:
            facts[row.title.lower()] = plain(", ".join(value) if isinstance(value, tuple) else str(value))
    if task.recurrence:
        facts.update(_recurrence_facts(task.recurrence, now))
    if task.failure:
        facts["failure"] = Text(plain(f"{task.failure.type}: {task.failure.message}"), style="red")
        if task.failure.traceback:
            facts["traceback"] = plain(task.failure.traceback.rstrip())
    return facts


def _recurrence_facts(recurrence: Recurrence, now: datetime) -> Mapping[str, str]:
    limit = f" of {recurrence.max_runs}" if recurrence.max_runs else ""
    failures = recurrence.consecutive_failures
    before = f"; {recurrence.missed_runs:,} before this one" if recurrence.missed_runs else ""
    return {
        "schedule": f"{recurrence.schedule.describe()}  {recurrence.schedule.expression}",
        "after this": when(recurrence.next_due, now),
        "missed ones": _MISSED[recurrence.missed] + before,
        "runs": f"{recurrence.runs}{limit}" + (f", the last {failures} failed" if failures else ""),
        "pending occurrences": str(len(recurrence.pending)),
    }


def environment_text(status: SchedulerStatus) -> Text:
    """The scheduler's label in its colour, its name, region and account."""
    place = ", ".join(filter(None, [status.region, status.account and f"account {status.account}"]))
    text = Text(f"{plain(status.name)}{f' in {place}' if place else ''}")
    if not status.label:
        return text
    style = f"reverse {COLORS[status.color]}" if status.color else "reverse"
    return Text.assemble((f" {plain(status.label)} ", style), " ", text)


def status_facts(status: SchedulerStatus, now: datetime, in_full: Callable[[str], str] = str) -> Table:
    """The state of the scheduler as a table of two columns."""
    health = Text(status.verdict, style="green" if status.healthy else "red")
    facts: dict[str, str | Text] = {
        "environment": environment_text(status),
        "status": health,
        status.bell.value: f"{status.rule}{_standing(status)}",
        "rings": when(status.rings_at, now) if status.rings_at else "parked" if status.enabled else "never",
        "armed": "yes" if status.armed else "no",
        "table": status.table,
        "next due": when(status.next_due, now) if status.next_due else "nothing",
        "last run": _last_run(status.last_run, now) if status.last_run else "none yet",
        **_late_ring(status.late_ring, now),
        "failed": _count(status.failed, style="red"),
        "failing": _count(status.failing, style="red"),
        "overdue": _count(status.overdue, style="red"),
        "running": f"{_count(status.running)}, on {status.lanes_held} of {status.lanes} lanes",
        "due tonight": _due_tonight(status),
        "in the queue": _count(status.queued),
        **({"owing": _owing(status.owing)} if status.owing else {}),
        **_limited(status, now, in_full),
        **_calendars(status, now),
        **_intake(status, now),
        **{
            name: Text(f"{count:,} in their queue", style="red")
            for name, count in (("lost rings", status.lost_rings), ("failed runs", status.failed_runs))
            if count
        },
        "precision": f"to the {status.precision}",
        "time zones": _tzdata(status),
    }
    for number, problem in enumerate(status.problems, start=1):
        facts[f"problem {number}"] = Text(in_full(plain(str(problem))), style="red")
    return facts_table(facts.items())


def _standing(status: SchedulerStatus) -> str:
    """The state of a rule that is not enabled, behind its name; its ARN tells the region, if it was read."""
    if status.enabled:
        return ""
    return " (disabled)" if status.region else " (cannot be read)"


def _tzdata(status: SchedulerStatus) -> str:
    """The release of the time zones; the worker's too, if it has another."""
    theirs = status.last_run.tzdata if status.last_run else None
    differs = theirs not in {None, status.tzdata}
    return f"tzdata {status.tzdata}" + (f", and {theirs} in the worker" if differs else "")


def _due_tonight(status: SchedulerStatus) -> str:
    about = "about " if status.due_tonight_is_estimate else ""
    until = f", until {short(status.tonight_ends)}" if status.tonight_ends else ""
    return f"{about}{_count(status.due_tonight, most=None)}{until}"


def _count(tasks: int | None, *, style: str = "", most: int | None = MOST_COUNTED) -> Text:
    """A number of tasks in words; `most` means that there may be more."""
    if not tasks:
        return Text("unknown" if tasks is None else "none")
    words = "1 task" if tasks == 1 else f"{tasks:,} tasks{' or more' * (tasks == most)}"
    return Text(words, style=style)


def _owing(tasks: int) -> Text:
    """The tasks that owe a follow-up, in words."""
    one, several = ("has ended and owes a follow-up", "have ended and owe a follow-up each")
    return Text.assemble(_count(tasks), f" {one if tasks == 1 else several}")


def _intake(status: SchedulerStatus, now: datetime) -> Mapping[str, str | Text]:
    """The messages of the intake queue, if there is one that may be looked at."""
    if status.intake_waiting is None:
        return {}
    since = f", the oldest since {when(status.intake_since, now)}" if status.intake_since else ""
    dead = status.intake_dead_letters or 0
    style = "red" if dead else ""
    return {
        "intake": f"{status.intake_waiting:,} waiting{since}",
        "dead letters": Text(f"{dead:,}" if dead else "none", style=style),
    }


def _calendars(status: SchedulerStatus, now: datetime) -> Mapping[str, str]:
    """The calendars of holidays that end within a year."""
    if not status.calendars:
        return {}
    from duebell_shared.schedules.calendars import ends_soon  # noqa: PLC0415 (few queues have some)

    warnings = [(name, ends_soon(last, now)) for name, last in status.calendars.items()]
    lines = [plain(f"{name} {warning}: import more years") for name, warning in warnings if warning]
    return {"calendars": "\n".join(lines)} if lines else {}


def _limited(status: SchedulerStatus, now: datetime, in_full: Callable[[str], str]) -> Mapping[str, str]:
    """The actions that are paused, or whose tasks wait for their limits."""
    if not status.limited:
        return {}
    lines = [f"{one.action}: {in_words(one)}{_set(one, now)}" for one in status.limited]
    return {"limits": "\n".join(in_full(plain(line)) for line in lines)}


def _set(limit: ActionLimit, now: datetime) -> str:
    """The time and the author of a pause, and the command that ends it."""
    if not limit.paused or limit.since is None:
        return ""
    by = f" by {limit.changed_by}" if limit.changed_by else ""
    return f", since {when(limit.since, now)}{by}; `duebell limit {limit.action} --as-declared` ends it"


def _late_ring(ring: LateRing | None, now: datetime) -> Mapping[str, str]:
    """The last ring that was lost, if it is recent."""
    if ring is None or ring.came_at < now - _RECENT:
        return {}
    came = f"rung for at {when(ring.minute, now)}; a run came at {when(ring.came_at, now)}, by an echo"
    return {"late ring": came}


def _last_run(run: LastRun, now: datetime) -> str:
    late = "" if run.lateness_max_ms is None else f", {seconds(run.lateness_max_ms)} late at most"
    expired = f", {run.expired} expired" if run.expired else ""
    snoozed = f", {run.snoozed} snoozed" if run.snoozed else ""
    counts = f"{run.done} done, {run.retried} to be retried{snoozed}, {run.failed} failed{expired}"
    return f"{when(run.finished_at, now)}: {counts}{late}"


def attempts_table(attempts: Sequence[FailedAttempt]) -> Table:
    """The attempts that failed, the latest first."""
    rows = [
        (
            str(one.attempt),
            local(one.due),
            local(one.started_at) if one.started_at else "-",
            local(one.finished_at) if one.finished_at else "-",
            in_one_line(f"{one.type}: {one.message}"),
        )
        for one in reversed(attempts)
    ]
    return table(("failed attempt", "due", "started", "ended", "failure"), rows)


def occurrences_table(occurrences: Sequence[Occurrence]) -> Table:
    """The occurrences that are over, the latest first."""
    rows = [
        (
            local(one.due),
            f"{one.result}{' (extra)' if one.extra else ''}",
            str(one.attempts),
            "-" if one.lateness_ms is None else seconds(one.lateness_ms),
            f"{one.missed:,}" if one.missed else "",
            in_one_line(one.failure or ""),
        )
        for one in reversed(occurrences)
    ]
    return table(("due", "result", "attempts", "late", "missed", "failure"), rows)


def times_table(instants: Iterable[datetime], timezone: str, now: datetime) -> Table:
    """Times to come, as clocks show them in a time zone and here."""
    zone = zone_of(timezone)
    rows = [
        (f"{instant.astimezone(zone):%a %Y-%m-%d %H:%M:%S %z}", local(instant), relative(instant, now))
        for instant in instants
    ]
    return table((timezone, "here", ""), rows)
