"""Mutants of what tasks are bounded by: payloads, schedules, items, lines of an import, messages."""

from .mutant import Killer, Mutant

__all__ = ["OF_THE_LIMITS"]

_PAYLOAD = "shared/duebell_shared/payloads/payload.py"
_SIZE = "shared/duebell_shared/queue/item_size.py"
_TASK = "shared/duebell_shared/tasks/task.py"
_EXPORT_LINES = "editor/duebell_editor/library/export_lines.py"

OF_THE_LIMITS = (
    Mutant(
        name="a payload of any depth",
        file=_PAYLOAD,
        line="        if _is_too_deep(plain):\n",
        broken="        if False:\n",
        why="it is stored, and then nobody can list the queue by HTTP",
        killers=(Killer.PAYLOADS,),
    ),
    Mutant(
        name="a payload of any depth is shown as it is",
        file=_PAYLOAD,
        line="return text if may_be_deep and _is_too_deep(value) else value",
        broken="return value",
        why="one that another tool stored breaks every listing",
        killers=(Killer.PAYLOADS,),
    ),
    Mutant(
        name="half of a surrogate pair is shown as it is",
        file=_PAYLOAD,
        line='        if "\\\\u" in text:\n',
        broken="        if False:\n",
        why="it has no UTF-8, so that every listing with it fails",
        killers=(Killer.PAYLOADS,),
    ),
    Mutant(
        name="no room for outcomes",
        file=_SIZE,
        line="size = size_of(item) - written + max(written, _RESERVED)",
        broken="size = size_of(item)",
        why="a task is stored whose outcome cannot be written",
        killers=(Killer.ITEM_SIZE,),
    ),
    Mutant(
        name="the error of an attempt that is retried is kept whole",
        file=_TASK,
        line="        failure = bounded(failure)\n        changed",
        broken="        changed",
        why="its item grows beyond what DynamoDB takes, and its outcome is never written",
        killers=(Killer.ITEM_SIZE,),
    ),
    Mutant(
        name="the error of a failed occurrence is kept whole",
        file=_TASK,
        line="failure=bounded(failure),",
        broken="failure=failure,",
        why="its item grows beyond what DynamoDB takes, and its outcome is never written",
        killers=(Killer.ITEM_SIZE,),
    ),
    Mutant(
        name="any number of occurrences is moved aside",
        file=_TASK,
        line='            self._check_room("move an occurrence of", self.recurrence)\n',
        broken="            pass\n",
        why="each is kept on the task, until its item is too large",
        killers=(Killer.ITEM_SIZE,),
    ),
    Mutant(
        name="an imported time without an offset is taken",
        file="shared/duebell_shared/instants.py",
        line="Instant = Annotated[datetime, msgspec.Meta(tz=True)]",
        broken="Instant = datetime",
        why="it is taken as the machine's own time, and nothing rings for it",
        killers=(Killer.IMPORTING,),
    ),
    Mutant(
        name="an imported status goes with any time",
        file=_EXPORT_LINES,
        line="        _check_when(task)\n",
        broken="",
        why="a scheduled task that is not queued is stored, and never runs",
        killers=(Killer.IMPORTING,),
    ),
    Mutant(
        name="an imported payload is not read",
        file=_EXPORT_LINES,
        line="    payloads.check_text(task.payload_json)\n",
        broken="",
        why="what no add would take is stored",
        killers=(Killer.IMPORTING,),
    ),
    Mutant(
        name="an attempt that was exported while it ran counts",
        file=_EXPORT_LINES,
        line="attempt=max(task.attempt - 1, 0)",
        broken="attempt=task.attempt",
        why="a task of one attempt is failed where it is imported, and never runs there",
        killers=(Killer.IMPORTING,),
    ),
    Mutant(
        name="a schedule of any length",
        file="shared/duebell_shared/schedules/schedule.py",
        line="    if len(expression) > MAX_EXPRESSION:\n",
        broken="    if False:\n",
        why="it leaves no room for outcomes, and is read each time that the task is",
        killers=(Killer.SCHEDULES,),
    ),
    Mutant(
        name="messages repeat all that was given",
        file="shared/duebell_shared/quoting.py",
        line="return repr(given[:MOST_QUOTED])",
        broken="return repr(given)",
        why="an answer, and a line of the log, is as long as whoever asks likes",
        killers=(Killer.QUOTING,),
    ),
)
