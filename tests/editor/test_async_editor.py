"""The editor as coroutines: the same methods, made in a few threads, while the event loop goes on."""

import asyncio
import inspect
from collections.abc import Iterator
from datetime import timedelta
from threading import Thread, current_thread, main_thread
from typing import assert_type

import pytest

from duebell import AsyncEditor, Editor, Task
from tests.editor.memory import Scheduler

HOUR = timedelta(hours=1)

#: Methods that make no call to AWS, or return one item after the other.
BY_HAND = {"export_tasks", "from_env"}

#: The block of a transaction makes calls, as many as its user wants; `acting_as` makes none.
LEFT_OUT = {"acting_as", "transaction"}


def public(of: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(of, callable) if not name.startswith("_")}


def test_it_has_the_methods_of_the_editor_and_no_others() -> None:
    assert public(AsyncEditor) == public(Editor) - LEFT_OUT


@pytest.mark.parametrize("name", sorted(public(Editor) - LEFT_OUT - BY_HAND))
def test_each_method_is_the_editors_as_a_coroutine(name: str) -> None:
    ours, theirs = getattr(AsyncEditor, name), getattr(Editor, name)
    assert inspect.iscoroutinefunction(ours)
    assert inspect.signature(ours) == inspect.signature(theirs)  # names, defaults and annotations
    assert (ours.__name__, ours.__doc__) == (theirs.__name__, theirs.__doc__)
    assert ours.__qualname__ == f"AsyncEditor.{name}"


class Noting(Editor):
    """An editor that notes the threads of its calls."""

    threads: set[Thread]

    def get(self, id: str) -> Task:
        self.threads.add(current_thread())
        return super().get(id)

    def export_tasks(self) -> Iterator[bytes]:
        for line in super().export_tasks():
            self.threads.add(current_thread())
            yield line


def test_calls_are_made_in_threads() -> None:
    noting, other = Noting(backend=Scheduler.start().backend), Scheduler.start()
    noting.threads = set()

    async def calls() -> None:
        editor = AsyncEditor(noting)
        task = await editor.add("act", due=HOUR, id="one")
        assert_type(task, Task)
        assert await editor.get("one") == task
        await editor.add_many({"action": "act", "due": HOUR, "id": f"t{number:03}"} for number in range(250))
        lines = [line async for line in editor.export_tasks()]
        assert (await AsyncEditor(other.editor).import_tasks(lines)).written == 251

    asyncio.run(calls())
    assert noting.threads
    assert main_thread() not in noting.threads
