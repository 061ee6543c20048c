"""Numbers in README and docs that are constants of the product: each page says what the code has.

Amounts of dollars are in `tests/bench/test_dollars.py`. Settings, parameters, the reference, what things cost
and the comparison are generated.
"""

import inspect
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from duebell import Backoff, Settings, Worker
from duebell_editor.cli import add
from duebell_editor.http import access
from duebell_editor.http import limits as http_limits
from duebell_editor.intake import batch
from duebell_editor.library import async_editor, change_many
from duebell_editor.listing import failures, history, queue_counts
from duebell_editor.status import status
from duebell_editor.transactions import task_writes
from duebell_infra import cost
from duebell_infra.deploy import artifacts
from duebell_infra.deploy.template import template_text
from duebell_shared import settings
from duebell_shared.bell import armer, arming, bell
from duebell_shared.bell.expression import ECHOES, LEAD
from duebell_shared.deliveries import message
from duebell_shared.limits import limits
from duebell_shared.payloads import payload
from duebell_shared.queue import lane_sizes, transactions
from duebell_shared.queue.store import AT_ONCE
from duebell_shared.schedules import schedule
from duebell_shared.tasks import (
    checks,
    failure,
    fields,
    follow_up,
    packed_occurrences,
    recurrence,
    worker_record,
)
from duebell_worker import metrics
from duebell_worker.deliveries import https
from duebell_worker.process import process
from duebell_worker.run import attempts, held_tasks, lanes, limiter, shares, trouble, unclaimed, waits
from duebell_worker.run.lease import LEASE

ROOT = Path(__file__).parents[1]

_WORDS: dict[float, str] = {0.5: "half", 20: "twenty", 30: "thirty", 100: "hundred", 1_000: "thousand"}
_WORDS |= enumerate(["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"])


class N:
    """A number as a page writes it: `{}` in figures, `{:w}` in a word; of a time, in these units."""

    def __init__(self, value: Any, unit: timedelta = timedelta(seconds=1)) -> None:
        self._value = value / unit if isinstance(value, timedelta) else value

    def __format__(self, spec: str) -> str:
        return _WORDS[self._value] if spec else f"{self._value:,.10g}"


SECOND, MINUTE, HOUR, DAY = (timedelta(**{unit: 1}) for unit in ("seconds", "minutes", "hours", "days"))

BACKOFF, SETTINGS = Backoff(), Settings()
CONCURRENCY, ATTEMPTS = (
    inspect.signature(call).parameters[name].default
    for call, name in ((Worker.__init__, "concurrency"), (Worker.action, "attempts"))
)

LANE_GB = lane_sizes.LANE_LIMIT / lane_sizes.GIGABYTE

#: A rule that no run sets anew rings in its minute and in each echo, every hour.
RINGS = 24 * (1 + len(ECHOES))


def in_template(name: str) -> int:
    """The number of this property of the template, where it is first."""
    [number, *_] = re.findall(rf"{name}: (\d+)", template_text())
    return int(number)


#: The page, its words with a place for each number, and the numbers.
ROWS: list[tuple[str, str, list[N]]] = [
    # README
    ("README.md", "A task that kills its process delays others, by {:w} minutes", [N(LEASE, MINUTE)]),
    (
        "README.md",
        "up to {:w} minutes late, {:w} for a task added at the last minute",
        [N(2 * MINUTE, MINUTE), N(2 * MINUTE + LEAD, MINUTE)],
    ),
    # using
    ("docs/using.md", "up to {} KB and {} levels", [N(payload.MAX_BYTES / 1024), N(payload.MAX_LEVELS)]),
    ("docs/using.md", "1 to {} printable characters", [N(checks.MAX_NAME)]),
    ("docs/using.md", "0 to {}: [which waiting tasks go first]", [N(checks.MAX_PRIORITY)]),
    ("docs/using.md", "up to {:w} short labels", [N(fields.MAX_TAGS)]),
    ("docs/using.md", "by action and type of error: the latest {}", [N(failures.MOST_READ)]),
    ("docs/using.md", "due until the next 0{}:00", [N(queue_counts.MORNING)]),
    ("docs/using.md", "A done task keeps a payload of up to {} KB", [N(SETTINGS.kept_payload / 1024)]),
    # actions
    ("docs/actions.md", "Up to {} actions run side by side", [N(CONCURRENCY)]),
    (
        "docs/actions.md",
        "after {} to {} seconds, then after twice as long each time, up to an hour",
        [N(BACKOFF.first / 2), N(BACKOFF.first)],
    ),
    ("docs/actions.md", "`attempts` ({} by default)", [N(ATTEMPTS)]),
    ("docs/actions.md", "the last {:w} failed attempts", [N(failure._REMEMBERED)]),
    ("docs/actions.md", "Schemas are kept up to {} KB in all", [N(worker_record.MOST_BYTES / 1024)]),
    # limits
    (
        "docs/limits.md",
        "`at_most` is 1 to {}, `per_second` {} to {}",
        [N(limits.MOST_AT_A_TIME), N(limits.LEAST_PER_SECOND), N(limits.MOST_PER_SECOND)],
    ),
    (
        "docs/limits.md",
        "put back by {} to {} hours",
        [N(limits._PARKED_FOR, HOUR), N(limits._PARKED_FOR + limits._DAY, HOUR)],
    ),
    ("docs/limits.md", "until its lease ends, {:w} minutes at most", [N(LEASE, MINUTE)]),
    ("docs/limits.md", "how long attempts took, {:w} minutes at most", [N(limiter._LONGEST_WAIT, MINUTE)]),
    ("docs/limits.md", "up to a {:w} tasks of each action that it has put back", [N(held_tasks._MOST)]),
    ("docs/limits.md", "tasks wait for less than {:w} minutes", [N(limiter._STAYS, MINUTE)]),
    # recurring and schedules
    ("docs/recurring.md", "the last {:w}: due, started, finished", [N(packed_occurrences.MAX_OCCURRENCES)]),
    ("docs/recurring.md", "Up to {:w} occurrences can wait for a retry", [N(recurrence.MAX_ASIDE)]),
    ("docs/recurring.md", "it delays none; {} occurrences can wait so", [N(recurrence.MAX_ASIDE)]),
    ("docs/recurring.md", "none that is more than {:w} minutes late", [N(recurrence.PUNCTUAL, MINUTE)]),
    ("docs/recurring.md", "At most the last {:w}", [N(recurrence._MOST_CAUGHT_UP)]),
    ("docs/schedules.md", "longer than {} KB", [N(schedule.MAX_EXPRESSION / 1024)]),
    # priorities
    ("docs/priorities.md", "`priority`, 0 to {}", [N(checks.MAX_PRIORITY)]),
    (
        "docs/priorities.md",
        "A run reads {} tasks before it starts the first. While tasks wait for a place, it reads up to {}, "
        "and up to {} once one has a priority",
        [N(lanes._AT_ONCE), N(lanes._MOST), N(lanes._MOST_WITH_PRIORITIES)],
    ),
    # guarantees
    ("docs/guarantees.md", "the lease, at most {} min; by the rule + {};", [N(LEASE, MINUTE), N(ECHOES[0])]),
    ("docs/guarantees.md", "up to {} actions or the worker's concurrency", [N(CONCURRENCY)]),
    (
        "docs/guarantees.md",
        "rings again {}, {} and {} minutes after its minute",
        [N(echo) for echo in ECHOES],
    ),
    ("docs/guarantees.md", "up to {} seconds after it began", [N(armer.HOLD)]),
    (
        "docs/guarantees.md",
        "AWS accepts a call for {:w} minutes after its signature",
        [N(bell._ACCEPTED_FOR, MINUTE)],
    ),
    ("docs/guarantees.md", "DynamoDB allows a lane {} GB", [N(LANE_GB)]),
    (
        "docs/guarantees.md",
        "From {} GB on, adds to it are refused",
        [N(LANE_GB - 1)],
    ),
    ("docs/guarantees.md", "{} min, {} min", [N(2 * MINUTE, MINUTE), N(2 * MINUTE + LEAD, MINUTE)]),
    (
        "docs/guarantees.md",
        "it rings {} to {} times a day. With Lambda's retries this makes at most {}",
        [N(RINGS), N(RINGS + 24), N(3 * (RINGS + 24))],
    ),
    # how it works
    (
        "docs/how-it-works.md",
        "the retention time, {} days unless set otherwise",
        [N(SETTINGS.retention, DAY)],
    ),
    ("docs/how-it-works.md", "`add_many` inserts {} tasks with one call", [N(AT_ONCE)]),
    ("docs/how-it-works.md", "its last {:w} occurrences", [N(packed_occurrences.MAX_OCCURRENCES)]),
    ("docs/how-it-works.md", "usually 170 bytes, {} at most", [N(packed_occurrences.MAX_PACKED)]),
    (
        "docs/how-it-works.md",
        "DynamoDB lets a lane hold {} GB",
        [N(LANE_GB)],
    ),
    ("docs/how-it-works.md", "one run in {:w} minutes does", [N(arming._COUNT_HOLDS, MINUTE)]),
    ("docs/how-it-works.md", "{} lanes held by {} runs", [N(settings.MAX_LANES), N(settings.MAX_RUNS)]),
    ("docs/how-it-works.md", "less than {} seconds away", [N(LEAD)]),
    ("docs/how-it-works.md", "{}, {} and {} minutes later, then every hour", [N(echo) for echo in ECHOES]),
    ("docs/how-it-works.md", "the rule rings {} seconds ahead of a due date", [N(arming.HEAD_START)]),
    ("docs/how-it-works.md", "is due in the next {} seconds", [N(arming.HEAD_START + LEAD)]),
    ("docs/how-it-works.md", "reads the arming record {:w} times a second", [N(SECOND / waits._WATCH)]),
    ("docs/how-it-works.md", "It starts a run {:w} seconds before", [N(process._AHEAD)]),
    ("docs/how-it-works.md", "no run has come within {:w} seconds", [N(arming._CALL)]),
    (
        "docs/how-it-works.md",
        "After {:w} seconds of work a run knows its speed. If what is due would take longer than {} seconds",
        [N(shares._MEASURING), N(shares._IN_TIME)],
    ),
    ("docs/how-it-works.md", "`DUEBELL_MAX_RUNS` ({})", [N(SETTINGS.max_runs)]),
    ("docs/how-it-works.md", "Its lease ends at most {:w} minutes later", [N(LEASE, MINUTE)]),
    (
        "docs/how-it-works.md",
        "The lane pauses for {:w} seconds. After {:w} failures in a row it rests as long as its trouble has "
        "lasted: a minute at least, {:w} an hour at most",
        [N(trouble._PAUSE), N(trouble._IN_A_ROW), N(trouble._LONGEST_REST, HOUR)],
    ),
    ("docs/how-it-works.md", "It is passed over for {:w} minutes", [N(trouble._UNREADABLE, MINUTE)]),
    ("docs/how-it-works.md", "should have rung {:w} minutes ago", [N(arming.GRACE, MINUTE)]),
    # scale
    ("docs/scale.md", "{} lanes, most of them empty", [N(settings.MAX_LANES)]),
    # intake
    (
        "docs/intake.md",
        "after {} seconds, then twice as long each time, {} minutes at most",
        [N(batch._FIRST_PAUSE), N(batch._LONGEST_PAUSE / 60)],
    ),
    ("docs/intake.md", "It sets the rule once for each {:w} tasks", [N(batch._PORTION)]),
    ("docs/intake.md", "the same, {:w} times in about half an hour", [N(batch._PATIENCE)]),
    ("docs/intake.md", "takes up to a {:w} messages at a time", [N(in_template("BatchSize"))]),
    ("docs/intake.md", "At most {:w} batches are in work at a time", [N(in_template("MaximumConcurrency"))]),
    ("docs/intake.md", "After a {:w} times, about a day", [N(in_template("maxReceiveCount"))]),
    ("docs/intake.md", "about {} a month: Lambda reads", [N(round(5 * cost.MONTH / (20 * SECOND), -4))]),
    # http
    ("docs/http.md", "of the latest {}, each with *Retry*", [N(failures.MOST_READ)]),
    ("docs/http.md", "From {} tasks of a lane on", [N(queue_counts.MOST_READ)]),
    ("docs/http.md", "token of {} characters or more", [N(access._TOKEN_LENGTH)]),
    ("docs/http.md", "takes up to {} tasks in a list", [N(change_many.MAX_MANY)]),
    (
        "docs/http.md",
        "JSON, {} MB, within {} seconds (408)",
        [N(http_limits.MAX_BODY / 2**20), N(http_limits.BODY_SECONDS)],
    ),
    ("docs/http.md", "| requests under way | {}; more get 503", [N(http_limits.MAX_REQUESTS)]),
    ("docs/http.md", "| streams of changes | {}; more", [N(http_limits.MAX_STREAMS)]),
    ("docs/http.md", "| connections | {}; more are cut off", [N(http_limits._MOST)]),
    ("docs/http.md", "| headers of a client | {} seconds", [N(http_limits._HEAD_SECONDS)]),
    ("docs/http.md", "reads up to {} tasks in full", [N(history._READ)]),
    # deliveries
    ("docs/deliveries.md", "keeps a batch below {} KiB", [N(message._BATCH_BYTES / 1024)]),
    ("docs/deliveries.md", "A payload may have {} KB", [N(payload.MAX_BYTES / 1024)]),
    ("docs/deliveries.md", "none of the worker's {} places", [N(CONCURRENCY)]),
    ("docs/deliveries.md", "up to a {:w} deliveries are under way beside those", [N(attempts._IN_BATCHES)]),
    ("docs/deliveries.md", "An answer has {} seconds as a whole", [N(https._ANSWER)]),
    # logs
    ("docs/logs.md", "Counts read {} keys at most", [N(metrics._MOST_READ)]),
    ("docs/logs.md", "are written by one run in {:w} minutes", [N(arming._COUNT_HOLDS, MINUTE)]),
    # operations
    ("docs/operations.md", "a lane above {} GB", [N(status._FILLED / lane_sizes.GIGABYTE)]),
    ("docs/operations.md", "It is tried again every {:w} minutes", [N(trouble._UNREADABLE, MINUTE)]),
    ("docs/operations.md", "starts {:w} minutes after the run began", [N(LEASE, MINUTE)]),
    ("docs/operations.md", "is kept for {} days", [N(in_template("MessageRetentionPeriod") / 86_400)]),
    (
        "docs/operations.md",
        "(`LatenessMilliseconds`, {:w} minutes unless set)",
        [N(in_template("LatenessMilliseconds:\n    Type: Number\n    Default") / 60_000)],
    ),
    # security
    ("docs/security.md", "`add_many` inserts {} tasks with one call", [N(AT_ONCE)]),
    ("docs/security.md", "at most {} KB and {} levels", [N(payload.MAX_BYTES / 1024), N(payload.MAX_LEVELS)]),
    (
        "docs/security.md",
        "{} connections that are renewed every {:w} seconds",
        [N(http_limits._MOST), N(http_limits._HEAD_SECONDS)],
    ),
    # how-to
    ("docs/how-to/containers.md", "claims the lanes {:w} seconds before", [N(process._AHEAD)]),
    ("docs/how-to/containers.md", "are due within {} seconds", [N(process._AHEAD + LEAD)]),
    ("docs/how-to/containers.md", "{} actions at a time, or `Worker(concurrency=64)`", [N(CONCURRENCY)]),
    (
        "docs/how-to/containers.md",
        "rings {} seconds ahead, and the process claims lanes {} seconds ahead",
        [N(arming.HEAD_START), N(arming.HEAD_START + process._AHEAD)],
    ),
    ("docs/how-to/containers.md", "longer than {} seconds, or if actions", [N(shares._IN_TIME)]),
    ("docs/how-to/containers.md", "after {:w} minutes at the earliest", [N(process._LONGEST_STAY, MINUTE)]),
    (
        "docs/how-to/containers.md",
        "at one second {} million units a month",
        [N(round(cost.MONTH / SECOND / 1e6, 1))],
    ),
    ("docs/how-to/deploy.md", "deleted {} days after its upload", [N(artifacts._KEPT_DAYS)]),
    ("docs/how-to/django.md", "{} KB at most", [N(payload.MAX_BYTES / 1024)]),
    ("docs/how-to/django.md", "tried again with back-off, {} times in all", [N(ATTEMPTS)]),
    ("docs/how-to/django.md", "{} days after its end", [N(SETTINGS.retention, DAY)]),
    ("docs/how-to/django.md", "arguments above {} KB", [N(SETTINGS.kept_payload / 1024)]),
    ("docs/how-to/fastapi.md", "in one of {} threads", [N(async_editor._THREADS)]),
    ("docs/how-to/follow-ups.md", "that of `Then`, {} KB at most", [N(follow_up.MAX_PAYLOAD / 1024)]),
    (
        "docs/how-to/follow-ups.md",
        "this lasts for three and a {:w} minutes",
        [N(queue_counts.OVERDUE - 3 * MINUTE, MINUTE)],
    ),
    ("docs/how-to/many.md", "{} tasks are", [N(add._CHUNK)]),
    ("docs/how-to/lanes.md", "can get more, up to {}:", [N(settings.MAX_LANES)]),
    (
        "docs/how-to/precision.md",
        "{} to {} seconds before a due date",
        [N(arming.HEAD_START - 2 * LEAD), N(arming.HEAD_START)],
    ),
    ("docs/how-to/precision.md", "is less than {} seconds away", [N(arming.HEAD_START + LEAD)]),
    ("docs/how-to/transactions.md", "A transaction has {} writes at most", [N(transactions.MOST_WRITES)]),
    (
        "docs/how-to/transactions.md",
        "looks again after {:w} seconds, then ever less often, up to {:w} a minute",
        [N(unclaimed._SHORTEST), N(unclaimed._LONGEST, MINUTE)],
    ),
    ("docs/how-to/transactions.md", "{} minutes, or `grace=` from", [N(task_writes.GRACE, MINUTE)]),
]


@pytest.mark.parametrize(("page", "words", "numbers"), ROWS, ids=[f"{row[0]}: {row[1][:30]}" for row in ROWS])
def test_the_page_says_what_the_code_has(page: str, words: str, numbers: list[Any]) -> None:
    said = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert words.format(*numbers) in said
