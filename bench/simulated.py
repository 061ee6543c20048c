"""The lateness of a million tasks: the minutes that duebell chooses, and rings as EventBridge has them.

What is real is the choice of the minutes, `ring_minute` and `early_minute` of the arming protocol, at every
re-arming. What is simplified: nothing fails, tasks were added long before they are due, a run starts all
that is due at once and takes the same time always, and the Lambda starts as quickly as it does when it is
warm.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random

from bench.lateness import Lateness, percentiles
from duebell_shared.bell.arming import HEAD_START
from duebell_shared.bell.expression import LEAD, early_minute, ring_minute
from duebell_shared.instants import ceil_to_minute

__all__ = ["measure"]

_TASKS = 1_000_000

_BEGIN = datetime(2027, 1, 1, tzinfo=UTC)

#: From the ring to the run's first look into the queue, in seconds, and how long the run goes on after that.
_START, _RUN = 0.3, 1.0

#: The seconds until a changed rule is in effect: "a short period of time", EventBridge says. Assumed.
_EFFECT = 30.0

#: To the second: how many seconds a run takes to claim lanes and set its watchdog, how many from a due date
#: to the task's start (a query of each lane, a claim), and for how many it goes on.
_ARM, _LOOK, _STAY = 0.2, 0.03, 280.0

#: The seconds from the start of its minute to a rule's ring, in EventBridge. Of 4,700 rings the mean was
#: 25 s, with rules that stayed below 10 s and others beyond 40 s, and hardly one beyond 60 s:
#: https://www.trek10.com/blog/lambdaclock (10 March 2016). EventBridge's own word is "within that minute":
#: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html
_RINGS: dict[str, Callable[[Random], float]] = {
    "rings as measured": lambda random: random.uniform(0, 50),
    "rings anywhere": lambda random: random.uniform(0, 60),
}

#: The tasks of an hour, at random moments; or at whole minutes, as people choose them.
_DENSITIES = {
    "one an hour, on a whole minute": (1, True),
    "one an hour": (1, False),
    "one a minute": (60, False),
    "a hundred a minute": (6_000, False),
}


def measure(tasks: int = _TASKS) -> list[Lateness]:
    """Every density with either kind of rings, and so many tasks in each; and to the second."""
    minute = [
        percentiles(f"{density}, {rings}", _to_the_minute(_dues(an_hour, is_whole), delay, tasks))
        for rings, delay in _RINGS.items()
        for density, (an_hour, is_whole) in _DENSITIES.items()
    ]
    measured = _RINGS["rings as measured"]
    second = [
        percentiles(
            f"to the second, {density}, rings as measured", _to_the_second(_dues(*when), measured, tasks)
        )
        for density, when in _DENSITIES.items()
    ]
    return [*minute, *second]


def _to_the_minute(dues: Iterator[datetime], delay: Callable[[Random], float], tasks: int) -> list[float]:
    """The seconds that each of so many tasks starts after it is due."""
    random = Random(tasks)
    late: list[float] = []
    due = next(dues)
    now = _BEGIN
    while len(late) < tasks:
        started = _rung(due, now, delay, random)
        now = started + timedelta(seconds=_RUN)
        while due <= now:  # what comes due while the run goes on is seen at its end
            late.append(((started if due <= started else now) - due).total_seconds())
            due = next(dues)
    return late[:tasks]


def _to_the_second(dues: Iterator[datetime], delay: Callable[[Random], float], tasks: int) -> list[float]:
    """The same, with the rule ringing ahead and a run that waits, and calls its successor in the end."""
    random = Random(tasks)
    late: list[float] = []
    due = next(dues)
    now = _BEGIN
    while len(late) < tasks:
        now = _rung(due - HEAD_START, now, delay, random) + timedelta(seconds=_ARM)
        ends = now + timedelta(seconds=_STAY)
        while due <= now + HEAD_START + LEAD and len(late) < tasks:
            if due > ends:
                now = max(now, ends) + timedelta(seconds=_START + _ARM)
                ends = now + timedelta(seconds=_STAY)
            now = max(now, due)
            late.append((now - due).total_seconds() + _LOOK)
            due = next(dues)
    return late[:tasks]


def _rung(target: datetime, now: datetime, delay: Callable[[Random], float], random: Random) -> datetime:
    """When a run begins for which the rule is set at this moment."""
    minute = ring_minute(target, now)
    if minute is None:
        raise RuntimeError("the calendar has ended")
    in_effect = now + timedelta(seconds=random.uniform(0, _EFFECT))
    early = early_minute(minute, target, now)
    rings = [each + timedelta(seconds=delay(random)) for each in (early, minute) if each]
    return next(ring for ring in rings if ring >= in_effect) + timedelta(seconds=_START)


def _dues(an_hour: int, is_whole: bool) -> Iterator[datetime]:
    random = Random(an_hour)
    due = _BEGIN
    while True:
        due += timedelta(seconds=random.expovariate(an_hour / 3600))
        yield ceil_to_minute(due) if is_whole else due
