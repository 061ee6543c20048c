"""The time to read a schedule's expression and find its next time, and to find it once it was read."""

from collections.abc import Callable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from croniter import croniter

from bench.timing import Rounds, on_processor, side_by_side
from duebell_shared.schedules import cron, schedule
from duebell_shared.schedules.schedule import Schedule

__all__ = ["LIMIT_US", "measure"]

#: The most processor time to read an expression and find its next time, as a median.
LIMIT_US = 150.0

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

EXPRESSIONS = {
    "cron(0 9 ? * MON-FRI *), Berlin": ("cron(0 9 ? * MON-FRI *)", "Europe/Berlin"),
    "*/5 * * * *, New York": ("*/5 * * * *", "America/New_York"),
    "* * * * *, UTC": ("* * * * *", "UTC"),
    "cron(0 8 LW * ? *), Sao Paulo": ("cron(0 8 LW * ? *)", "America/Sao_Paulo"),
    "cron(0 0 29 2 ? *), Apia": ("cron(0 0 29 2 ? *)", "Pacific/Apia"),
    "rate(15 minutes)": ("rate(15 minutes)", "UTC"),
}


def _forget() -> None:
    """Nothing has been read yet."""
    schedule._parse.cache_clear()  # noqa: SLF001 (only here is it not wanted)
    cron.parse_aws.cache_clear()
    cron.parse_classic.cache_clear()


def _read_and_next(given: Schedule) -> Callable[[], object]:
    def call() -> object:
        _forget()
        return given.next_after(NOW)

    return call


def measure() -> Rounds:
    """Each expression read anew and not; and croniter, beside them, for one that it can read."""
    calls: dict[str, Callable[[], object]] = {}
    for name, (expression, zone) in EXPRESSIONS.items():
        given = Schedule(expression=expression, timezone=zone, start=NOW)
        calls[f"read and next: {name}"] = _read_and_next(given)
        calls[f"next: {name}"] = lambda given=given: given.next_after(NOW)  # type: ignore[misc]
    there = NOW.astimezone(ZoneInfo("Europe/Berlin"))
    calls["croniter, read and next: 0 9 * * 1-5, Berlin"] = lambda: croniter("0 9 * * 1-5", there).get_next()
    return side_by_side(calls, rounds=15, repeats=100, clock=on_processor)
