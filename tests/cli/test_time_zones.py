"""The command line reads times in the time zones of the package, whatever the machine has."""

import re

import msgspec
import pytest

from duebell import Editor, LastRun
from duebell_shared.backend import Backend
from duebell_shared.schedules.zones import TZDATA_VERSION
from tests.cli.program import Duebell, lines
from tests.support import NOON

BERLIN = ("--timezone", "Europe/Berlin")


@pytest.mark.usefixtures("false_zones")
def test_times_are_read_by_the_package(duebell: Duebell, editor: Editor) -> None:
    duebell("add", "x", "--due", "2026-12-31T09:00", *BERLIN, "--id", "once")
    duebell("add", "x", "--schedule", "0 9 * * *", *BERLIN, "--start", "2026-12-24T09:00", "--id", "daily")
    assert editor.get("once").due.isoformat() == "2026-12-31T08:00:00+00:00"
    assert editor.get("daily").due.isoformat() == "2026-12-24T08:00:00+00:00"
    # And told by it
    assert ", 2026-12-24 09:00:00 in Europe/Berlin" in duebell("pause", "daily").out
    assert "2026-11-22 09:00:00 +0100" in duebell("preview", "0 9 * * *", *BERLIN).out


def test_the_status_says_which_time_zones_there_are(duebell: Duebell, backend: Backend) -> None:
    duebell("add", "x", "--in", "1h")
    assert re.search(f"(?m)^tzdata +{TZDATA_VERSION}", duebell("status").out)
    assert lines(duebell("status", "--json").out)[0]["tzdata"] == TZDATA_VERSION
    # And when the worker has others
    record = backend.store.read_record()
    assert record
    run = LastRun(run="run", finished_at=NOON, tzdata="1999a")
    assert backend.store.swap_record(record, msgspec.structs.replace(record, last_run=run))
    status, out, _ = duebell("status")
    assert status == 0
    assert "tzdata: 1999a" in out
    status, out, _ = duebell("doctor")
    assert status == 6
    assert "the worker's last run had those of 1999a" in " ".join(out.split())
