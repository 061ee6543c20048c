"""How late a million tasks start: the rule's minutes as duebell chooses them, and rings as EventBridge gives
them.

What is real is the choice of the minute, `ring_minute` of the arming protocol, at every re-arming. What is
simplified: nothing fails, tasks were added long before they are due, a run starts everything that is due at
once and takes the same time always, and the Lambda starts as quickly as it does when it is warm."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random

from bench.lateness import Lateness, percentiles
from duebell_shared.arming import ring_minute
from duebell_shared.instants import ceil_to_minute

__all__ = ["measure"]

_TASKS = 1_000_000

_BEGIN = datetime(2027, 1, 1, tzinfo=UTC)

#: From the ring to the run's first look into the queue, in seconds, and how long the run goes on after that.
_START, _RUN = 0.3, 1.0

#: How many seconds after its minute began a rule rang, in EventBridge. Of 4,700 rings the mean was 25 s, with
#: rules that stayed below 10 s and others beyond 40 s, and hardly one beyond 60 s:
#: https://www.trek10.com/blog/lambdaclock (10 March 2016). EventBridge's own word is "within that minute":
#: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html
_RINGS: dict[str, Callable[[Random], float]] = {
    "rings as measured": lambda random: random.uniform(0, 50),
    "rings anywhere": lambda random: random.uniform(0, 60),
}

#: How many tasks an hour, at random moments; or at whole minutes, as people choose them.
_DENSITIES = {
    "one an hour, on a whole minute": (1, True),
    "one an hour": (1, False),
    "one a minute": (60, False),
    "a hundred a minute": (6_000, False),
}


def measure(tasks: int = _TASKS) -> list[Lateness]:
    """Every density with either kind of rings, and so many tasks in each."""
    return [
        percentiles(f"{density}, {rings}", _lateness(_dues(an_hour, is_whole), delay, tasks))
        for rings, delay in _RINGS.items()
        for density, (an_hour, is_whole) in _DENSITIES.items()
    ]


def _lateness(dues: Iterator[datetime], delay: Callable[[Random], float], tasks: int) -> list[float]:
    """The seconds that each of so many tasks starts after it is due."""
    random = Random(tasks)
    late: list[float] = []
    due = next(dues)
    now = _BEGIN
    while len(late) < tasks:
        minute = ring_minute(due, now)
        if minute is None:
            raise RuntimeError("the calendar has ended")
        started = minute + timedelta(seconds=delay(random) + _START)
        now = started + timedelta(seconds=_RUN)
        while due <= now:  # what comes due while the run goes on is seen at its end
            late.append(((started if due <= started else now) - due).total_seconds())
            due = next(dues)
    return late[:tasks]


def _dues(an_hour: int, is_whole: bool) -> Iterator[datetime]:
    random = Random(an_hour)
    due = _BEGIN
    while True:
        due += timedelta(seconds=random.expovariate(an_hour / 3600))
        yield ceil_to_minute(due) if is_whole else due
