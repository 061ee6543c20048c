"""Functions as actions: how they are called, which are refused, and the actions that every worker has."""

from datetime import timedelta
from typing import Any

import pytest

from duebell import Editor, InvalidTask, Status, Task, Worker
from duebell_shared.backend import Backend
from duebell_shared.tasks.checks import VERIFY


def test_an_action_gets_the_payload_and_the_task_or_the_first_or_nothing(
    editor: Editor, worker: Worker
) -> None:
    # Given actions of all three kinds
    got: dict[str, tuple[Any, ...]] = {}

    @worker.action("nothing")
    def nothing() -> None:
        got["nothing"] = ()

    @worker.action("payload")
    def payload_alone(payload: dict[str, int]) -> None:
        got["payload"] = (payload,)

    @worker.action("both")
    def both(payload: dict[str, int], task: Task) -> None:
        got["both"] = (payload, task.id, task.attempt, task.status)

    # When a task of each is run
    for name in ("nothing", "payload", "both"):
        editor.add(name, due=editor._clock(), payload={"item": 42}, id=name)
    report = worker.run()

    # Then each was given what it asks for
    assert report.done == 3
    assert got == {
        "nothing": (),
        "payload": ({"item": 42},),
        "both": ({"item": 42}, "both", 1, Status.RUNNING),
    }


def test_one_function_can_be_several_actions(editor: Editor, worker: Worker) -> None:
    seen = []

    @worker.action("one")
    @worker.action("other")
    def act(payload: object, task: Task) -> None:
        seen.append(task.action)

    editor.add("one", due=editor._clock())
    editor.add("other", due=editor._clock())
    worker.run()
    assert sorted(seen) == ["one", "other"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "must be 1 to 256 characters, not 0"),
        ("x" * 257, "must be 1 to 256 characters, not 257"),
        ("two\nlines", "only printable characters are allowed"),
        (42, "must be text, not int"),
    ],
)
def test_a_name_that_no_task_could_have_is_refused(worker: Worker, name: Any, reason: str) -> None:
    def act() -> None: ...

    with pytest.raises(InvalidTask, match=f"action: .*{reason}"):
        worker.action(name)(act)


@pytest.mark.parametrize("attempts", [0, -1])
def test_an_action_is_attempted_at_least_once(worker: Worker, attempts: int) -> None:
    def act() -> None: ...

    with pytest.raises(ValueError, match=f"action 'act': attempts must be 1 or more, not {attempts}"):
        worker.action("act", attempts=attempts)(act)


def test_a_backoff_that_is_none_is_refused(worker: Worker) -> None:
    wrong: Any = timedelta(minutes=1)
    with pytest.raises(TypeError, match=r"action 'act': backoff must be a Backoff\(first=…\), not "):
        worker.action("act", backoff=wrong)(lambda: None)


def test_fewer_than_one_at_a_time_is_refused(backend: Backend) -> None:
    with pytest.raises(ValueError, match="concurrency must be 1 or more, not 0"):
        Worker(backend=backend, concurrency=0)


def test_a_worker_needs_no_settings_until_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given settings that cannot be right
    monkeypatch.setenv("DUEBELL_LANES", "many")

    # When a worker is made of them and given an action, nothing is read
    worker = Worker.from_env()
    worker.action("act")(lambda: None)

    # Then it says so when it runs
    with pytest.raises(Exception, match="DUEBELL_LANES: must be 1 to 64"):
        worker.run()


def test_a_task_of_verify_is_done_by_a_worker_without_actions(worker: Worker, editor: Editor) -> None:
    id = editor.add(VERIFY, due=timedelta(0)).id

    assert worker.run().done == 1
    assert editor.get(id).status is Status.DONE


@pytest.mark.parametrize("name", [VERIFY, "duebell.", "duebell.mine"])
def test_names_that_are_duebells_own_cannot_be_taken(worker: Worker, name: str) -> None:
    with pytest.raises(ValueError, match=r"names that start with 'duebell\.' are duebell's own"):
        worker.action(name)(lambda: None)


@pytest.mark.parametrize(
    ("names", "words"), [((), "it has none at all"), (("zip", "mail"), "it has mail, zip.")]
)
def test_an_unknown_action_is_told_only_of_the_users(
    worker: Worker, editor: Editor, names: tuple[str, ...], words: str
) -> None:
    for name in names:
        worker.action(name)(lambda: None)
    editor.add("duebell.unknown", due=timedelta(0), id="a")

    assert worker.run().failed == 1
    failure = editor.get("a").failure
    assert failure
    assert words in failure.message
