"""The table of task fields, and what is written by hand beside it."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import NODEFAULT
from msgspec.structs import fields as fields_of

from duebell import IfExists, InvalidTask, Task
from duebell_shared.tasks.fields import (
    FIELDS,
    STORED,
    checked,
)
from duebell_shared.tasks.follow_up import FollowUp, Then

CENTURY, TAG, TEN = timedelta(36_525), f"{'x' * 39}aZ9_.:/=+@-", tuple("abcdefghij")

#: For each field what is stored for it, and what is refused with these words.
GIVEN: dict[str, tuple[list[tuple[object, object]], list[tuple[object, str]]]] = {
    "action": (
        [("act", "act")],
        [(None, "must be text, not NoneType"), ("", "1 to 256 characters, not 0"), ("a\n", "printable")],
    ),
    "id": ([("x" * 256, "x" * 256)], [("x" * 257, "1 to 256 characters, not 257"), (7, "must be text")]),
    "unique": (
        [(None, ()), (False, ()), (True, ("*",)), (["b", "a", "b"], ("a", "b"))],
        [("a", "or names .* not 'a'"), ({}, "true, or"), ([], "names no field"), ([7], "by texts, not 7")],
    ),
    "spread": (
        [(None, timedelta(0)), (timedelta(microseconds=1500), timedelta(milliseconds=1))],
        [(timedelta(days=2), "at most 1 day, not 2 days"), (timedelta(0), "a millisecond"), (7, "not int")],
    ),
    "expires_after": (
        [(None, None), (timedelta(1), timedelta(1))],
        [(timedelta(36_526), "at most 36,525 days"), (timedelta(-1), "a millisecond or more")],
    ),
    "priority": ([(None, 0), (9, 9)], [(10, "0 to 9, not 10"), (True, "not True"), ("1", "not '1'")]),
    "tags": (
        [(None, ()), (["b", TAG, "b"], ("b", TAG)), ([], ()), (list(TEN), TEN)],
        [
            ("red", "short texts in a list, not str"),
            (7, "not int"),
            (["a b"], "not 'a b'"),
            (["a,b"], "not 'a,b'"),
            ([""], "1 to 50 of the characters"),
            (["x" * 51], "1 to 50"),
            ([["a"]], "1 to 50"),
            (map(str, range(11)), "at most 10, not 11"),
            (b"ab", "short texts in a list, not bytes"),
        ],
    ),
    "max_runs": ([(None, None), (1, 1)], [(0, "1 to 1,000,000,000, not 0")]),
    "missed": ([(None, "once"), ("all", "all")], [("some", "must be 'once', 'all' or 'skip', not 'some'")]),
    "if_exists": ([("push", IfExists.PUSH)], [(None, "'replace' or 'push', not None")]),
    "on_failed": ([(None, None), ("", ""), ("tell", "tell")], [(7, "the name of an action, not int")]),
    "then": (
        [
            (None, None),
            (Then("b", "x" * 32_766), FollowUp(action="b", payload_json=f'"{"x" * 32_766}"')),
            (Then("b", {}, CENTURY, "x"), FollowUp(action="b", after=CENTURY, result_as="x")),
        ],
        [
            (Then(""), "^then.action: must be 1 to 256 characters, not 0"),
            ({"action": "b"}, r"^then: must be a Then, such as Then\('report'\), not dict"),
            (Then("b", {1}), "^then.payload: payload is a set"),
            (Then("b", "x" * 32_767), "^then.payload: is 32,769 bytes as JSON, at most 32,768 are allowed"),
            (Then("b", after=60), "^then.after: must be a timedelta, not int"),  # type: ignore[arg-type]
            (Then("b", after=timedelta(-1)), "^then.after: must be from 0 to 36,525 days, not -1 day"),
            (Then("b", after=timedelta(36_526)), "^then.after: must be from 0 to 36,525 days"),
            (Then("b", [], result_as="x"), "^then.payload: must be an object: `result_as` names a field"),
            (Then("b", {"x": 1}, result_as="x"), "^then.result_as: names 'x', which the payload has"),
        ],
    ),
    "payload": ([(None, "{}"), ([1.0], "[1.0]")], [({1}, "set")]),
}  # fmt: skip


@pytest.mark.parametrize("field", GIVEN)
def test_a_value_is_stored_or_refused_with_the_field_and_the_reason(field: str) -> None:
    right, wrong = GIVEN[field]
    for given, stored in right:
        assert checked(field, given) == stored
    for value, reason in wrong:
        with pytest.raises(InvalidTask, match=reason) as refused:
            checked(field, value)
        assert refused.value.field.split(".")[0] == field


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
