"""Settings, from the environment and in code."""

from datetime import timedelta
from typing import Any

import pytest

from duebell_shared.bell.bell import BellKind
from duebell_shared.errors import InvalidSettings
from duebell_shared.settings import INTAKE_VERBS, AuditTo, Color, Precision, Settings
from duebell_shared.tasks.status import History


@pytest.mark.parametrize(
    ("environ", "settings"),
    [
        ({}, Settings(table="duebell", rule="duebell", lanes=4, retention=timedelta(days=14))),
        ({"DUEBELL_TABLE": "queue", "DUEBELL_RULE": "bell"}, Settings(table="queue", rule="bell")),
        ({"DUEBELL_LANES": " 64 "}, Settings(lanes=64)),
        ({"DUEBELL_LANES": ""}, Settings()),  # as a template leaves what is not given
        ({"DUEBELL_RETENTION_DAYS": "1"}, Settings(retention=timedelta(days=1))),
        ({"DUEBELL_BELL": "schedule"}, Settings(bell=BellKind.SCHEDULE)),
        ({"DUEBELL_METRICS": "on"}, Settings(metrics=True)),
        ({"DUEBELL_HISTORY": "failed"}, Settings(history=History.FAILED)),
        ({"DUEBELL_PRECISION": "second"}, Settings(precision=Precision.SECOND)),
        ({"DUEBELL_KEPT_PAYLOAD": "0", "DUEBELL_COLOR": "gray"}, Settings(kept_payload=0, color=Color.GRAY)),
        ({"DUEBELL_PARALLEL_RUNS": "16", "DUEBELL_METRICS": "off"}, Settings(parallel_runs=16)),
        ({"DUEBELL_CHANGED_BY": "x" * 128}, Settings(changed_by="x" * 128)),
        ({"DUEBELL_AUDIT": "table", "DUEBELL_INTAKE": "in"}, Settings(audit=AuditTo.TABLE, intake="in")),
        ({"DUEBELL_AUDIT_DAYS": "36500"}, Settings(audit_retention=timedelta(days=36_500))),
        ({"DUEBELL_STRICT_ACTIONS": "on"}, Settings(strict_actions=True)),
        ({"DUEBELL_INTAKE_ACTIONS": " mail ,act"}, Settings(intake_actions=("mail", "act"))),
        ({"DUEBELL_INTAKE_VERBS": "add,move,update,cancel,backfill"}, Settings(intake_verbs=INTAKE_VERBS)),
        ({"DUEBELL_INTAKE_PREFIXES": "shop-"}, Settings(intake_prefixes=("shop-",))),
        (
            {"DUEBELL_NAME": "sales", "DUEBELL_RULE": "bell"},
            Settings(name="sales", table="sales", rule="bell", function="sales"),
        ),
        (
            {"DUEBELL_NAME": "sales", "DUEBELL_FUNCTION": ""},
            Settings(name="sales", table="sales", rule="sales", function=None),
        ),
    ],
)
def test_from_the_environment(environ: dict[str, str], settings: Settings) -> None:
    assert Settings.from_env(environ) == settings


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("DUEBELL_TABLE", "", "must be the name that the stack has, not ''"),
        ("DUEBELL_LANES", "0", "must be 1 to 64, not 0"),
        ("DUEBELL_LANES", "65", "must be 1 to 64, not 65"),
        ("DUEBELL_LANES", "four", "must be 1 to 64, not 'four'"),
        ("DUEBELL_RETENTION_DAYS", "0", "must be 1 to 36500 days, not datetime.timedelta(0)"),
        ("DUEBELL_RETENTION_DAYS", "99999999999", "must be 1 to 36500 days, not '99999999999'"),
        ("DUEBELL_HISTORY", "some", "must be all, failed or none, not 'some'"),
        ("DUEBELL_KEPT_PAYLOAD", "358401", "must be 0 to 358400 bytes, not 358401"),
        ("DUEBELL_PRECISION", "hour", "must be minute or second, not 'hour'"),
        ("DUEBELL_BELL", "door", "must be rule or schedule, not 'door'"),
        ("DUEBELL_PARALLEL_RUNS", "17", "must be 1 to 16, not 17"),
        ("DUEBELL_METRICS", "yes", "must be on or off, not 'yes'"),
        ("DUEBELL_CHANGED_BY", "a\nb", "must be 1 to 128 printable characters, not 'a\\nb'"),
        ("DUEBELL_COLOR", "pink", "must be red, orange, yellow, green, blue, purple or gray, not 'pink'"),
        ("DUEBELL_AUDIT", "file", "must be log or table, not 'file'"),
        ("DUEBELL_AUDIT_DAYS", "36501", "must be 1 to 36500 days, not datetime.timedelta(days=36501)"),
        ("DUEBELL_INTAKE_ACTIONS", "a,,b", "must be texts with commas between them, not ('a', '', 'b')"),
        ("DUEBELL_INTAKE_VERBS", "go", "must be some of add, move, update, cancel, backfill, not ('go',)"),
        (
            "DUEBELL_NAME",
            "local",
            "local stands for the stack of `duebell local` on the command line only: elsewhere, set the "
            "variables that it prints",
        ),
    ],
)
def test_a_variable_that_cannot_be_right_is_named(name: str, text: str, reason: str) -> None:
    with pytest.raises(InvalidSettings) as raised:
        Settings.from_env({name: text})
    assert (raised.value.field, raised.value.reason) == (name, reason)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"precision": "second"}, "DUEBELL_PRECISION: must be of type Precision, not 'second'"),
        ({"retention": 14}, "DUEBELL_RETENTION_DAYS: must be of type timedelta, not 14"),
        ({"lanes": "4"}, "DUEBELL_LANES: must be of type int, not '4'"),
    ],
)
def test_a_setting_in_code_has_its_type(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidSettings) as raised:
        Settings(**given)
    assert str(raised.value) == reason
