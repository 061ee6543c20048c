"""What users import, what that loads, and which part of the code may know of which."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duebell_editor
import duebell_worker
from duebell_shared import errors
from duebell_shared.errors import DuebellError

ROOT = Path(__file__).resolve().parent.parent

#: Which of our packages each may import, besides itself. The command line of infra composes all.
MAY_IMPORT = {
    "duebell_shared": set[str](),
    "duebell_editor": {"duebell_shared"},
    "duebell_worker": {"duebell_shared"},
    "duebell_infra": {"duebell_shared", "duebell_editor", "duebell_worker"},
}


def test_the_names_of_the_editor() -> None:
    assert sorted(duebell_editor.__all__) == [
        "AddFailure",
        "AddReport",
        "AwsError",
        "AwsRefused",
        "AwsUnavailable",
        "Bucket",
        "ChangeFailure",
        "ChangeReport",
        "Diagnosis",
        "DuebellError",
        "Editor",
        "Ended",
        "FailedAttempt",
        "Failure",
        "History",
        "IfExists",
        "InvalidInput",
        "InvalidQuery",
        "InvalidSchedule",
        "InvalidSettings",
        "InvalidTask",
        "LastRun",
        "LateRing",
        "Look",
        "Missed",
        "NewTask",
        "NotArmed",
        "NotDeployed",
        "Occurrence",
        "Page",
        "Precision",
        "Problem",
        "ProblemKind",
        "QueueFull",
        "Recurrence",
        "RestingLane",
        "Result",
        "Schedule",
        "SchedulerStatus",
        "Selection",
        "Settings",
        "Status",
        "Step",
        "Task",
        "TaskChange",
        "TaskChanged",
        "TaskConflict",
        "TaskExists",
        "TaskHistory",
        "TaskNotFound",
        "UnreadableTask",
        "Verb",
        "make_schedule",
    ]


def test_the_names_of_the_worker() -> None:
    assert sorted(duebell_worker.__all__) == [
        "Abort",
        "Failure",
        "Retry",
        "RunReport",
        "Settings",
        "Status",
        "Task",
        "Worker",
    ]


def test_importing_the_editor_loads_nothing_that_a_service_does_not_need() -> None:
    program = "import duebell_editor, sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    path = [str(ROOT / part) for part in ("editor", "worker", "shared", "infra")]
    loaded = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    unwanted = {"duebell_worker", "duebell_infra", "fastapi", "typer", "moto", "rich", "pydantic", "uvicorn"}
    assert not unwanted & set(loaded)
    assert "duebell_shared" in loaded


def imports(package: str) -> Iterator[tuple[Path, str]]:
    """Each import of one of our packages in the files of this one."""
    for part in ("shared", "editor", "worker", "infra"):
        for file in sorted((ROOT / part / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    names = [node.module or ""]
                else:
                    continue
                yield from ((file, name.partition(".")[0]) for name in names if name.startswith("duebell_"))


def test_each_part_knows_only_what_it_may() -> None:
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for package, allowed in MAY_IMPORT.items()
        for file, name in imports(package)
        if name not in allowed | {package}
    ]
    assert not wrong


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    drawn: dict[str, str] = {}
    parents: dict[int, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        name = line.lstrip("│ ├└─").split(" ")[0]
        depth = (len(line) - len(line.lstrip("│ ├└─"))) // 4
        if hasattr(errors, name) and name:
            parents[depth] = name
            drawn[name] = parents[depth - 1] if depth else "Exception"
    found = {name: getattr(errors, name).__mro__[1].__name__ for name in errors.__all__}
    assert drawn == found
    assert all(issubclass(getattr(errors, name), DuebellError) for name in errors.__all__)


def test_the_reference_has_them_all() -> None:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert "environ({" not in page  # a default's value is not to show whose machine made it
    for name in {*duebell_editor.__all__, *duebell_worker.__all__}:
        assert f"### {name}\n" in page, "make reference"
    verbs = [verb for verb in vars(duebell_editor.Editor) if not verb.startswith("_")]
    assert all(f"#### Editor.{verb}\n" in page for verb in verbs), "make reference"
