"""The times and numbers of a run: the worker follows them, and `Editor.simulate` plays by them."""

from datetime import timedelta

#: The time between two reads of the queue for tasks that came due while actions run.
READ_AGAIN = timedelta(seconds=5)

#: A run always waits for tasks that are due so soon: by the clock of its caller they may be due already.
MOMENT = timedelta(seconds=2)

#: The part of a run that is kept for giving the lanes back and re-arming; a fifth of the run if that is less.
RESERVE = timedelta(seconds=20)

#: Short, so that a dead run is noticed soon, whatever the Lambda's own time-out; renewed at half.
LEASE = timedelta(minutes=2)

#: The time between two reads of the arming record by a Lambda's run that waits for the next due date.
WATCH = timedelta(seconds=0.25)

#: Keys in sight before the first task is started; so many more are read whenever tasks wait for a place.
IN_SIGHT = 100

#: The most keys in sight while no task among them has a priority; and when some have one.
MOST_IN_SIGHT, MOST_WITH_PRIORITIES = 1_000, 100_000

#: The time that an attempt of a limited action takes, until one has ended; how much the last one counts then.
#: A time that is too long costs nothing, as a run starts what it has put back when it can. One that is too
#: short has tasks put back again and again.
AN_ATTEMPT, WEIGHT = timedelta(seconds=5), 0.2
SHORTEST = timedelta(milliseconds=50)

#: The longest time that a run puts a task back because of `at_most`: it is an estimate.
LONGEST_WAIT = timedelta(minutes=10)

#: A run stays for tasks that it has put back for less than this: the rule would ring for them later.
STAYS = timedelta(minutes=2)

#: The tasks of each action that a run remembers; those that come after them wait for their places.
MOST_HELD = 1_000

#: If what is due cannot be started in this time, more runs are needed.
IN_TIME = timedelta(seconds=30)

#: The time that it takes to measure the speed of a run.
MEASURING = timedelta(seconds=5)


def done_in_time(ended: int, took: timedelta) -> float:
    """Return the number of tasks that a run does in time, if so many `ended` in the time that it `took`."""
    return max(ended, 1) * (IN_TIME / took)
