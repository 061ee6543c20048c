"""The editor for programs with an event loop: its methods as coroutines, each made in a thread."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import wraps
from itertools import islice
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from .editor import Editor

_P = ParamSpec("_P")
_R = TypeVar("_R")

#: Lines of an export that one call reads. Changing threads for each line would take longer than reading it.
_LINES = 100


def _coroutine(
    method: Callable[Concatenate[Editor, _P], _R],
) -> Callable[Concatenate["AsyncEditor", _P], Coroutine[Any, Any, _R]]:
    """The editor's method as a coroutine, with its parameters, annotations and docstring."""

    @wraps(method)
    async def call(self: "AsyncEditor", /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        # By its name: the editor may be of a subclass that overrides the method, or a test's.
        made: Callable[_P, _R] = getattr(self.editor, method.__name__)
        return await asyncio.to_thread(made, *args, **kwargs)

    call.__qualname__ = f"AsyncEditor.{method.__name__}"
    return call


class AsyncEditor:
    """An Editor whose methods are coroutines, for asyncio: FastAPI, aiohttp and the like.

    It has the methods of an Editor, with the same parameters, results and errors. It has no `transaction`,
    whose block makes calls: use an Editor in a function of yours, by `asyncio.to_thread`. Each call is made
    in a thread of the event loop's default executor; further calls wait for a thread. Make one and keep it;
    it may be used by several event loops. For another author: `AsyncEditor(editor.acting_as("anna"))`.

    When a coroutine is cancelled, as by a time-out, a call that waits for a thread is not made. A call that
    has begun is not stopped and may take effect: repeat an add with an id of your own and `if_exists="keep"`.

    Arguments are used in the thread: iterables are read there.

    editor  the Editor that makes the calls
    """

    def __init__(self, editor: Editor) -> None:
        self.editor = editor

    @classmethod
    def from_env(cls) -> Self:
        """An editor set up by the `DUEBELL_…` variables and the AWS SDK's own. Raises InvalidSettings.

        Makes no call to AWS, but loads the SDK: do this at the start of the program.
        """
        return cls(Editor.from_env())

    async def export_tasks(self) -> AsyncIterator[bytes]:
        """Every task with its history as a line of JSON, for `import_tasks`; read while you iterate."""
        lines = self.editor.export_tasks()
        while read := await asyncio.to_thread(lambda: list(islice(lines, _LINES))):
            for line in read:
                yield line

    add = _coroutine(Editor.add)
    add_one = _coroutine(Editor.add_one)
    add_many = _coroutine(Editor.add_many)
    backfill = _coroutine(Editor.backfill)
    batch = _coroutine(Editor.batch)
    calendars = _coroutine(Editor.calendars)
    cancel = _coroutine(Editor.cancel)
    cancel_item = _coroutine(Editor.cancel_item)
    change_many = _coroutine(Editor.change_many)
    changes = _coroutine(Editor.changes)
    dead_letters = _coroutine(Editor.dead_letters)
    delete_dead_letters = _coroutine(Editor.delete_dead_letters)
    close_batch = _coroutine(Editor.close_batch)
    doctor = _coroutine(Editor.doctor)
    ensure_armed = _coroutine(Editor.ensure_armed)
    failures = _coroutine(Editor.failures)
    find = _coroutine(Editor.find)
    get = _coroutine(Editor.get)
    import_calendar = _coroutine(Editor.import_calendar)
    import_tasks = _coroutine(Editor.import_tasks)
    limit = _coroutine(Editor.limit)
    limits = _coroutine(Editor.limits)
    list = _coroutine(Editor.list)
    simulate = _coroutine(Editor.simulate)
    snapshot = _coroutine(Editor.snapshot)
    move = _coroutine(Editor.move)
    move_item = _coroutine(Editor.move_item)
    past_timeline = _coroutine(Editor.past_timeline)
    past_counts = _coroutine(Editor.past_counts)
    pause = _coroutine(Editor.pause)
    redrive = _coroutine(Editor.redrive)
    relane = _coroutine(Editor.relane)
    preview = _coroutine(Editor.preview)
    reserve = _coroutine(Editor.reserve)
    resume = _coroutine(Editor.resume)
    retry = _coroutine(Editor.retry)
    run_now = _coroutine(Editor.run_now)
    schedules = _coroutine(Editor.schedules)
    select = _coroutine(Editor.select)
    status = _coroutine(Editor.status)
    why = _coroutine(Editor.why)
    sync = _coroutine(Editor.sync)
    timeline = _coroutine(Editor.timeline)
    update = _coroutine(Editor.update)
    update_item = _coroutine(Editor.update_item)
    worker = _coroutine(Editor.worker)
