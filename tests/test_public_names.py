"""The names that users import, the modules that this loads, and who may import whom in our packages."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from docs import make_reference

import duebell
import duebell.contrib.django
import duebell.http
import duebell.testing
from duebell_shared import errors
from duebell_shared.errors import DuebellError
from tests.imports import imported_by_modules

ROOT = Path(__file__).resolve().parent.parent

#: The packages of ours that each may import, besides itself. None imports the public one.
MAY_IMPORT = {
    "duebell_shared": set[str](),
    "duebell_editor": {"duebell_shared"},
    "duebell_worker": {"duebell_shared", "duebell_editor"},  # this one only when an action adds a task
    "duebell_infra": {"duebell_shared", "duebell_editor", "duebell_worker"},
}


def test_the_names_of_duebell() -> None:
    names = """
        Abort Action ActionDescription ActionForecast ActionLimit AddFailure AddReport Added
        ArgumentsAction AsyncEditor AwsError AwsRefused AwsUnavailable BackfillReport Backoff
        BellKind Bucket Calendar ChangeFailure ChangeReport Diagnosis DoubtfulPayload DuebellError
        Editor Ended Event Failure FailureGroup Failures Flattening FollowUp Forecast
        History Holidays IfExists IndexNotReady InvalidInput InvalidQuery InvalidSchedule
        InvalidSettings InvalidTask InvalidTransaction ItemRefusal LastRun LateRing Lateness Members
        Missed NewTask NotArmed NotDeployed Occurrence Owed Page PastCounts PastTimeline
        PayloadAction Precision PreparedAction Problem ProblemKind QueueFull Recurrence Reservation
        RestingLane Result Retry RunReport Schedule SchedulerStatus Selection Settings Simulation
        Snapshot Snooze Start Status Step SyncReport SyncStep Task TaskChange
        TaskChanged TaskConflict TaskExists TaskNotFound Then Transaction TransactionCancelled
        TransactionItem TransactionUnknown UnknownAction UnreadableTask Verb WaitCause Why Worker
        WorkerDescription WorkerNotStarted make_schedule stopping
    """
    assert duebell.__all__ == names.split()


def test_the_names_of_its_modules_for_tests_and_for_the_http_editor() -> None:
    assert duebell.testing.__all__ == ["FrozenClock", "InlinePool", "MemoryStore", "Rehearsal"]
    assert duebell.http.__all__ == ["create_app", "serve"]
    assert duebell.contrib.django.__all__ == ["AttemptFailed", "DuebellBackend", "register_tasks"]


def test_each_name_is_known_to_type_checkers_and_to_whoever_loads_it() -> None:
    # Given the names that the stub imports for type checkers
    tree = ast.parse((ROOT / "duebell" / "__init__.pyi").read_text())
    imported = {
        alias.asname: (node.module, alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    # Then they are those that there are, each from where it is loaded
    assert sorted(imported, key=str) == sorted(duebell.__all__)
    assert imported == {name: (duebell._MODULES[name], name) for name in duebell.__all__}
    assert all(getattr(duebell, name).__name__ == name for name in duebell.__all__)
    assert set(duebell.__all__) <= set(dir(duebell))


def test_another_name_is_none_of_duebell() -> None:
    with pytest.raises(AttributeError, match="module 'duebell' has no attribute 'Nothing'"):
        duebell.Nothing  # type: ignore[attr-defined]  # noqa: B018


def loaded_by(program: str) -> set[str]:
    """The modules that a program of its own has loaded at its end, and the packages that they are in."""
    path = ":".join(str(ROOT / part) for part in (".", "editor", "worker", "shared", "infra"))
    command = [sys.executable, "-c", f"{program}\nimport sys; print(*sys.modules)"]
    done = subprocess.run(command, env={"PYTHONPATH": path}, capture_output=True, text=True, check=True)
    names = set(done.stdout.split())
    return names | {name.partition(".")[0] for name in names}


def test_importing_duebell_loads_nothing() -> None:
    loaded = loaded_by("import duebell; dir(duebell)")
    assert not {name for name in loaded if name.startswith("duebell_")}
    assert not {"boto3", "msgspec"} & loaded


def test_a_service_that_adds_loads_nothing_that_it_does_not_need() -> None:
    loaded = loaded_by("from duebell import DuebellError, Editor, NewTask, Settings, Task, TaskExists")
    unwanted = {"duebell_worker", "duebell_infra", "fastapi", "typer", "moto", "rich", "pydantic", "uvicorn"}
    assert not unwanted & loaded
    assert {"duebell_editor", "duebell_shared"} <= loaded


def test_a_service_without_an_event_loop_loads_no_coroutines() -> None:
    loaded = loaded_by("from duebell import Editor, Worker; Worker.from_env()")
    assert "duebell_editor.library.editor" in loaded
    assert not {"asyncio", "duebell_editor.library.async_editor"} & loaded


def test_a_worker_whose_actions_add_nothing_loads_no_editor() -> None:
    loaded = loaded_by(
        "from duebell import Abort, Backoff, Failure, Retry, Status, Task, Worker; worker = Worker()\n"
        "@worker.action('act', backoff=Backoff(factor=3))\n"
        "def act(task: Task, *, item: int) -> None: ...\n"
        "import duebell_worker.entry"
    )
    assert not {"duebell_editor", "duebell_infra"} & loaded
    assert "duebell_worker" in loaded


def test_each_part_knows_only_what_it_may() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, names in imported_by_modules().items()
        for name in names
        if (package := module.partition(".")[0]) in MAY_IMPORT
        and name.partition(".")[0] not in MAY_IMPORT[package] | {package}
    ]
    assert not wrong


def test_no_modules_import_each_other_in_a_circle_not_even_for_types_or_in_functions() -> None:
    TopologicalSorter(imported_by_modules()).prepare()  # raises CycleError, which names them


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    drawn: dict[str, str] = {}
    parents: dict[int, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        name = line.lstrip("│ ├└─").split(" ")[0]
        depth = (len(line) - len(line.lstrip("│ ├└─"))) // 4
        if hasattr(errors, name) and name:
            parents[depth] = name
            drawn[name] = parents[depth - 1] if depth else "Exception"
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert drawn == {kind.__name__: kind.__mro__[1].__name__ for kind in kinds}
    assert all(issubclass(kind, DuebellError) for kind in kinds)


def test_the_page_of_the_commands_is_made_of_them() -> None:
    page = make_reference.COMMANDS.read_text(encoding="utf-8")
    assert page == make_reference.commands_page(), "make reference"


def test_the_reference_names_each_attribute_that_users_read() -> None:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert "environ({" not in page  # a default's value is not to show whose machine made it
    sections = dict(part.split("\n", 1) for part in page.split("\n### ")[1:])
    for name in duebell.__all__:
        for attribute in getattr(getattr(duebell, name), "__struct_fields__", ()):
            assert re.search(rf"\b{attribute}\b", sections[name]), f"{name}.{attribute}"
