"""The commands that change tasks: `move` and `update` one; `cancel`, `pause`, … one, several, or many."""

import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import typer
from msgspec import UNSET
from msgspec.structs import replace

from duebell_editor import DuebellError, Editor, Task
from duebell_shared.quoting import quoted

from ..bulk import BulkFailure, BulkReport, Verb, change_all, eligible, find_all, fitting
from ..filtering import make_filter
from . import options
from .completion import ids as known_ids
from .context import Context
from .errors import Exit, WrongUsage, words_of
from .options import flag, option
from .output import Output, plain
from .parsing import payload_from
from .program import with_json
from .tasks import print_change

__all__ = ["app"]

app = typer.Typer()

#: Tasks that are changed before the next are begun with.
_CHUNK = 200


@app.command(
    epilog="\b\nExamples:\n  duebell move sale-42 --in 1h30m\n"
    "  duebell move sale-42 --due '2026-12-31 09:00' --timezone Europe/Berlin"
)
@with_json()
def move(
    context: Context,
    id: options.Id,
    *,
    due: options.Due = None,
    in_: options.In = None,
    timezone: options.Timezone = None,
) -> None:
    """Give a task another due date. It must be scheduled, paused or running.

    Of a recurring task, this moves the one occurrence that it stands at. A running attempt is not stopped.
    """
    when = options.due_from(due, in_, timezone)
    print_change(context, context.editor().move(id, due=when), timezone)


@app.command(
    epilog="\b\nExamples:\n  duebell update report --schedule '0 8 * * 1-5' --timezone Europe/Berlin\n"
    "  duebell update report --no-end --payload '{\"n\": 2}'"
)
@with_json()
def update(
    context: Context,
    id: options.Id,
    *,
    action: Annotated[str | None, typer.Option(metavar="ACTION", help="Another action.")] = None,
    payload: options.Payload = None,
    payload_file: options.PayloadFile = None,
    schedule: options.ScheduleOption = None,
    timezone: options.Timezone = None,
    start: options.Start = None,
    end: options.End = None,
    no_end: Annotated[bool, flag("--no-end", "It goes on without an end.")] = False,
    missed: options.MissedOption = None,
    max_runs: options.MaxRuns = None,
    no_max_runs: Annotated[bool, flag("--no-max-runs", "As often as it comes.")] = False,
    spread: options.Spread = None,
    no_spread: Annotated[bool, flag("--no-spread", "Right when it is due.")] = False,
    expires_after: options.ExpiresAfter = None,
    no_expires_after: Annotated[bool, flag("--no-expires-after", "Run it however late it is.")] = False,
) -> None:
    """Change a task that is scheduled or paused; what is not given stays as it is.

    Another schedule comes with its own time zone, start and end, and runs first when it comes next: a rate
    at its --start, or one interval from now. A failed task can be given another payload or action, to be
    retried then. `move` gives another due date.
    """

    def value(option: str, given: Any, *, is_cleared: bool) -> Any:
        if given is not None and is_cleared:
            raise WrongUsage(f"give either --{option} or --no-{option}")
        return None if is_cleared else UNSET if given is None else given

    changed = context.editor().update(
        id,
        payload=payload_from(payload, payload_file),
        action=UNSET if action is None else action,
        schedule=UNSET if schedule is None else schedule,
        timezone=UNSET if timezone is None else timezone.key,
        start=UNSET if start is None else start,
        end=value("end", end, is_cleared=no_end),
        missed=UNSET if missed is None else missed,
        max_runs=value("max-runs", max_runs, is_cleared=no_max_runs),
        spread=value("spread", spread, is_cleared=no_spread),
        expires_after=value("expires-after", expires_after, is_cleared=no_expires_after),
    )
    print_change(context, changed)


#: Each verb with its command's help, an example of a filter, and its result in words.
_COMMANDS = {
    Verb.CANCEL: (
        "Never run a task; it is kept as history. It must be scheduled, running, paused, failed or expired.",
        "--action remind --before 2027-01-01 --timezone Europe/Berlin --dry-run",
        "cancelled",
    ),
    Verb.PAUSE: (
        "Take a task out of the queue until it is resumed. It must be scheduled.",
        "--prefix sale- --yes",
        "paused",
    ),
    Verb.RESUME: (
        "Put a paused task back in the queue; it runs at once if its due date has passed.",
        "--status paused --prefix sale- --yes",
        "resumed",
    ),
    Verb.RETRY: (
        "Run a failed or expired task again, now, with all attempts to come.",
        "--status failed --action put_on_sale --limit 50 --yes",
        "set to be retried now",
    ),
    Verb.RUN: (
        "Run a recurring task once more, now; or a task that runs once, now instead of when it is due. "
        "It must be scheduled.",
        "--prefix report- --yes",
        "set to run now",
    ),
}

_HELP = """{what}

Name one or several, or give a filter: then it asks first, or --yes must be given. Of what a filter finds,
those are taken whose status allows it."""

_EPILOG = """\b
Examples:
  duebell {name} sale-42 sale-43
  duebell {name} {example}
  duebell list --action put_on_sale --all | duebell {name} -

If some of several could not be changed, they are told and the exit status is 7.
"""


class _Job(NamedTuple):
    """A verb for several tasks, and how it is carried out."""

    verb: Verb
    dry_run: bool
    yes: bool
    out: Output

    def tell(self, found: int, report: BulkReport, *, is_all: bool) -> None:
        """Tell what was done; as JSON, what the HTTP editor's bulk answers."""
        failures = [(one.id, plain(words_of(one.error))) for one in report.failures]
        done = _COMMANDS[self.verb][2]
        if self.out.as_json:
            self.out.print_json(
                {
                    "found": found,
                    "is_all": is_all,
                    "dry_run": self.dry_run,
                    "changed": [task.id for task in report.changed],
                    "failures": [{"id": id, "detail": why} for id, why in failures],
                }
            )
            return
        if self.dry_run:
            print(f"{_count(found)} would be {done}; nothing was changed")
        else:
            print(f"{_count(len(report.changed))} {done}, {len(failures):,} failed")
        sys.stdout.flush()
        if not is_all:
            self.out.note("there are more than these: repeat it, or take more with --limit")
        self.out.note_some([why if quoted(id) in why else f"{plain(id)}: {why}" for id, why in failures])

    def ask(self, found: int, *, is_all: bool) -> None:
        """Have someone agree to how many tasks a filter found."""
        more = "" if is_all else ", and there are more,"
        question = f"{_count(found)}{more} would be {_COMMANDS[self.verb][2]}"
        if not self.out.can_ask:
            raise WrongUsage(f"{question}: give --yes to do it, or --dry-run to count only")
        typer.confirm(f"{question}. Do it?", abort=True, err=True)


def _add_command(verb: Verb, name: str, what: str, example: str) -> None:
    @app.command(name, help=_HELP.format(what=what), epilog=_EPILOG.format(name=name, example=example))
    @with_json()
    def change(
        context: Context,
        id: Annotated[
            list[str] | None,
            typer.Argument(
                metavar="ID",
                help="Their ids; - reads them from stdin, one to a line.",
                autocompletion=known_ids,
            ),
        ] = None,
        *,
        status: options.StatusOption = None,
        action: options.Action = None,
        prefix: options.Prefix = "",
        after: options.After = None,
        before: options.Before = None,
        timezone: options.Timezone = None,
        limit: Annotated[int, option("--limit", "N", "Of those found, at most so many.", min=1)] = 1000,
        dry_run: Annotated[bool, flag("--dry-run", "Only count them; nothing is changed.")] = False,
        yes: Annotated[bool, flag("--yes", "Do not ask, when a filter chooses the tasks.", "-y")] = False,
    ) -> None:
        has_filter = any((status, action, prefix, after, before))
        if id and has_filter:
            raise WrongUsage("give ids or a filter, not both")
        if not id and not has_filter:
            raise WrongUsage("give an ID, several, - for ids from stdin, or a filter such as --action")
        options.check_order(after, before)
        editor, job = context.editor(), _Job(verb, dry_run=dry_run, yes=yes, out=context.out)
        if not id:
            which = make_filter(
                status=eligible(verb, status or ()), action=action, prefix=prefix, after=after, before=before,
            )  # fmt: skip
            found, is_all = find_all(editor.queue, replace(which, limit=limit))
            if found and not dry_run and not yes:
                job.ask(len(found), is_all=is_all)
            _change(editor, found, job, is_all=is_all)
        elif id == ["-"] or id[1:] or dry_run:
            named = tuple(dict.fromkeys(_read(id)))
            _change(editor, fitting(editor.queue, verb, named) if dry_run else named, job, is_all=True)
        else:
            print_change(context, _change_one(editor, verb, id[0]))


for _verb, (_what, _example, _) in _COMMANDS.items():
    _add_command(_verb, "run-now" if _verb is Verb.RUN else _verb, _what, _example)


def _change_one(editor: Editor, verb: Verb, id: str) -> Task:
    report = change_all(editor, verb, [id])
    if report.failures:
        raise report.failures[0].error
    return report.changed[0]


def _read(ids: Sequence[str]) -> Iterator[str]:
    """The ids; those on standard input for a `-`. In a line of `duebell list` the id comes first."""
    for id in ids:
        if id != "-":
            yield id
            continue
        for line in sys.stdin.buffer:
            text = line.decode(errors="replace").rstrip("\r\n").partition("\t")[0]
            if text:
                yield text


def _change(editor: Editor, ids: Sequence[str], job: _Job, *, is_all: bool) -> None:
    """Change these tasks some at a time, and tell the result. Exits with 7 when some failed."""
    changed: list[Task] = []
    failures: list[BulkFailure] = []
    rest = iter(() if job.dry_run else ids)
    if not ids and not job.dry_run:
        change_all(editor, job.verb, ())
    try:
        with job.out.progress(job.verb, len(ids)) as progress:
            while chunk := list(itertools.islice(rest, _CHUNK)):
                part = change_all(editor, job.verb, chunk)
                changed += part.changed
                failures += part.failures
                progress(len(changed) + len(failures))
    except (KeyboardInterrupt, DuebellError):
        job.out.warn("broken off: some that are not told here may be changed too")
        raise
    finally:
        report = BulkReport(changed=tuple(changed), failures=tuple(failures))
        job.tell(len(ids), report, is_all=is_all)
    if failures:
        raise typer.Exit(Exit.SOME_FAILED)


def _count(number: int) -> str:
    return "1 task" if number == 1 else f"{number:,} tasks"
