"""The times and numbers of a run: the worker uses them, and so does `Editor.simulate`."""

from datetime import timedelta

#: The time between two reads of the queue for tasks that came due while actions run.
READ_AGAIN = timedelta(seconds=5)

#: A run always waits for tasks that are due within this time: by its caller's clock they may be due now.
MOMENT = timedelta(seconds=2)

#: The part of a run that is kept for giving the lanes back and re-arming; a fifth of the run if that is less.
RESERVE = timedelta(seconds=20)

#: A run's lease, renewed at half. Short, so that a dead run is noticed soon, whatever the Lambda's time-out.
LEASE = timedelta(minutes=2)

#: The time between two reads of the arming record by a Lambda's run that waits for the next due date.
WATCH = timedelta(seconds=0.25)

#: Keys to read before the first task is started, and to read on whenever tasks wait for a place.
IN_SIGHT = 100

#: The most keys that are read ahead: if none of their tasks has a priority, and if some have one.
MOST_IN_SIGHT, MOST_WITH_PRIORITIES = 1_000, 100_000

#: The assumed time of an attempt of a limited action, until one was measured. A time that is too long costs
#: nothing: a run starts the tasks that it has put back as soon as it can. A time that is too short costs
#: writes: tasks are put back again and again.
AN_ATTEMPT = timedelta(seconds=5)

#: The weight of the latest attempt in the mean of the measured times.
WEIGHT = 0.2

#: An attempt is never assumed to be shorter than this.
SHORTEST = timedelta(milliseconds=50)

#: The longest time for which a run puts a task back because of `at_most`: that time is an estimate.
LONGEST_WAIT = timedelta(minutes=10)

#: A run stays for tasks that it has put back for less than this: the rule would ring for them later.
STAYS = timedelta(minutes=2)

#: The most tasks of each action that a run remembers; further tasks wait for their places.
MOST_HELD = 1_000

#: If the due tasks cannot be started in this time, more runs are needed.
IN_TIME = timedelta(seconds=30)

#: The time that it takes to measure the speed of a run.
MEASURING = timedelta(seconds=5)


def done_in_time(ended: int, took: timedelta) -> float:
    """Return how many tasks a run does within IN_TIME, if it `took` this long for the `ended` tasks."""
    return max(ended, 1) * (IN_TIME / took)
