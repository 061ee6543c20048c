"""`duebell add`: one task, or all tasks of a file of JSON lines, with a progress bar and a report."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, NamedTuple
from zoneinfo import ZoneInfo

import typer

from duebell_editor.library.editor import Editor
from duebell_shared.errors import (
    AddReport,
    AwsError,
    DuebellError,
    InvalidTask,
    NotArmed,
    NotDeployed,
    TaskExists,
)
from duebell_shared.payloads.payload import MAX_LEVELS, read_json
from duebell_shared.queue.items import check_size
from duebell_shared.quoting import quoted
from duebell_shared.tasks.fields import FIELDS, IfExists, NewTask, fields_of_json
from duebell_shared.tasks.new_task import new_task

from . import options
from .context import Context, option
from .errors import Exit, WrongUsage, words_of
from .options import instant, opened, with_fields
from .output import Output, plain
from .program import examples, with_json
from .tasks import print_change


class Line(NamedTuple):
    """One line: its number, and its task, or the error in it."""

    number: int
    task: NewTask | InvalidTask

    @property
    def id(self) -> str | None:
        """The id that the line gives, if any."""
        return None if isinstance(self.task, InvalidTask) else self.task.get("id")


class Reader:
    """Reads lines, with the checks of the library, and finds ids that stand there twice.

    Times without an offset are in `zone`. If there is an `id_prefix`, a task without an id gets it and its
    line number.
    """

    def __init__(
        self,
        zone: ZoneInfo | None,
        id_prefix: str | None,
        clock: Callable[[], datetime],
        *,
        warn: Callable[[str], None],
    ) -> None:
        self._zone = zone
        self._id_prefix = id_prefix
        self._clock = clock
        self._warn = warn
        self._lines: dict[str, int] = {}  # by the id
        self._number = 0
        self.without_id = 0

    def read(self, lines: Iterable[bytes]) -> Iterator[Line]:
        """Read the next lines; empty ones are left out."""
        for line in lines:
            self._number += 1
            text = line.removeprefix(b"\xef\xbb\xbf") if self._number == 1 else line
            if text.strip():
                yield Line(self._number, self._task(text))

    def _task(self, text: bytes) -> NewTask | InvalidTask:
        number = self._number
        try:
            given = _object(text)
            if self._id_prefix is not None and given.get("id") is None and not given.get("unique"):
                given["id"] = f"{self._id_prefix}{number}"
            task = fields_of_json(NewTask, given, instant=self._instant)
            check_size(new_task(**task, now=self._clock()))
        except InvalidTask as error:
            return error
        if (id := task.get("id")) is None:
            self.without_id += 1
        elif (first := self._lines.setdefault(id, number)) != number:
            return InvalidTask("id", f"{quoted(id)} is the id of line {first} too")
        return task

    def _instant(self, field: str, given: object) -> datetime:
        try:
            where = f"line {self._number}: {field}"
            return instant(str(given), self._zone, lambda why: self._warn(f"{where}: {why}"))
        except ValueError as error:
            raise InvalidTask(field, str(error)) from None


def _object(line: bytes) -> dict[str, object]:
    try:
        given = read_json(line.decode())
    except UnicodeDecodeError as error:
        raise InvalidTask("", f"is not UTF-8: byte {error.start + 1} is wrong") from None
    except RecursionError:
        raise InvalidTask("", f"is nested too deeply: a payload has {MAX_LEVELS} levels at most") from None
    except ValueError as error:
        raise InvalidTask("", f"is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise InvalidTask("", "must be an object with the arguments of a task")
    return given


#: Lines that are written at a time.
_CHUNK = 500


class Policy(NamedTuple):
    """What to do when an id is taken: `if_exists` and `max_wait` of `Editor.add`, the same for all lines."""

    if_exists: IfExists
    max_wait: timedelta | None


@dataclass
class _Tally:
    """The result of the lines so far."""

    added: int = 0
    there_already: int = 0
    failures: list[tuple[Line, str]] = field(default_factory=list)

    def fail(self, line: Line, error: DuebellError) -> None:
        if isinstance(error, TaskExists):
            why = f"the id {quoted(error.id)} is taken: give --if-exists keep, or replace, for what is there"
        elif isinstance(error, InvalidTask) and not error.field:
            why = error.reason
        else:
            why = words_of(error)
        self.failures.append((line, plain(" ".join(why.split("\n")))))

    def tasks_of(self, lines: Iterable[Line]) -> list[Line]:
        """The lines that are tasks; the others are failures."""
        tasks = []
        for line in lines:
            if isinstance(line.task, InvalidTask):
                self.fail(line, line.task)
            else:
                tasks.append(line)
        return tasks

    def tell(self, out: Output) -> None:
        """Print how many were added, and which failed and why."""
        if out.as_json:
            failures = [{"line": line.number, "id": line.id, "detail": why} for line, why in self.failures]
            counts = {"added": self.added, "there_already": self.there_already}
            out.print_json({**counts, "failures": failures})
            return
        there = f"{self.there_already:,} there already, " if self.there_already else ""
        print(f"{self.added:,} added, {there}{len(self.failures):,} failed")
        out.note_some([f"line {line.number}: {why}" for line, why in self.failures])


def add_file(
    context: Context, file: str, *, zone: ZoneInfo | None, id_prefix: str | None, policy: Policy
) -> None:
    """Add the tasks in the lines of a file, or of `-`, standard input. Exits with 7 when some failed.

    All lines are read into memory, and checked before any task is written.
    """
    if others := context.given_besides("from_", "timezone", "id_prefix", "if_exists", "max_wait"):
        raise WrongUsage(f"--from goes without {', '.join(others)}: that stands in its lines")
    out, tally = context.out, _Tally()
    reader = Reader(zone, id_prefix, context.now, warn=out.warn)
    with opened(file) as stream:
        lines = tally.tasks_of(reader.read(stream))
    if tally.failures:
        tally.tell(out)
        some = f"{len(tally.failures):,} of the lines" if tally.failures[1:] else "a line"
        raise WrongUsage(f"{some} cannot be right; nothing was added")
    if reader.without_id:
        some = f"{reader.without_id:,} lines have" if reader.without_id > 1 else "a line has"
        out.warn(
            f"{some} no id: if this were repeated, they would be added again; --id-prefix TEXT makes ids of "
            f"their line numbers"
        )
    editor, done_to = context.editor(), 0
    try:
        with out.progress("adding", len(lines)) as progress:
            for start in range(0, len(lines), _CHUNK):
                chunk = lines[start : start + _CHUNK]
                _write(editor, chunk, policy, tally)
                done_to = chunk[-1].number
                progress(start + len(chunk))
    except (KeyboardInterrupt, DuebellError):
        with contextlib.suppress(DuebellError):
            editor.ensure_armed()  # for tasks that are stored, but not armed for yet
        again = "repeat it with --if-exists keep: what is stored already stays as it is"
        if reader.without_id:
            again = "to repeat it, leave these lines out: those without an id would be added again"
        out.warn(
            f"broken off after line {done_to:,}, and some of the {_CHUNK} after it may be stored too; {again}"
        )
        tally.tell(out)
        raise
    tally.tell(out)
    if tally.failures:
        raise typer.Exit(Exit.SOME_FAILED)


def _write(editor: Editor, lines: Sequence[Line], policy: Policy, tally: _Tally) -> None:
    """Store the tasks of these lines. Raises NotArmed, and the error of AWS if that stopped all of them."""
    tasks = [line.task for line in lines if not isinstance(line.task, InvalidTask)]
    trouble: NotArmed | None = None
    try:
        report = editor.add_many(tasks, if_exists=policy.if_exists, max_wait=policy.max_wait)
    except NotArmed as error:
        report = error.report if isinstance(error.report, AddReport) else AddReport(added=())
        trouble = error
    there = len(report.there_already) if policy.if_exists is IfExists.KEEP else 0
    tally.added += len(report.added) - there
    tally.there_already += there
    for failure in report.failures:
        tally.fail(lines[failure.index], failure.error)
    if trouble:
        raise trouble
    errors = [one.error for one in report.failures if isinstance(one.error, AwsError | NotDeployed)]
    if errors and len(errors) == len(lines):
        raise errors[-1]  # the other lines would fare no better


app = typer.Typer()

_FROM = """\
--from checks all lines first. If one is wrong, nothing is added. An interrupted add can be repeated with
--if-exists keep, if each line has an id, or --id-prefix makes one of the line's number. In a line, times are
text, and lengths of time are seconds.
"""


@app.command(
    epilog=examples(
        """add remind --in 2d10h --payload '{"user": 7}' --id remind-7""",
        "add report --schedule '0 9 * * 1-5' --timezone Europe/Berlin",
        "add --from tasks.jsonl --id-prefix import-3- --if-exists keep",
        more=_FROM,
    )
)
@with_json()
@with_fields(*(name for name in FIELDS if name not in {"action", "rev"}))
def add(
    context: Context,
    action: Annotated[
        str | None,
        typer.Argument(metavar="ACTION", help="Name of an action of the worker."),
    ] = None,
    *,
    from_: Annotated[
        str | None, option("--from", "FILE", "Add many: a JSON object to a line; - is stdin.")
    ] = None,
    id_prefix: Annotated[
        str | None,
        option("--id-prefix", "TEXT", "With --from: lines without an id get this and their number."),
    ] = None,
    **given: Any,
) -> None:
    """The task runs ACTION with a payload at a time, or by a schedule.

    Times are ISO-8601, such as 2026-12-31T09:00+01:00. Lengths of time are such as 90s, 1h30m or 2d10h.
    """
    timezone, due, in_ = given["timezone"], given["due"], given["in_"]
    if from_ is not None:
        policy = Policy(IfExists(given["if_exists"] or "fail"), given["max_wait"])
        add_file(context, from_, zone=timezone, id_prefix=id_prefix, policy=policy)
        return
    if action is None:
        raise WrongUsage("give the ACTION to run, or --from FILE")
    if id_prefix is not None:
        raise WrongUsage("--id-prefix goes with --from; give --id")
    fields = options.fields_from(given)
    if "schedule" in fields:
        if due is not None or in_ is not None:
            raise WrongUsage("give --schedule, or --due or --in, not both")
        fields["timezone"] = timezone and timezone.key
    elif due is None and in_ is None:
        raise WrongUsage("give --due, a date and time, --in, a time from now, or --schedule")
    else:
        fields["due"] = options.due_from(due, in_, timezone)
    print_change(context, context.editor().add(action, **fields), timezone)
