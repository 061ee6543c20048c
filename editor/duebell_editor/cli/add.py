"""`duebell add`: one task, or all tasks of a file of JSON lines, with a report."""

import contextlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

import typer

from duebell_editor.library.adder import errors_by_place
from duebell_editor.library.editor import Editor
from duebell_shared.errors import AwsError, DuebellError, InvalidTask, NotArmed, NotDeployed
from duebell_shared.payloads.payload import read_json
from duebell_shared.queue.items import check_size
from duebell_shared.queue.task_queue import Policy
from duebell_shared.quoting import quoted
from duebell_shared.tasks.fields import FIELDS, NewTask, fields_of_json
from duebell_shared.tasks.new_task import new_task

from . import options
from .context import Context, option
from .errors import Exit, WrongUsage, describe
from .options import opened, with_fields
from .output import Output
from .program import examples
from .tasks import print_change

#: Lines that are written at a time.
_CHUNK = 500


def read_tasks(lines: Iterable[bytes], now: datetime) -> tuple[dict[int, NewTask], dict[int, InvalidTask]]:
    """The tasks by the numbers of their lines, and the errors of the wrong lines."""
    tasks: dict[int, NewTask] = {}
    wrong: dict[int, InvalidTask] = {}
    first: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        try:
            if line.strip():
                tasks[number] = _task(line, now)
        except InvalidTask as error:
            wrong[number] = error
    for number, task in tasks.items():
        if (id := task.get("id")) and first.setdefault(id, number) != number:
            wrong[number] = InvalidTask("id", f"{quoted(id)} is the id of line {first[id]} too")
    return tasks, wrong


def _task(line: bytes, now: datetime) -> NewTask:
    try:
        given = read_json(line)
    except ValueError as error:
        raise InvalidTask("task", f"is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise InvalidTask("task", "must be a JSON object with the arguments of a task")
    task = fields_of_json(NewTask, given)
    check_size(new_task(**task, now=now))
    return task


@dataclass(kw_only=True)
class _Result:
    """The result of the lines so far. A failure has its line and its reason."""

    added: int = 0
    there_already: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)

    def fail(self, line: int, error: DuebellError) -> None:
        self.failures.append({"line": line, "detail": describe(error)})

    def tell(self, out: Output) -> None:
        there = f", {self.there_already:,} there already" if self.there_already else ""
        out.report(f"{self.added:,} added{there}", vars(self), self.failures)


def add_file(context: Context, file: str, policy: dict[str, Any]) -> None:
    """Add the tasks in the lines of a file, or of `-`, standard input. Exits with 7 when some failed.

    All lines are read into memory, and checked before any task is written.

    policy  `if_exists` and `max_wait` of the library, the same for all lines
    """
    for name, value in context.params.items():
        is_given = value is not None and value is not False
        if is_given and name not in {"from_", *policy}:
            other = context.option_of(name)
            raise WrongUsage(f"--from cannot be combined with {other}: its lines have these fields")
    Policy.of(**policy)  # checked before the file is read
    out, result = context.out, _Result()
    with opened(file) as stream:
        tasks, wrong = read_tasks(stream, context.now())
    editor = context.editor()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the adds will warn
        wrong |= _refused(editor, {at: one for at, one in tasks.items() if at not in wrong}, policy)
    for number, error in sorted(wrong.items()):
        result.fail(number, error)
    if wrong:
        result.tell(out)
        raise WrongUsage(f"{_count(len(wrong))} cannot be right; nothing was added")
    if without_id := sum(task.get("id") is None for task in tasks.values()):
        out.warn(f"{_count(without_id)} without an id or `unique`: if this is repeated, they are added again")
    lines = list(tasks.items())
    try:
        for start in range(0, len(lines), _CHUNK):
            out.progress(start, len(lines))
            _write(editor, lines[start : start + _CHUNK], policy, result)
    except (KeyboardInterrupt, DuebellError):
        with contextlib.suppress(DuebellError):
            editor.ensure_armed()  # for tasks that are stored, but not armed for yet
        more = f"up to {_CHUNK} more lines may be stored; repeat it with --if-exists keep, which leaves them"
        out.warn(f"broken off: {more} as they are")
        result.tell(out)
        raise
    result.tell(out)
    if result.failures:
        raise typer.Exit(Exit.SOME_FAILED)


def _refused(editor: Editor, tasks: Mapping[int, NewTask], policy: dict[str, Any]) -> dict[int, InvalidTask]:
    """The errors of the tasks that cannot be added so, by the numbers of their lines."""
    try:
        editor.add_many(tasks.values(), **policy, dry_run=True)
    except InvalidTask as error:
        numbers = list(tasks)
        return {numbers[place]: one for place, one in errors_by_place(error).items()}
    return {}


def _count(lines: int) -> str:
    return f"{lines:,} lines" if lines > 1 else "1 line"


def _write(
    editor: Editor, lines: Sequence[tuple[int, NewTask]], policy: dict[str, Any], result: _Result
) -> None:
    """Store the tasks of these lines. Raises NotArmed, and the error of AWS if that stopped all of them."""
    trouble: NotArmed | None = None
    try:
        report = editor.add_many([task for _, task in lines], **policy)
    except NotArmed as error:
        if error.report is None:
            raise
        report, trouble = error.report, error
    there = len(report.there_already) if policy["if_exists"] == "keep" else 0
    result.added += len(report.added) - there
    result.there_already += there
    for failure in report.failures:
        result.fail(lines[failure.index][0], failure.error)
    if trouble:
        raise trouble
    errors = [one.error for one in report.failures if isinstance(one.error, AwsError | NotDeployed)]
    if errors and len(errors) == len(lines):
        raise errors[-1]  # the other lines would fail, too


app = typer.Typer()

_FROM = """\
--from checks all lines first. If one is wrong, nothing is added. An interrupted add can be repeated with
--if-exists keep, if each line has an id or `unique`. In a line, times are text with an offset, and lengths of
time are seconds.
"""


@app.command(
    epilog=examples(
        """add remind --in 2d10h --payload '{"user": 7}' --id remind-7""",
        "add report --schedule '0 9 * * 1-5' --timezone Europe/Berlin",
        "add --from tasks.jsonl --if-exists keep",
        more=_FROM,
    )
)
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
    **given: Any,
) -> None:
    """The task runs ACTION with a payload. Give its time by --due or --in, or a --schedule.

    Times are ISO-8601, such as 2026-12-31T09:00+01:00. Lengths of time are such as 90s, 1h30m or 2d10h.
    """
    timezone, due, in_ = given["timezone"], given["due"], given["in_"]
    if from_ is not None:
        policy = {"if_exists": given["if_exists"] or "fail", "max_wait": given["max_wait"]}
        add_file(context, from_, policy)
        return
    if action is None:
        raise WrongUsage("give the ACTION to run, or --from FILE")
    fields = options.fields_from(given)
    if "schedule" in fields:
        if due is not None or in_ is not None:
            raise WrongUsage("give --schedule, or --due or --in, not both")
        fields["timezone"] = timezone and timezone.key
    elif due is None and in_ is None:
        raise WrongUsage("give --due, a date and time, --in, a time from now, or --schedule")
    else:
        fields["due"] = options.due_from(due, in_)
    print_change(context, context.editor().add(action, **fields))
