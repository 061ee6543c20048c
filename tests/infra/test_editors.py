"""What editors are told to have in their environment: as much as the worker has of what they decide."""

from datetime import timedelta

from duebell_infra.deploy.parameters import environment_of
from duebell_shared.settings import Settings
from duebell_shared.tasks.status import History


def test_editors_need_three_names() -> None:
    assert environment_of(Settings(table="t", rule="r", function="f")) == {
        "DUEBELL_TABLE": "t",
        "DUEBELL_RULE": "r",
        "DUEBELL_FUNCTION": "f",
    }


def test_what_is_kept_of_tasks_is_the_same_for_editors_as_for_the_worker() -> None:
    settings = Settings(retention=timedelta(days=3), history=History.FAILED, kept_payload=0, function="f")
    assert Settings.from_env(environment_of(settings)) == settings
