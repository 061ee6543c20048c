"""The table of task fields, and what is written by hand beside it."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import NODEFAULT
from msgspec.structs import fields as fields_of

from duebell import InvalidTask, Task
from duebell_shared.tasks.fields import FIELDS, STORED
from duebell_shared.tasks.follow_up import Then


@pytest.mark.parametrize("field", [name for name, row in FIELDS.items() if row.kind.read])
def test_what_is_read_from_json_is_what_can_be_given(field: str) -> None:
    of_json: dict[str, tuple[object, object]] = {
        "time": ("2026-12-31T01:00:00+01:00", datetime(2026, 12, 31, tzinfo=UTC)),
        "duration": (1.5, timedelta(seconds=1.5)),
        "task": ({"action": "b", "after": 60}, Then("b", None, timedelta(minutes=1))),
    }
    kind = FIELDS[field].kind
    given, value = of_json[kind.form]
    assert kind.read
    assert kind.read(field, given) == value
    with pytest.raises(InvalidTask) as refused:
        kind.read(field, "soon")
    assert refused.value.field == field


def test_people_are_shown_each_field_by_its_title_and_what_it_is_without() -> None:
    assert [f"{row.title}: {row.unset}" for row in FIELDS.values() if " " not in row.title] == [
        *("Action: ", "Payload: an empty object", "Due: ", "In: ", "Schedule: ", "Calendar: none"),
        *("Spread: none", "Priority: 0", "Tags: none", "Expiry: never", "Id: one is made", "Batch: none"),
        "Revision: any",
    ]


def test_a_task_has_what_is_stored_of_the_fields_with_their_defaults() -> None:
    attributes = {one.name: one.default for one in fields_of(Task)}
    for name, attribute in STORED.items():
        assert attributes[attribute] == FIELDS[name].default or FIELDS[name].default is NODEFAULT
