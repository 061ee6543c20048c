"""Numbers in README and docs that are constants of the product: each page says what the code has.

Amounts of dollars are in `tests/bench/test_dollars.py`. Settings, parameters, the reference, what things cost
and the comparison are generated.
"""

import inspect
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from bench.figures import load

from duebell import Backoff, Settings, Worker
from duebell_editor.cli import add
from duebell_editor.cli.errors import Exit
from duebell_editor.http import access
from duebell_editor.http import limits as http_limits
from duebell_editor.intake import batch
from duebell_editor.library import backfill, batches, change_many
from duebell_editor.listing import failures, history, listing, queue_counts
from duebell_editor.simulation import cost, simulate
from duebell_editor.status import dead_letters, status
from duebell_editor.transactions import task_writes
from duebell_infra.bundle import bundle
from duebell_infra.deploy.parameters import PARAMETERS
from duebell_infra.deploy.stack import template_text
from duebell_infra.verify import account
from duebell_shared import settings
from duebell_shared.aws import intake_queue
from duebell_shared.bell import armer, arming, bell
from duebell_shared.bell.expression import ECHOES, LEAD, SENTINEL, expression_at
from duebell_shared.bell.run_rules import (
    IN_SIGHT,
    IN_TIME,
    LEASE,
    LONGEST_WAIT,
    MEASURING,
    MOST_HELD,
    MOST_IN_SIGHT,
    MOST_WITH_PRIORITIES,
    RESERVE,
    STAYS,
    WATCH,
)
from duebell_shared.limits import limits
from duebell_shared.payloads import payload
from duebell_shared.queue import changes, items, lane_sizes, store
from duebell_shared.queue.store import AT_ONCE
from duebell_shared.schedules import calendars, schedule
from duebell_shared.tasks import (
    checks,
    fields,
    follow_up,
    recurrence,
    task,
    worker_record,
)
from duebell_shared.tasks import history as packed
from duebell_worker import metrics, process
from duebell_worker.actions.handles import new_action
from duebell_worker.deliveries import deliverer, https
from duebell_worker.run import attempts, lanes, out_of_order, performer, report, run, waits
from tests.shared import test_expression
from tests.simulation import promises

ROOT = Path(__file__).parents[1]

_WORDS: dict[float, str] = {
    0.25: "quarter",
    0.5: "half",
    20: "twenty",
    30: "thirty",
    100: "hundred",
    1_000: "thousand",
}
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
    for call, name in ((Worker.__init__, "concurrency"), (new_action, "attempts"))
)

[PYTHON] = re.findall('requires-python = ">=(.*)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FIGURES: Any = load()
PATHS = {path.name: path for path in FIGURES.capacity}
LONGEST_NAME = 1 + int(PARAMETERS["Name"].pattern.rpartition(",")[2].rstrip("}"))
LANE_GB = lane_sizes.LANE_LIMIT / lane_sizes.GIGABYTE

#: A rule that no run sets anew rings in its minute and in each echo, every hour.
RINGS = 24 * (1 + len(ECHOES))


def in_template(name: str) -> int:
    """The number of this property of the template, where it is first."""
    [number, *_] = re.findall(rf"{name}: (\d+)", template_text())
    return int(number)


def in_makefile(name: str) -> int:
    """The count that this target of the Makefile plays."""
    [number] = re.findall(rf"^{name}: .*\n.*--count (\d+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return int(number)


def in_script(name: str, constant: str) -> int:
    """The number of this constant of a script of the page."""
    script = ROOT / "editor" / "duebell_editor" / "http" / "page" / "js" / f"{name}.js"
    [number] = re.findall(rf"const {constant} = (\d+)", script.read_text(encoding="utf-8"))
    return int(number)


def expression(day: int, month: int, hour: int, minute: int, *, at: tuple[int, int, int, int]) -> str:
    """The rule's expression for this minute of 2026, set at that one."""
    due, now = (datetime(2026, m, d, h, n, tzinfo=UTC) for d, m, h, n in ((day, month, hour, minute), at))
    return expression_at(due, now=now)


_RETRY, _ADD, _BY_TRANSACTION, _OF_A_GROUP = (
    [N(PATHS[name].write_units or PATHS[name].read_units)]
    for name in (
        "an attempt that is to be retried",
        "`add`, not the new head",
        "`transaction()` that adds one task, not the new head",
        "`list(prefix=…)`, a group of 20, of 5,000 in the queue",
    )
)
_OF_FAILURES = [", ".join(str(status) for status in sorted(https._LASTS) if status >= 400)]
_DEFAULTS: dict[str, Any] = {name: row.default for name, row in PARAMETERS.items()}
_TIMEOUT = int(_DEFAULTS["Timeout"]) * SECOND

#: The numbers, and their place: the page (of docs, or README), and its words with a place for each number.
PLACES: list[tuple[Any, str]] = [
    ([N(LEASE, MINUTE)], "README: A task that kills its process delays others, by {:w} minutes"),
    (
        [N(2 * MINUTE, MINUTE), N(2 * MINUTE + LEAD, MINUTE)],
        "README: up to {:w} minutes late, {:w} for a task added at the last minute",
    ),
    ([PYTHON], "README: Python {} or newer"),
    ([N(payload.MAX_BYTES / 1024), N(payload.MAX_LEVELS)], "using: up to {} KB and {} levels"),
    ([N(checks.MAX_NAME)], "using: 1 to {} printable characters"),
    ([N(checks.MAX_PRIORITY)], "using: 0 to {}: [which waiting tasks go first]"),
    ([N(fields.MAX_TAGS)], "using: up to {:w} short labels"),
    ([N(failures.MOST_READ)], "using: by action and type of error: the latest {}"),
    ([N(queue_counts.MORNING)], "using: due until the next 0{}:00"),
    ([N(SETTINGS.kept_payload / 1024)], "using: A done task keeps a payload of up to {} KB"),
    ([N(CONCURRENCY)], "actions: Up to {} actions run side by side"),
    (
        [N(BACKOFF.first / 2), N(BACKOFF.first)],
        "actions: after {} to {} seconds, then after twice as long each time, up to an hour",
    ),
    ([N(ATTEMPTS)], "actions: `attempts` ({} by default)"),
    ([N(packed.MAX_FAILURES)], "actions: the last {:w} failed attempts"),
    ([N(worker_record.MOST_BYTES / 1024)], "actions: Schemas are kept up to {} KB in all"),
    (
        [N(limits.MOST_AT_A_TIME), N(limits.LEAST_PER_SECOND), N(limits.MOST_PER_SECOND)],
        "limits: `at_most` is 1 to {}, `per_second` {} to {}",
    ),
    (
        [N(limits._PARKED_FOR, HOUR), N(limits._PARKED_FOR + limits._DAY, HOUR)],
        "limits: put back by {} to {} hours",
    ),
    ([N(LONGEST_WAIT, MINUTE)], "limits: how long attempts took, {:w} minutes at most"),
    ([N(MOST_HELD)], "limits: up to a {:w} tasks of each action that it has put back"),
    ([N(PATHS["an attempt that is to be retried"].write_units)], "limits: {} units, as a retry"),
    ([N(STAYS, MINUTE)], "limits: tasks wait for less than {:w} minutes"),
    ([N(packed.MAX_OCCURRENCES)], "recurring: the last {:w}: due, started, finished"),
    ([N(recurrence.MAX_PENDING)], "recurring: Up to {:w} occurrences can wait for a retry"),
    ([N(recurrence.PUNCTUAL, MINUTE)], "recurring: none that is more than {:w} minutes late"),
    ([N(recurrence._MOST_CAUGHT_UP)], "recurring: At most the last {:w}"),
    ([N(schedule.MAX_EXPRESSION / 1024)], "schedules: longer than {} KB"),
    ([N(PATHS["`move`, later"].write_units)], "priorities: takes {} write units, as a move does"),
    (
        [N(IN_SIGHT), N(MOST_IN_SIGHT), N(MOST_WITH_PRIORITIES)],
        "priorities: A run reads {} tasks before it starts the first. While tasks wait for a place, "
        "it reads up to {}, and up to {} once one has a priority",
    ),
    ([N(LEASE, MINUTE), N(ECHOES[0])], "guarantees: the lease, at most {} min; by the rule + {};"),
    ([N(echo) for echo in ECHOES], "guarantees: rings again {}, {} and {} minutes after its minute"),
    ([N(armer.HOLD)], "guarantees: up to {} seconds after it began"),
    ([N(bell._ACCEPTED_FOR, MINUTE)], "guarantees: AWS accepts a call for {:w} minutes after its signature"),
    ([N(LANE_GB)], "guarantees: DynamoDB allows a lane {} GB"),
    ([N(LANE_GB - 1)], "guarantees: From {} GB on, adds to it are refused"),
    (
        [N(RINGS), N(RINGS + 24), N(3 * (RINGS + 24))],
        "guarantees: it rings {} to {} times a day. With Lambda's retries this makes at most {}",
    ),
    ([N(lanes._LONGEST_REST, HOUR)], "guarantees: {:w} an hour after the trouble ends"),
    ([N(60 - ECHOES[0])], "guarantees: a day from 23:{} on"),
    ([N(arming.HEAD_START - 2 * LEAD)], "how-it-works: The run is there at least {:w} seconds before"),
    ([SENTINEL], "how-it-works: `{}`: a date that never comes again"),
    ([expression(5, 12, 10, 30, at=(5, 12, 10, 5))], "how-it-works: | 5 December 10:05 | 10:30 | `{}`"),
    ([expression(5, 12, 10, 30, at=(1, 12, 0, 0))], "how-it-works: | 1 December | 5 December 10:30 | `{}`"),
    ([expression(30, 4, 23, 58, at=(1, 4, 0, 0))], "how-it-works: | 1 April | 30 April 23:58 | `{}`"),
    ([N(arming.ECHO_SOON, MINUTE)], "how-it-works: at most {:w} minutes after the end of the run's lease"),
    ([N(arming._ECHO, MINUTE)], "how-it-works: A run that comes {:w} minutes or more after the ring"),
    ([N(SETTINGS.retention, DAY)], "how-it-works: the retention time, {} days unless set otherwise"),
    ([N(AT_ONCE)], "how-it-works: `add_many` inserts {} tasks with one call"),
    ([N(settings.MAX_LANES), N(settings.MAX_PARALLEL_RUNS)], "how-it-works: {} lanes held by {} runs"),
    (
        [N(PATHS["a run, besides its tasks"].calls[call]) for call in ("PutItem", "PutRule")],
        "how-it-works: takes {:w} writes of the record and {:w} PutRule",
    ),
    ([N(LEAD)], "how-it-works: less than {} seconds away"),
    ([N(arming.HEAD_START)], "how-it-works: the rule rings {} seconds ahead of a due date"),
    ([N(arming.HEAD_START + LEAD)], "how-it-works: is due in the next {} seconds"),
    ([N(SECOND / WATCH)], "how-it-works: reads the arming record {:w} times a second"),
    ([N(arming._CALL)], "how-it-works: no run has come within {:w} seconds"),
    (
        [N(MEASURING), N(IN_TIME)],
        "how-it-works: After {:w} seconds of work a run knows its speed. If what is due would take "
        "longer than {} seconds",
    ),
    ([N(SETTINGS.parallel_runs)], "how-it-works: `DUEBELL_PARALLEL_RUNS` ({})"),
    (
        [N(lanes.PAUSE), N(lanes._IN_A_ROW), N(lanes._LONGEST_REST, HOUR)],
        "how-it-works: The lane pauses for {:w} seconds. After {:w} failures in a row it rests as "
        "long as its trouble has lasted: a minute at least, {:w} an hour at most",
    ),
    ([N(lanes._UNREADABLE, MINUTE)], "how-it-works: It is passed over for {:w} minutes"),
    ([N(arming.GRACE, MINUTE)], "how-it-works: should have rung {:w} minutes ago"),
    (
        [N(batch._FIRST_PAUSE), N(batch._LONGEST_PAUSE / 60)],
        "intake: after {} seconds, then twice as long each time, {} minutes at most",
    ),
    ([N(batch._PORTION)], "intake: It sets the rule once for each {:w} tasks"),
    ([N(batch._PATIENCE)], "intake: the same, {:w} times in about half an hour"),
    ([N(in_template("BatchSize"))], "intake: takes up to a {:w} messages at a time"),
    ([N(in_template("MaximumConcurrency"))], "intake: At most {:w} batches are in work at a time"),
    ([N(in_template("maxReceiveCount"))], "intake: After a {:w} times, about a day"),
    ([N(round(5 * cost.MONTH / (20 * SECOND), -4))], "intake: about {} a month: Lambda reads"),
    ([N(in_template("MessageRetentionPeriod") / 86_400)], "intake: for {} days, with message attributes"),
    ([N(store.LARGEST_PAGE)], "http: With {} tasks or more in a lane"),
    ([N(access._TOKEN_LENGTH)], "http: token of {} characters or more"),
    ([N(change_many.MAX_MANY)], "http: takes up to {} tasks in a list"),
    (
        [N(http_limits.MAX_BODY / 2**20), N(http_limits.BODY_SECONDS)],
        "http: JSON, {} MB, within {} seconds (408)",
    ),
    ([N(http_limits._MOST)], "http: | connections | {}; more are cut off"),
    ([N(http_limits._HEAD_SECONDS)], "http: | headers of a client | {} seconds;"),
    ([N(history._READ)], "http: reads up to {} tasks in full"),
    ([N(in_script("frame", "COSTLY_EVERY_MS") / 1000)], "http: ended tasks within {} seconds"),
    ([N(in_script("rows", "AT_ONCE"))], "http: A {:w} at a time, with progress"),
    ([N(https._MOST_SHOWN)], "deliveries: first {} characters, without the path"),
    ([N(intake_queue._BATCH_BYTES / 1024)], "deliveries: keeps a batch below {} KiB"),
    ([N(attempts._IN_BATCHES)], "deliveries: up to a {:w} deliveries are under way beside them"),
    ([N(https._ANSWER)], "deliveries: An answer has {} seconds as a whole"),
    ([N(deliverer._KEPT, MINUTE)], "deliveries: A secret is read again after {:w} minutes"),
    ([N(arming._COUNT_HOLDS, MINUTE)], "logs: One run in {:w} minutes writes"),
    (
        [N(in_template("LatenessMilliseconds:\n    Type: Number\n    Default") / 60_000)],
        "operations: (`LatenessMilliseconds`, {:w} minutes unless set)",
    ),
    (
        [N(status._FILLED / lane_sizes.GIGABYTE), N(LANE_GB)],
        "operations: A lane holds {} of the {} GB that DynamoDB allows",
    ),
    ([N(packed.MAX_EVENTS), N(packed.MAX_PACKED_EVENTS)], "operations: the last {}, in {} bytes at most"),
    ([N(packed._WORDS[0])], "operations: with {} characters"),
    ([N(report._MOST_PARTS)], "operations: the run's last {} such attempts"),
    ([N(Exit.WORN_OUT)], "how-to/timeouts: ends with exit status {}"),
    ([N(backfill.MOST_BACKFILLED)], "how-to/backfill: One backfill has at most {} occurrences"),
    ([N(LONGEST_NAME)], "how-to/deploy: has 3 to {} letters, digits and hyphens"),
    ([N(follow_up.MAX_ID)], "how-to/follow-ups: an id is longer than {} characters"),
    ([N(account._SOON, MINUTE)], "how-to/verify: to ring within {:w} minutes, `rule` is skipped"),
    ([N(waits.AHEAD)], "how-to/containers: that was known {:w} seconds before"),
    ([N(store.LARGEST_PAGE)], "how-to/groups: {} with one call"),
    ([N(round(FIGURES.bundle.packed / 1e6, 1))], "bundle: Without actions it has {} MB"),
    ([N(bundle._UNPACKED_LIMIT / 2**20)], "bundle: more than Lambda's {} MB"),
    ([N(waits.AHEAD + LEAD)], "how-to/containers: are due within {} seconds"),
    (
        [N(arming.HEAD_START), N(arming.HEAD_START + waits.AHEAD)],
        "how-to/containers: rings {} seconds ahead, and the process claims lanes {} seconds ahead",
    ),
    ([N(run._LONGEST_STAY, MINUTE)], "how-to/containers: after {:w} minutes at the earliest"),
    (
        [N(round(cost.MONTH / SECOND / 1e6, 1))],
        "how-to/containers: one read a second: {} million units a month",
    ),
    ([N(follow_up.MAX_PAYLOAD / 1024)], "how-to/follow-ups: that of `Then`, {} KB at most"),
    (
        [N(task.STARTS_WITHIN - 3 * MINUTE, MINUTE)],
        "how-to/follow-ups: this lasts for three and a {:w} minutes",
    ),
    ([N(add._CHUNK)], "how-to/many: writes {} tasks at a time"),
    ([N(changes.MOST_WRITES)], "how-to/transactions: A transaction has {} writes at most"),
    (
        [N(out_of_order._SHORTEST), N(out_of_order._LONGEST, MINUTE)],
        "how-to/transactions: looks again after {:w} seconds, then ever less often, up to {:w} a minute",
    ),
    ([N(task_writes.GRACE, MINUTE)], "how-to/transactions: A reservation lasts {} minutes"),
    ([PYTHON], "quickstart: Python {} or newer"),
    ([N(LEASE, MINUTE)], "limits: until its lease ends, {:w} minutes at most"),
    ([N(LEASE, MINUTE)], "how-it-works: Its lease ends at most {:w} minutes later"),
    ([N(LEASE, MINUTE)], "operations: start {:w} minutes after the run began"),
    ([N(LEASE, MINUTE)], "how-to/containers: Its lease ends after {:w} minutes at most"),
    ([N(LEASE, MINUTE)], "how-to/containers: could not read the arming record for {:w} minutes"),
    ([N(packed.MAX_OCCURRENCES)], "coming-from: the last {:w} occurrences on the task"),
    ([N(packed.MAX_OCCURRENCES)], "http: and the last {:w} occurrences"),
    ([N(packed.MAX_OCCURRENCES)], "operations: the last {:w} occurrences"),
    ([N(recurrence.MAX_PENDING)], "recurring: it delays none; {} occurrences can wait so"),
    ([N(recurrence.PUNCTUAL, MINUTE)], "recurring: The {:w} minutes cover ordinary delays"),
    ([N(recurrence.PUNCTUAL, MINUTE)], 'coming-from: `missed="skip"`, {:w} minutes'),
    ([N(checks.MAX_PRIORITY)], "priorities: `priority`, 0 to {}"),
    ([N(CONCURRENCY)], "guarantees: up to {} actions or the worker's concurrency"),
    ([N(CONCURRENCY)], "deliveries: none of the worker's {} places"),
    ([N(CONCURRENCY)], "how-to/timeouts: one of {} or of `Worker(concurrency=…)`"),
    ([N(CONCURRENCY)], "how-to/containers: {} actions at a time, or `Worker(concurrency=64)`"),
    ([N(2 * MINUTE, MINUTE), N(2 * MINUTE + LEAD, MINUTE)], "guarantees: {} min, {} min"),
    ([N(test_expression.HEALS_WITHIN, DAY)], "guarantees: {} days at worst, such as for 30 January if"),
    ([N(test_expression.HEALS_WITHIN, DAY)], "guarantees: as above; {} days at worst"),
    ([N(ECHOES[0])], "how-it-works: the rule rings again {:w} minutes after its minute"),
    ([N(echo) for echo in ECHOES], "how-it-works: {}, {} and {} minutes later, then every hour"),
    ([N(LANE_GB - 1)], "how-it-works: refuses adds to a lane from {} GB on"),
    ([N(LANE_GB)], "how-it-works: DynamoDB lets a lane hold {} GB"),
    ([N(WATCH)], "how-it-works: sees this within a {:w} of a second"),
    ([N(lane_sizes._SAMPLED)], "how-it-works: one of a {:w} adds in batches goes alone"),
    ([N(settings.MAX_LANES)], "scale: {} lanes, most of them empty"),
    ([N(settings.MAX_LANES)], "how-to/lanes: can get more, up to {}:"),
    ([N(failures.MOST_READ)], "http: All groups of the latest {} failures"),
    ([N(queue_counts.MOST_COUNTED)], "using: Each count ends at {}"),
    ([N(IN_SIGHT)], "limits: among the next {:w} tasks of the queue"),
    (_RETRY, "limits: for about {} write units"),
    (_RETRY, "limits: costs {} write units more"),
    ([N(AT_ONCE)], "deliveries: only delivers in batches claims {} tasks"),
    ([N(AT_ONCE)], "security: `add_many` inserts {} tasks with one call"),
    ([N(intake_queue.MOST_ENTRIES)], "deliveries: `SendMessageBatch`, {:w} at a time"),
    (_OF_FAILURES, "deliveries: | {} | the task fails at once |"),
    ([N(payload.MAX_BYTES / 1024)], "deliveries: A payload may have {} KB"),
    ([N(payload.MAX_BYTES / 1024)], "how-to/django: {} KB at most"),
    ([N(payload.MAX_BYTES / 1024), N(payload.MAX_LEVELS)], "security: at most {} KB and {} levels"),
    (
        [N(http_limits._MOST), N(http_limits._HEAD_SECONDS)],
        "security: {} connections that are renewed every {:w} seconds",
    ),
    ([N(change_many.MAX_MANY)], "intake: a list of at most {}"),
    ([N(change_many.MAX_MANY)], "how-to/groups: {} at most, unless a limit is given"),
    ([N(change_many.MAX_MANY)], "how-to/many: `--limit` ({} by default)"),
    ([N(6 * _TIMEOUT, HOUR)], "intake: times the worker's `Timeout`: {:w} an hour"),
    ([N(in_template("MessageRetentionPeriod") / 86_400)], "logs: are kept for {} days"),
    ([N(in_template("MessageRetentionPeriod") / 86_400)], "operations: is kept for {} days"),
    ([N(metrics._MOST_READ)], "logs: tasks in the queue, {} at most"),
    ([N(metrics._MOST_READ)], "logs: whose follow-up is missing; {} at most"),
    ([N(lanes._UNREADABLE, MINUTE)], "operations: It is tried again every {:w} minutes"),
    ([N(lanes._LONGEST_REST, HOUR)], "operations: start within {:w} an hour after it is over"),
    ([N(packed.MAX_FAILURES)], "operations: the last {:w} failures"),
    ([N(packed.MAX_FAILURES)], "how-to/django: the failed attempts, {:w} at most"),
    ([N(dead_letters._MOST)], "operations: {} messages of a queue at most"),
    ([N(items._FIRST_ATTEMPT)], "operations: less up to {} for the next attempt"),
    ([_DEFAULTS["Runtime"].removeprefix("python")], "bundle: builds for {} by default"),
    ([N(in_makefile("soak"))], "evidence: `make soak` plays {} further histories"),
    ([N(promises.HEALED, MINUTE)], "evidence: within {} minutes once faults end"),
    (
        [N(n * LEAD + account._MARGIN) for n in (1, 2)],
        "evidence: for one change made {} to {} seconds before",
    ),
    ([N(n * LEAD + account._MARGIN) for n in (1, 2)], "how-to/verify: at most {} to {} seconds"),
    ([N(cost.MONTH, HOUR)], "how-to/alarms: {} short invocations a month"),
    ([N(batches._AT_ONCE)], "how-to/batches: counts up to {} tasks"),
    ([N(performer._AGAIN)], "how-to/calendars: waits for {:w} seconds"),
    ([N(calendars.MOST_BYTES / 1000)], "how-to/calendars: up to {} KB, all calendars together"),
    ([N(SETTINGS.audit_retention, DAY)], "how-to/changes: An item is kept for {} days"),
    ([N(Exit.WORN_OUT)], "how-to/containers: It is {} if half of its places were lost"),
    ([N(waits.AHEAD)], "how-to/containers: claims the lanes {:w} seconds before"),
    ([N(process.DRAIN)], "how-to/containers: get `--drain-seconds` ({})"),
    ([N(IN_TIME)], "how-to/containers: longer than {} seconds, or if actions"),
    ([N(SETTINGS.parallel_runs)], "how-to/containers: at most `DUEBELL_PARALLEL_RUNS` ({}) processes"),
    ([N(ATTEMPTS)], "how-to/django: tried again with back-off, {} times in all"),
    ([N(SETTINGS.retention, DAY)], "how-to/django: {} days after its end"),
    ([N(SETTINGS.retention, DAY)], "how-to/results: as the task does, {} days by default"),
    ([N(SETTINGS.kept_payload / 1024)], "how-to/django: arguments above {} KB"),
    ([N(task.MAX_RESULT / 1024)], "how-to/django: up to {} KB as JSON"),
    ([N(task.MAX_RESULT / 1024)], "how-to/results: a value of at most {} KB"),
    ([N(task.MAX_RESULT / 1024)], "how-to/results: returns more than {} KB"),
    ([N(task.MAX_RESULT / 1024)], "coming-from: `keep_result=True`, up to {} KB"),
    ([N(listing._OF_A_LANE)], "how-to/groups: with more than {} tasks in a lane"),
    (_OF_A_GROUP, "how-to/groups: takes {} read units"),
    (
        [N(arming.HEAD_START - 2 * LEAD), N(arming.HEAD_START), N(arming.HEAD_START - LEAD)],
        "how-to/precision: {} to {} seconds before a due date, {} on average",
    ),
    ([N(arming.HEAD_START + LEAD)], "how-to/precision: is less than {} seconds away"),
    ([N(simulate._LONGEST, DAY)], "how-to/simulate: {} days are the longest"),
    ([N(task.STARTS_WITHIN - 3 * MINUTE, MINUTE)], "how-to/simulate: three and a {:w} minutes after"),
    (
        [N(CONCURRENCY), _DEFAULTS["MemorySize"], N(_TIMEOUT, MINUTE)],
        "how-to/simulate: | {}, {} MB, {} minutes |",
    ),
    (
        [N(simulate.MOST_TASKS), N(1 / cost.PRICES["read"].dollars)],
        "how-to/simulate: {} at most: a read unit each, so a dollar pays for some {:w} million",
    ),
    ([N(attempts._READ_TASKS)], "how-to/timeouts: are read every {:w} seconds"),
    ([N(attempts._READ_TASKS)], "how-to/timeouts: | {} to 5 seconds |"),
    ([N(RESERVE)], "how-to/timeouts: the Lambda has {} seconds left"),
    ([N(RESERVE / 2)], "how-to/timeouts: The outcome counts for {:w} seconds more"),
    (
        [N(_BY_TRANSACTION[0]._value / 2), *_ADD],
        "how-to/transactions: {0:w} write units for the reservation and {0:w} for the confirmation, "
        "where `add` costs {1:w}",
    ),
    ([N(round(max(one.megabytes for one in FIGURES.priorities)))], "priorities: takes {} MB of memory"),
]


@pytest.mark.parametrize(("numbers", "place"), PLACES, ids=[place[:40] for _, place in PLACES])
def test_the_page_says_what_the_code_has(numbers: list[Any], place: str) -> None:
    page, words = place.split(": ", 1)
    file = ROOT / ("README.md" if page == "README" else f"docs/{page}.md")
    said = " ".join(file.read_text(encoding="utf-8").split())
    assert words.format(*numbers) in said
