"""Settings restrict the actions, verbs and beginnings of ids that messages may have."""

from typing import Any

import pytest

from duebell import InvalidSettings, Settings
from tests.intake.conftest import Inbox

ADD: dict[str, Any] = {"action": "remind", "in": 60, "id": "shop-1"}


def take(inbox: Inbox, entry: dict[str, Any], **environment: str) -> list[str | None]:
    """The fields that the dead letters name."""
    given = {f"DUEBELL_INTAKE_{name.upper()}": value for name, value in environment.items()}
    inbox.intake._settings = Settings.from_env(given)
    inbox.take(entry)
    return list(inbox.wrong().values())


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
