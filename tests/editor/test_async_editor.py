"""The editor as coroutines: the same methods, made in a few threads, while the event loop goes on."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import ContextVar
from datetime import timedelta
from threading import Event, Thread, current_thread, main_thread
from typing import Any, assert_type

import pytest

from duebell import (
    AsyncEditor,
    Editor,
    Page,
    Task,
)
from tests.editor.memory import Scheduler

HOUR = timedelta(hours=1)

#: What makes no call to AWS, or gives one item after the other.
BY_HAND = {"export_tasks", "from_env"}

#: The block of a transaction makes calls, as many as its user wants; `acting_as` makes none.
LEFT_OUT = {"acting_as", "transaction"}


def public(of: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(of, callable) if not name.startswith("_")}


def running(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """The test in an event loop."""

    def run() -> None:
        asyncio.run(test())

    run.__name__ = test.__name__
    return run


class Held(Editor):
    """An editor whose `cancel` takes until it is let go."""

    begun: Event
    let_go: Event
    made: list[str]

    @classmethod
    def start(cls) -> "Held":
        held = cls(backend=Scheduler.start().backend)
        held.begun, held.let_go, held.made = Event(), Event(), []
        return held

    def cancel(self, id: str, *, rev: int | None = None) -> Task:
        assert current_thread() is not main_thread(), "this would block the event loop"
        self.made.append(id)
        self.begun.set()
        self.let_go.wait()
        return super().cancel(id, rev=rev)


@asynccontextmanager
async def held_editor(threads: int = 2) -> AsyncIterator[tuple[Held, AsyncEditor]]:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(threads))
    held = Held.start()
    try:
        yield held, AsyncEditor(held)
    finally:
        held.let_go.set()


async def has_begun(held: Held, call: "asyncio.Task[Task]") -> None:
    """Wait until the call holds its thread; the loop goes on meanwhile."""
    while not held.begun.is_set():
        await asyncio.sleep(0)
        assert not call.done(), call.exception()


def test_it_has_the_methods_of_the_editor_and_no_others() -> None:
    assert public(AsyncEditor) == public(Editor) - LEFT_OUT


@pytest.mark.parametrize("name", sorted(public(Editor) - LEFT_OUT - BY_HAND))
def test_each_method_is_the_editors_as_a_coroutine(name: str) -> None:
    ours, theirs = getattr(AsyncEditor, name), getattr(Editor, name)
    assert inspect.iscoroutinefunction(ours)
    assert inspect.signature(ours) == inspect.signature(theirs)  # names, defaults and annotations
    assert (ours.__name__, ours.__doc__) == (theirs.__name__, theirs.__doc__)
    assert ours.__qualname__ == f"AsyncEditor.{name}"


@running
async def test_a_task_is_added_changed_and_found() -> None:
    scheduler = Scheduler.start()
    editor = AsyncEditor(scheduler.editor)
    task = await editor.add("act", due=HOUR, id="one")
    assert_type(task, Task)
    assert await editor.get("one") == task
    page = await editor.list()
    assert_type(page, Page)
    assert page.tasks == (task,)


@running
async def test_the_loop_goes_on_while_a_call_takes_its_time() -> None:
    async with held_editor() as (held, editor):
        await editor.add("act", due=HOUR, id="one")
        call = asyncio.create_task(editor.cancel("one"))
        await has_begun(held, call)
        assert not call.done()
        assert (await editor.get("one")).status == "scheduled"
        held.let_go.set()
        assert (await call).status == "cancelled"


@running
async def test_a_call_that_was_cancelled_after_it_had_begun_takes_effect() -> None:
    async with held_editor(threads=1) as (held, editor):
        for id in ("begun", "waiting"):
            await editor.add("act", due=HOUR, id=id)
        begun = asyncio.create_task(editor.cancel("begun"))
        await has_begun(held, begun)
        waiting = asyncio.create_task(editor.cancel("waiting"))
        await asyncio.sleep(0)
        begun.cancel()
        waiting.cancel()
        assert all(
            isinstance(one, asyncio.CancelledError)
            for one in await asyncio.gather(begun, waiting, return_exceptions=True)
        )
        held.let_go.set()
        await asyncio.get_running_loop().shutdown_default_executor()
    # The one that waited for its thread was not made
    assert held.made == ["begun"]
    assert Editor.get(held, "begun").status == "cancelled"
    assert Editor.get(held, "waiting").status == "scheduled"


@running
async def test_an_export_is_read_in_threads_and_can_be_imported() -> None:
    threads: list[Thread] = []

    class Noting(Editor):
        def export_tasks(self) -> Iterator[bytes]:
            for line in super().export_tasks():
                threads.append(current_thread())
                yield line

    editor, other = AsyncEditor(Noting(backend=Scheduler.start().backend)), Scheduler.start()
    await editor.add_many({"action": "act", "due": HOUR, "id": f"t{number:03}"} for number in range(250))
    lines = [line async for line in editor.export_tasks()]
    assert len(lines) == len(threads) == 250
    assert main_thread() not in threads
    assert (await AsyncEditor(other.editor).import_tasks(lines)).written == 250


REQUEST: ContextVar[str] = ContextVar("request", default="none")


@running
async def test_a_call_sees_the_context_variables_of_the_coroutine() -> None:
    seen: list[str] = []

    class Noting(Editor):
        def get(self, id: str) -> Task:
            seen.append(REQUEST.get())
            return super().get(id)

    editor = AsyncEditor(Noting(backend=Scheduler.start().backend))
    await editor.add("act", due=HOUR, id="one")
    REQUEST.set("r-1")
    await editor.get("one")
    assert seen == ["r-1"]
