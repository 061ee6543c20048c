"""An action's handle as type checkers know it, and the arguments it has in common with `Editor.add`."""

import ast
from inspect import signature
from pathlib import Path
from typing import Any, TypeGuard, assert_type

import pytest

from duebell import ArgumentsAction, Backoff, Editor, NewTask, PayloadAction, TaskExists, Worker
from duebell.testing import Rehearsal
from duebell_worker.actions import handles
from tests.worker.rehearsed import HOUR, rehearsal, worker

__all__ = ["rehearsal", "worker"]


def test_the_other_arguments_are_those_of_an_editors_add(worker: Worker, rehearsal: Rehearsal) -> None:
    @worker.action("sell")
    def sell(*, item: int) -> None: ...

    sell.add(due=HOUR, item=42, id="one")
    with pytest.raises(TaskExists):
        sell.add(due=HOUR, item=42, id="one")
    assert sell.add(due=2 * HOUR, item=43, id="one", if_exists="keep").payload == {"item": 42}

    # And they are the same ones, wherever they are listed
    of_add = set(signature(Editor.add).parameters) - {"self", "action", "payload"}
    assert set(handles.AddOptions.__annotations__) == of_add
    assert {*handles.TaskOptions.__annotations__, "action", "payload"} == set(NewTask.__annotations__)


def test_type_checkers_read_the_same_arguments_in_every_place() -> None:
    # The signatures that only type checkers see cannot be looked at by `inspect`
    tree = ast.parse(Path(handles.__file__).read_text())
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    options = {name: typed_names(classes[name]) for name in ("TaskOptions", "AddOptions")}
    methods = {node.name: node for node in ast.walk(classes["ArgumentsAction"]) if is_for_type_checkers(node)}

    def arguments(method: str) -> dict[str, str]:
        return {one.arg: ast.unparse(one.annotation or one) for one in methods[method].args.args[1:]}

    assert arguments("task") == options["TaskOptions"]
    assert arguments("add") == options["TaskOptions"] | options["AddOptions"]


def typed_names(node: ast.ClassDef) -> dict[str, str]:
    """The names that a class body annotates, with their types, without the quotes around a later one."""
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
    return {
        ast.unparse(one.target): ast.unparse(
            ast.parse(one.annotation.value)
            if isinstance(one.annotation, ast.Constant) and isinstance(one.annotation.value, str)
            else one.annotation
        )
        for one in fields
    }


def is_for_type_checkers(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    """Tell whether the function has no body: the ones that run have one."""
    return isinstance(node, ast.FunctionDef) and ast.unparse(node.body[0]) == "..."


def test_the_type_checker_knows_each_kind_of_function(worker: Worker) -> None:
    @worker.action("one")
    def one(payload: object) -> int:
        return 1

    @worker.action("two")
    def two(*, item: int = 1) -> None: ...

    @worker.action("three")
    def three() -> str:
        return "three"

    assert_type(one, PayloadAction[Any, [Any], int])
    assert_type(three, ArgumentsAction[[], [], str])
    assert_type(three(), str)
    assert isinstance(two, ArgumentsAction)
    assert (one.name, one.attempts, one.backoff, one.__name__) == ("one", 5, Backoff(), "one")
