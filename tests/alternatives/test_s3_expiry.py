"""Expiring objects: by the day, at a midnight, some time after it."""

from datetime import UTC, datetime, timedelta

import pytest
from alternatives.design import Refused
from alternatives.s3_expiry import S3Expiry, days_until

from .stage import DAY, HOUR, Stage

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("due", "days"),
    [
        (NOON, 1),
        (NOON + timedelta(hours=36), 1),  # the midnight after tomorrow
        (NOON + timedelta(hours=36, seconds=1), 2),
        (NOON + 10 * DAY, 10),
    ],
)
def test_days_count_from_the_next_midnight(due: datetime, days: int) -> None:
    assert days_until(due, NOON) == days


def test_a_task_starts_when_its_object_is_removed_after_a_midnight() -> None:
    stage = Stage(S3Expiry)
    stage.adds("one", 2 * HOUR)
    stage.passes_until(4 * DAY)
    started = stage.begin + stage.started("one")[0]
    assert started - started.replace(hour=1, minute=0, second=0, microsecond=0) < timedelta(minutes=1)
    assert started - stage.begin > DAY


def test_an_object_that_somebody_deletes_is_not_done() -> None:
    stage = Stage(S3Expiry)
    stage.adds("one", 2 * HOUR)
    stage.does(lambda design: design.cancel("one"))
    stage.passes_until(4 * DAY)
    assert not stage.started("one")


def test_what_to_do_is_read_from_the_version_below_the_delete_marker() -> None:
    stage = Stage(S3Expiry)
    stage.adds("one-more", 2 * HOUR)  # a key that begins like the other
    stage.adds("one", 2 * HOUR, payload={"fails": 1})
    stage.passes_until(4 * DAY)
    assert len(stage.started("one")) == 2
    assert stage.done("one-more") == 1


def test_further_ahead_than_there_are_rules_is_refused() -> None:
    stage = Stage(S3Expiry)
    with pytest.raises(Refused, match=r"due in \d+ days: 365 is the most"):
        stage.adds("one", 400 * DAY)
