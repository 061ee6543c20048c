"""The command `calendar`, and schedules with a calendar on the command line."""

import json
import re
import sys
from datetime import date
from pathlib import Path

import pytest

from duebell import Calendar, Editor, InvalidInput
from duebell_editor.library.calendars import country_calendar
from tests.cli.program import Duebell

ICS = """BEGIN:VCALENDAR
BEGIN:VEVENT
DTSTART;VALUE=DATE:20261224
DTEND;VALUE=DATE:20261227
SUMMARY;LANGUAGE=en:Plant closed\\, all
  of it
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20270101
SUMMARY:New Year
END:VEVENT
BEGIN:VEVENT
DTSTART:20270102T090000Z
SUMMARY:a meeting
END:VEVENT
END:VCALENDAR
"""


def test_a_file_is_imported_shown_and_listed(duebell: Duebell, tmp_path: Path) -> None:
    file = tmp_path / "plant.ics"
    file.write_text(ICS.replace("\n", "\r\n"), encoding="utf-8")
    assert duebell("calendar", "list", "--json").out == "[]\n"
    told = duebell("calendar", "import", "plant", "--file", str(file)).out
    assert told.split() == ["name", "plant", "holidays", "4", "source", "plant.ics", "ends", "2027-12-31"]
    assert "2026-12-25: Plant closed, all of it" in duebell("calendar", "show", "plant").out
    listed = " ".join(duebell("calendar", "list").out.split())
    assert listed == "name holidays source ends plant 4 plant.ics 2027-12-31"
    assert json.loads(duebell("calendar", "show", "plant", "--json").out)["days"]["2027-01-01"] == "New Year"


def test_a_preview_names_what_is_skipped_and_why(duebell: Duebell, editor: Editor) -> None:
    days = {date(2026, 11, 23): "A Monday", date(2026, 11, 24): "A Tuesday"}
    editor.import_calendar("de", Calendar(days=days, ends=date(2028, 12, 31)))
    arguments = ("preview", "0 9 * * *", "--calendar", "de", "--count", "2")
    out = duebell(*arguments).out
    assert "every day at 09:00, UTC, not on holidays (de)" in out
    assert re.search("2026-11-23 09:00:00 UTC +A Monday", out)
    told = json.loads(duebell(*arguments, "--holidays", "next", "--json").out)
    assert told["on_holidays"][0]["moved_to"] == "2026-11-25T09:00:00.000Z"
    assert duebell("add", "x", "--schedule", "0 9 * * *", "--calendar", "de", "--id", "one").status == 0
    assert "not on holidays (de)" in " ".join(duebell("show", "one").out.split())


def test_a_country_has_the_holidays_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("holidays")
    berlin = country_calendar("DE", "BE", range(2026, 2028))
    assert (berlin.ends, berlin.source, berlin.weekend) == (date(2027, 12, 31), "DE-BE", (5, 6))
    assert date(2026, 3, 8) in berlin.days
    assert {day.year for day in berlin.days} == {2026, 2027}
    with pytest.raises(InvalidInput, match=r"^country: "):
        country_calendar("XX", None, [2026])
    assert country_calendar("DE", None, range(2000, 2050)).source == "DE"
    for years in (range(0), range(2000, 2051)):
        with pytest.raises(InvalidInput, match=f"years: must be 1 to 50 years, such as .* not {len(years)}$"):
            country_calendar("DE", None, years)
    monkeypatch.setitem(sys.modules, "holidays", None)
    with pytest.raises(InvalidInput, match=r"^country: needs the package holidays: pip install 'duebell\[c"):
        country_calendar("DE", None, [2026])
