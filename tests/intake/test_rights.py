"""Settings restrict the actions, verbs and beginnings of ids that messages may have."""

from typing import Any

import pytest

from duebell import InvalidSettings, Settings, TaskNotFound
from tests.intake.conftest import Inbox

ADD: dict[str, Any] = {"action": "remind", "in": 60, "id": "shop-1"}
PUSH = ADD | {"if_exists": "push"}


def take(inbox: Inbox, entry: dict[str, Any], **environment: str) -> list[str | None]:
    """The fields that the dead letters name."""
    given = {f"DUEBELL_INTAKE_{name.upper()}": value for name, value in environment.items()}
    inbox.intake._settings = Settings.from_env(given)
    inbox.take(entry)
    return list(inbox.wrong().values())


@pytest.mark.parametrize(
    ("entry", "environment", "field"),
    [
        (ADD, {"actions": "pay, ship"}, "action"),
        (PUSH, {"actions": "pay"}, "action"),
        (ADD | {"on_failed": "wipe"}, {"actions": "remind"}, "on_failed"),
        (ADD | {"then": {"action": "wipe"}}, {"actions": "remind"}, "then"),
        (ADD, {"verbs": "cancel"}, "do"),
        (PUSH, {"verbs": "cancel"}, "do"),
        (ADD, {"prefixes": "billing-"}, "id"),
        ({"action": "remind", "in": 60}, {"prefixes": "billing-"}, "id"),
    ],
)
def test_an_add_beyond_the_rights_is_a_dead_letter(
    inbox: Inbox, entry: Any, environment: dict[str, str], field: str
) -> None:
    assert take(inbox, entry, **environment) == [field]
    with pytest.raises(TaskNotFound):
        inbox.editor.get("shop-1")


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
    inbox: Inbox, entry: Any, environment: dict[str, str], field: str
) -> None:
    assert take(inbox, ADD) == []
    before = inbox.editor.get("shop-1")
    assert take(inbox, entry | {"id": "shop-1"}, **environment) == [field]
    assert inbox.editor.get("shop-1") == before


def test_allowed_entries_take_effect(inbox: Inbox) -> None:
    rights = {"actions": "remind", "verbs": "add,cancel", "prefixes": "shop-,billing-"}
    assert take(inbox, ADD | {"then": {"action": "remind"}}, **rights) == []
    assert take(inbox, {"do": "cancel", "id": "shop-1"}, **rights) == []
    assert inbox.editor.get("shop-1").status == "cancelled"


@pytest.mark.parametrize(
    ("name", "value"), [("VERBS", "add,retry"), ("ACTIONS", "remind,,"), ("PREFIXES", ",")]
)
def test_a_wrong_restriction_is_refused(name: str, value: str) -> None:
    with pytest.raises(InvalidSettings, match=f"DUEBELL_INTAKE_{name}"):
        Settings.from_env({f"DUEBELL_INTAKE_{name}": value})
