"""Time zones come from the package tzdata, whatever the machine has."""

from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import tzdata

from duebell_shared.errors import InvalidSchedule
from duebell_shared.instants import parse
from duebell_shared.schedules.schedule import make_schedule
from duebell_shared.schedules.zones import TZDATA_VERSION, zone_names, zone_of
from duebell_shared.tasks.new_task import new_task
from tests.support import NOON

TOKYO = timedelta(hours=9)


@pytest.mark.usefixtures("false_zones")
def test_a_schedule_is_read_by_the_package() -> None:
    # Given a machine where clocks in Berlin show Tokyo's time
    assert ZoneInfo("Europe/Berlin").utcoffset(NOON) == TOKYO
    # Then a schedule in Berlin comes at Berlin's time all the same
    for expression in ("0 9 * * *", "cron(0 9 * * ? *)", "at(2026-11-22T09:00:00)", "0 9/24 * * *"):
        schedule = make_schedule(expression, timezone="Europe/Berlin", now=NOON)
        assert schedule.next_after(NOON) == datetime(2026, 11, 22, 8, tzinfo=UTC)
    assert parse("2026-11-22T09:00", zone_of("Europe/Berlin")) == datetime(2026, 11, 22, 8, tzinfo=UTC)


@pytest.mark.usefixtures("false_zones")
def test_a_datetime_in_the_users_own_zone_means_what_the_user_says() -> None:
    given = datetime(2026, 12, 31, 9, tzinfo=ZoneInfo("Europe/Berlin"))
    task = new_task(id="one", action="act", due=given, payload=None, now=NOON)
    assert task.due == datetime(2026, 12, 31, 0, tzinfo=UTC)
    schedule = make_schedule("0 9 * * *", timezone="Europe/Berlin", start=given, now=NOON)
    assert schedule.start == datetime(2026, 12, 31, 0, tzinfo=UTC)
    assert schedule.next_after(NOON) == datetime(2026, 12, 31, 8, tzinfo=UTC)


def test_every_zone_of_the_package_is_there_and_as_it_is_there() -> None:
    files = resources.files("tzdata").joinpath("zoneinfo")
    assert len(zone_names()) > 500
    for name in zone_names():
        zone = zone_of(name)
        assert zone.key == str(zone) == name
        assert zone is zone_of(name)  # it is read once
        with files.joinpath(*name.split("/")).open("rb") as file:
            like = ZoneInfo.from_file(file)
        for year in range(1960, 2200, 7):
            for month in (1, 7):
                shown = datetime(year, month, 1, tzinfo=UTC)
                assert shown.astimezone(zone).utcoffset() == shown.astimezone(like).utcoffset()
    assert tzdata.IANA_VERSION == TZDATA_VERSION


@pytest.mark.parametrize(
    "name",
    ["localtime", "europe/berlin", "Europe/Berlin\n", "../zones", "\ud800", "", "x" * 1_000_000, None, NOON],
)
def test_what_is_no_zone_of_the_package_is_refused(name: Any) -> None:
    with pytest.raises(InvalidSchedule) as raised:
        zone_of(name)
    assert raised.value.field == "timezone"
    assert "is no IANA time zone" in raised.value.reason
