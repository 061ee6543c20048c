"""What messages may do can be restricted by actions, verbs and beginnings of ids."""

from collections.abc import Callable
from typing import Any

import pytest

from duebell import Editor, InvalidSettings, Settings, TaskNotFound
from duebell_editor.intake import Intake
from duebell_shared.backend import Backend
from duebell_shared.parallel import Parallel
from tests.intake.conftest import Queues, record
from tests.support import Clock

ADD = {"action": "remind", "in": 60, "id": "shop-1"}


@pytest.fixture
def take(backend: Backend, editor: Editor, queues: Queues, clock: Clock) -> Callable[..., list[str]]:
    def take(entry: dict[str, Any], **environment: str) -> list[str]:
        """The fields that the dead letters name."""
        settings = Settings.from_env({f"DUEBELL_INTAKE_{k.upper()}": v for k, v in environment.items()})
        assert backend.client
        intake = Intake(editor, backend.client, settings=settings, clock=clock, parallel=Parallel(1))
        assert intake.take([record(entry)]) == {"batchItemFailures": []}
        return [attributes["duebell-field"] for _, attributes in queues.dead()]

    return take


REFUSED: list[tuple[dict[str, Any], dict[str, str], str]] = [
    (ADD, {"actions": "pay, ship"}, "action"),
    (ADD | {"if_exists": "push"}, {"actions": "pay"}, "action"),
    (ADD | {"on_failed": "wipe"}, {"actions": "remind"}, "on_failed"),
    (ADD | {"then": {"action": "wipe"}}, {"actions": "remind"}, "then"),
    (ADD, {"verbs": "cancel"}, "do"),
    (ADD | {"if_exists": "push"}, {"verbs": "cancel"}, "do"),
    (ADD, {"prefixes": "billing-"}, "id"),
    ({"action": "remind", "in": 60}, {"prefixes": "billing-"}, "id"),
]


@pytest.mark.parametrize(("entry", "environment", "field"), REFUSED)
def test_an_add_beyond_the_rights_is_a_dead_letter(
    take: Callable[..., list[str]], editor: Editor, entry: Any, environment: dict[str, str], field: str
) -> None:
    assert take(entry, **environment) == [field]
    with pytest.raises(TaskNotFound):
        editor.get("shop-1")


@pytest.mark.parametrize(
    ("entry", "environment", "field"),
    [
        ({"do": "cancel"}, {"verbs": "add,move"}, "do"),
        ({"do": "cancel"}, {"prefixes": "billing-"}, "id"),
        ({"do": "cancel"}, {"actions": "pay"}, "id"),
        ({"do": "update", "action": "wipe"}, {"actions": "remind"}, "action"),
        ({"action": "pay", "in": 90, "if_exists": "push"}, {"actions": "pay"}, "id"),
    ],
)
def test_a_change_beyond_the_rights_is_a_dead_letter(
    take: Callable[..., list[str]], editor: Editor, entry: Any, environment: dict[str, str], field: str
) -> None:
    assert take(ADD) == []
    before = editor.get("shop-1")
    assert take(entry | {"id": "shop-1"}, **environment) == [field]
    assert editor.get("shop-1") == before


def test_what_is_within_the_rights_takes_effect(take: Callable[..., list[str]], editor: Editor) -> None:
    rights = {"actions": "remind", "verbs": "add,cancel", "prefixes": "shop-,billing-"}
    assert take(ADD | {"then": {"action": "remind"}}, **rights) == []
    assert take({"do": "cancel", "id": "shop-1"}, **rights) == []
    assert editor.get("shop-1").status == "cancelled"


@pytest.mark.parametrize(
    ("name", "value"), [("VERBS", "add,retry"), ("ACTIONS", "remind,,"), ("PREFIXES", ",")]
)
def test_a_wrong_restriction_is_refused(name: str, value: str) -> None:
    with pytest.raises(InvalidSettings, match=f"DUEBELL_INTAKE_{name}"):
        Settings.from_env({f"DUEBELL_INTAKE_{name}": value})
