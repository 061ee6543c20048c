"""Mutants of schedules: where time zones come from, and the ends of the calendar."""

from .mutant import Killer, Mutant

__all__ = ["OF_TIME"]

_ZONES = "shared/duebell_shared/schedules/zones.py"
_SCHEDULE = "shared/duebell_shared/schedules/schedule.py"
_WALL_CLOCK = "shared/duebell_shared/schedules/wall_clock.py"

OF_TIME = (
    Mutant(
        name="time zones of the machine",
        file=_ZONES,
        line='return PackagedZone.from_file(BytesIO(_content(f"zoneinfo/{name}")), key=name)',
        broken="return ZoneInfo(name)",
        why="the editor and the worker read one schedule in two ways",
        killers=(Killer.ZONES,),
        is_fast=True,
    ),
    Mutant(
        name="any name is a time zone",
        file=_ZONES,
        line="name not in zone_names():",
        broken='name == "":',
        why="paths, folders and files that are no zones get to the file system",
        killers=(Killer.ZONES,),
    ),
    Mutant(
        name="the worker does not say which time zones it has",
        within="Tally.last_run",
        file="worker/duebell_worker/run/report.py",
        line="tzdata=TZDATA_VERSION, ",
        broken="",
        why="nobody is told that the editor has others",
        killers=(Killer.ZONES,),
    ),
    Mutant(
        name="an instant in the zone that it was given in",
        file=_SCHEDULE,
        line="after = min(max(after, _BEFORE_ALL), LATEST).astimezone(UTC)",
        broken="after = min(max(after, _BEFORE_ALL), LATEST)",
        why="arithmetic across a change of clocks is off by an hour",
        killers=(Killer.BOUNDS,),
    ),
    Mutant(
        name="an instant before the calendar's first in UTC",
        file=_SCHEDULE,
        line="    if at.year < FIRST_YEAR:\n",
        broken="    if at.year < 1:\n",
        why="at() of the year 1 overflows in an eastern zone",
        killers=(Killer.BOUNDS,),
    ),
    Mutant(
        name="what is shown twice is counted twice",
        file=_WALL_CLOCK,
        line="shown = max(shown, begin + previous)",
        broken="shown = max(shown, begin + offset)",
        why="a task is told of more missed runs than there were",
        killers=(Killer.BOUNDS,),
    ),
    Mutant(
        name="letters beyond ASCII in a rate",
        within="schedule",
        file=_SCHEDULE,
        line="re.IGNORECASE | re.ASCII",
        broken="re.IGNORECASE",
        why="a rate in minutes with a long s is a KeyError",
        killers=(Killer.BOUNDS,),
    ),
)
