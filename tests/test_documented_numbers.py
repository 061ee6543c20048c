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
from duebell_shared.aws import sqs
from duebell_shared.bell import armer, arming, bell, run_rules
from duebell_shared.bell.expression import ECHOES, LEAD, SENTINEL, expression_at
from duebell_shared.limits import limits
from duebell_shared.payloads import payload
from duebell_shared.queue import changes, items, lane_sizes, store
from duebell_shared.queue.store import AT_ONCE
from duebell_shared.schedules import calendars, schedule
from duebell_shared.tasks import checks, fields, follow_up, recurrence, task, worker_record
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


RETRIED, MOVED, ADD, BY_TRANSACTION = (
    PATHS[name].write_units
    for name in (
        "an attempt that is to be retried",
        "`move`, later",
        "`add`, not the new head",
        "`transaction()` that adds one task, not the new head",
    )
)
RUN = PATHS["a run, besides its tasks"]
OF_A_GROUP = PATHS["`list(prefix=…)`, a group of 20, of 5,000 in the queue"].read_units
MEGABYTES = round(max(one.megabytes for one in FIGURES.priorities))
FAILURES = ", ".join(str(status) for status in sorted(https._PERMANENT) if status >= 400)
LATE_MS = in_template("LatenessMilliseconds:\n    Type: Number\n    Default")
_DEFAULTS: dict[str, Any] = {name: row.default for name, row in PARAMETERS.items()}
_TIMEOUT = int(_DEFAULTS["Timeout"]) * SECOND

#: The page (of docs, or README), and its words with the numbers of the code.
PLACES = [
    f"README: A task that kills its process delays others, by {N(run_rules.LEASE, MINUTE):w} minutes",
    f"README: up to {N(2 * MINUTE, MINUTE):w} minutes late, {N(2 * MINUTE + LEAD, MINUTE):w} for a task "
    "that is added less than a minute before",
    f"README: Python {PYTHON} or newer",
    f"using: up to {N(payload.MAX_BYTES / 1024)} KB and {N(payload.MAX_LEVELS)} levels",
    f"using: 1 to {N(checks.MAX_NAME)} printable characters",
    f"using: 0 to {N(checks.MAX_PRIORITY)}: [which waiting tasks go first]",
    f"using: up to {N(fields.MAX_TAGS):w} short labels",
    f"using: by action and type of error: the latest {N(failures.MOST_READ)}",
    f"using: due until the next 0{N(queue_counts.MORNING)}:00",
    f"using: A done task keeps a payload of up to {N(SETTINGS.kept_payload / 1024)} KB",
    f"actions: Up to {N(CONCURRENCY)} actions run side by side",
    f"actions: after {N(BACKOFF.first / 2)} to {N(BACKOFF.first)} seconds, then after twice as long each "
    "time, up to an hour",
    f"actions: `attempts` ({N(ATTEMPTS)} by default)",
    f"actions: the last {N(packed.MAX_FAILURES):w} failed attempts",
    f"actions: Schemas are kept up to {N(worker_record.MOST_BYTES / 1024)} KB in all",
    f"limits: `at_most` is 1 to {N(limits.MOST_AT_A_TIME)}, `per_second` {N(limits.LEAST_PER_SECOND)} to "
    f"{N(limits.MOST_PER_SECOND)}",
    f"limits: put back by {N(limits._PARKED_FOR, HOUR)} to {N(limits._PARKED_FOR + limits._DAY, HOUR)} hours",
    f"limits: how long attempts took, {N(run_rules.LONGEST_WAIT, MINUTE):w} minutes at most",
    f"limits: up to a {N(run_rules.MOST_HELD):w} tasks of each action that it has put back",
    f"limits: {N(RETRIED)} units, as a retry",
    f"limits: tasks wait for less than {N(run_rules.STAYS, MINUTE):w} minutes",
    f"recurring: the last {N(packed.MAX_OCCURRENCES):w}: due, started, finished",
    f"recurring: Up to {N(recurrence.MAX_PENDING):w} occurrences can wait for a retry",
    f"recurring: none that is more than {N(recurrence.PUNCTUAL, MINUTE):w} minutes late",
    f"recurring: At most the last {N(recurrence._MOST_CAUGHT_UP):w}",
    f"schedules: longer than {N(schedule.MAX_EXPRESSION / 1024)} KB",
    f"priorities: takes {N(MOVED)} write units, as a move does",
    f"priorities: A run reads {N(run_rules.IN_SIGHT)} tasks before it starts the first. While tasks wait "
    f"for a place, it reads up to {N(run_rules.MOST_IN_SIGHT)}, and up to "
    f"{N(run_rules.MOST_WITH_PRIORITIES)} once one has a priority",
    f"guarantees: {N(run_rules.LEASE, MINUTE)} min (the lease); by the rule {N(ECHOES[0])} min more;",
    f"guarantees: rings again {N(ECHOES[0])}, {N(ECHOES[1])} and {N(ECHOES[2])} minutes after its minute",
    f"guarantees: up to {N(armer.HOLD)} seconds after it began",
    f"guarantees: AWS accepts a call for {N(bell._ACCEPTED_FOR, MINUTE):w} minutes after its signature",
    f"guarantees: DynamoDB allows a lane {N(LANE_GB)} GB",
    f"guarantees: From {N(LANE_GB - 1)} GB on, adds to it are refused",
    f"guarantees: it rings {N(RINGS)} to {N(RINGS + 24)} times a day. With Lambda's retries this makes at "
    f"most {N(3 * (RINGS + 24))}",
    f"guarantees: {N(lanes._LONGEST_REST, HOUR):w} an hour after the trouble ends",
    f"guarantees: a day from 23:{N(60 - ECHOES[0])} on",
    f"how-it-works: The run is there at least {N(arming.HEAD_START - 2 * LEAD):w} seconds before",
    f"how-it-works: `{SENTINEL}`: a date that never comes again",
    f"how-it-works: | 5 December 10:05 | 10:30 | `{expression(5, 12, 10, 30, at=(5, 12, 10, 5))}`",
    f"how-it-works: | 1 December | 5 December 10:30 | `{expression(5, 12, 10, 30, at=(1, 12, 0, 0))}`",
    f"how-it-works: | 1 April | 30 April 23:58 | `{expression(30, 4, 23, 58, at=(1, 4, 0, 0))}`",
    f"how-it-works: at most {N(arming.ECHO_SOON, MINUTE):w} minutes after the end of the run's lease",
    f"how-it-works: A run that comes {N(arming._ECHO, MINUTE):w} minutes or more after the rule's minute",
    f"how-it-works: the retention time, {N(SETTINGS.retention, DAY)} days unless set otherwise",
    f"how-it-works: `add_many` inserts {N(AT_ONCE)} tasks with one call",
    f"how-it-works: {N(settings.MAX_LANES)} lanes held by {N(settings.MAX_PARALLEL_RUNS)} runs",
    f"how-it-works: takes {N(RUN.calls['PutItem']):w} writes of the record and "
    f"{N(RUN.calls['PutRule']):w} PutRule",
    f"how-it-works: less than {N(LEAD)} seconds away",
    f"how-it-works: the rule rings {N(arming.HEAD_START)} seconds ahead of a due date",
    f"how-it-works: is due in the next {N(arming.HEAD_START + LEAD)} seconds",
    f"how-it-works: reads the arming record {N(SECOND / run_rules.WATCH):w} times a second",
    f"how-it-works: no run has come within {N(arming._CALL):w} seconds",
    f"how-it-works: After {N(run_rules.MEASURING):w} seconds of work a run knows its speed. If what is "
    f"due would take longer than {N(run_rules.IN_TIME)} seconds",
    f"how-it-works: `DUEBELL_PARALLEL_RUNS` ({N(SETTINGS.parallel_runs)})",
    f"how-it-works: The lane pauses for {N(lanes.PAUSE):w} seconds. After {N(lanes._IN_A_ROW):w} failures "
    "in a row it rests as long as its trouble has lasted: a minute at least, "
    f"{N(lanes._LONGEST_REST, HOUR):w} an hour at most",
    f"how-it-works: It is passed over for {N(lanes._UNREADABLE, MINUTE):w} minutes",
    f"how-it-works: should have rung {N(arming.GRACE, MINUTE):w} minutes ago",
    f"intake: after {N(batch._FIRST_PAUSE)} seconds, then twice as long each time, "
    f"{N(batch._LONGEST_PAUSE / 60)} minutes at most",
    f"intake: It sets the rule once for each {N(batch._PORTION):w} tasks",
    f"intake: the same, {N(batch._PATIENCE):w} times in about half an hour",
    f"intake: takes up to a {N(in_template('BatchSize')):w} messages at a time",
    f"intake: The worker handles at most {N(in_template('MaximumConcurrency')):w} batches at a time",
    f"intake: After a {N(in_template('maxReceiveCount')):w} times, about a day",
    f"intake: about {N(round(5 * cost.MONTH / (20 * SECOND), -4))} a month: Lambda reads",
    f"intake: for {N(in_template('MessageRetentionPeriod') / 86_400)} days, with message attributes",
    f"http: With {N(store.LARGEST_PAGE)} tasks or more in a lane",
    f"http: token of {N(access._TOKEN_LENGTH)} characters or more",
    f"http: takes up to {N(change_many.MAX_MANY)} tasks in a list",
    f"http: JSON, {N(http_limits.MAX_BODY / 2**20)} MB, within {N(http_limits.BODY_SECONDS)} seconds (408)",
    f"http: | connections | {N(http_limits._MOST)}; more are cut off",
    f"http: | headers of a client | {N(http_limits._HEAD_SECONDS)} seconds;",
    f"http: reads up to {N(history._READ)} tasks in full",
    f"http: ended tasks within {N(in_script('frame', 'COSTLY_EVERY_MS') / 1000)} seconds",
    f"http: A {N(in_script('rows', 'AT_ONCE')):w} at a time, with progress",
    f"deliveries: first {N(https._MOST_SHOWN)} characters, without the path",
    f"deliveries: keeps a batch below {N(sqs._BATCH_BYTES / 1024)} KiB",
    f"deliveries: up to a {N(attempts._IN_BATCHES):w} deliveries are under way beside them",
    f"deliveries: Your endpoint has {N(https._ANSWER)} seconds for the whole answer",
    f"deliveries: A secret is read again after {N(deliverer._KEPT, MINUTE):w} minutes",
    f"logs: One run in {N(arming._COUNT_HOLDS, MINUTE):w} minutes writes",
    f"operations: (`LatenessMilliseconds`, {N(LATE_MS / 60_000):w} minutes unless set)",
    f"operations: A lane holds {N(status._FILLED / lane_sizes.GIGABYTE)} of the {N(LANE_GB)} GB that "
    "DynamoDB allows",
    f"operations: the last {N(packed.MAX_EVENTS)}, in {N(packed.MAX_PACKED_EVENTS)} bytes at most",
    f"operations: with {N(packed._ERROR_LENGTHS[0])} characters",
    f"operations: the run's last {N(report._MOST_PARTS)} such attempts",
    f"how-to/timeouts: ends with exit status {N(Exit.WORN_OUT)}",
    f"how-to/backfill: One backfill has at most {N(backfill.MOST_BACKFILLED)} occurrences",
    f"how-to/deploy: has 3 to {N(LONGEST_NAME)} letters, digits and hyphens",
    f"how-to/follow-ups: an id is longer than {N(follow_up.MAX_ID)} characters",
    f"how-to/verify: to ring within {N(account._SOON, MINUTE):w} minutes, `rule` is skipped",
    f"how-to/containers: that was known {N(waits.AHEAD):w} seconds before",
    f"how-to/groups: {N(store.LARGEST_PAGE)} with one call",
    f"bundle: Without actions it has {N(round(FIGURES.bundle.packed / 1e6, 1))} MB",
    f"bundle: more than Lambda's {N(bundle._UNPACKED_LIMIT / 2**20)} MB",
    f"how-to/containers: are due within {N(waits.AHEAD + LEAD)} seconds",
    f"how-to/containers: rings {N(arming.HEAD_START)} seconds ahead, and the process claims lanes "
    f"{N(arming.HEAD_START + waits.AHEAD)} seconds ahead",
    f"how-to/containers: after {N(run._LONGEST_STAY, MINUTE):w} minutes at the earliest",
    f"how-to/containers: one read a second: {N(round(cost.MONTH / SECOND / 1e6, 1))} million units a month",
    f"how-to/follow-ups: that of `Then`, {N(follow_up.MAX_PAYLOAD / 1024)} KB at most",
    f"how-to/follow-ups: this lasts for three and a {N(task.STARTS_WITHIN - 3 * MINUTE, MINUTE):w} minutes",
    f"how-to/many: writes {N(add._CHUNK)} tasks at a time",
    f"how-to/transactions: A transaction has {N(changes.MOST_WRITES)} writes at most",
    f"how-to/transactions: looks again after {N(out_of_order._SHORTEST):w} seconds, then ever less often, "
    f"up to {N(out_of_order._LONGEST, MINUTE):w} a minute",
    f"how-to/transactions: A reservation lasts {N(task_writes.GRACE, MINUTE)} minutes",
    f"quickstart: Python {PYTHON} or newer",
    f"limits: until its lease ends, {N(run_rules.LEASE, MINUTE):w} minutes at most",
    f"how-it-works: Its lease ends at most {N(run_rules.LEASE, MINUTE):w} minutes later",
    f"operations: start {N(run_rules.LEASE, MINUTE):w} minutes after the run began",
    f"how-to/containers: Its lease ends after {N(run_rules.LEASE, MINUTE):w} minutes at most",
    f"how-to/containers: could not read the arming record for {N(run_rules.LEASE, MINUTE):w} minutes",
    f"coming-from: the last {N(packed.MAX_OCCURRENCES):w} occurrences on the task",
    f"http: and the last {N(packed.MAX_OCCURRENCES):w} occurrences",
    f"operations: the last {N(packed.MAX_OCCURRENCES):w} occurrences",
    f"recurring: At most {N(recurrence.MAX_PENDING)} moved or failed occurrences can wait",
    f"recurring: The {N(recurrence.PUNCTUAL, MINUTE):w} minutes cover ordinary delays",
    f'coming-from: `missed="skip"`, {N(recurrence.PUNCTUAL, MINUTE):w} minutes',
    f"priorities: `priority`, 0 to {N(checks.MAX_PRIORITY)}",
    f"guarantees: up to {N(CONCURRENCY)} actions or the worker's concurrency",
    f"deliveries: none of the worker's {N(CONCURRENCY)} places",
    f"how-to/timeouts: one of {N(CONCURRENCY)} or of `Worker(concurrency=…)`",
    f"how-to/containers: {N(CONCURRENCY)} actions at a time, or `Worker(concurrency=64)`",
    f"guarantees: {N(2 * MINUTE, MINUTE)} min, {N(2 * MINUTE + LEAD, MINUTE)} min",
    f"guarantees: {N(test_expression.HEALS_WITHIN, DAY)} days at worst, such as for 30 January if",
    f"guarantees: as above; {N(test_expression.HEALS_WITHIN, DAY)} days at worst",
    f"how-it-works: the rule rings again {N(ECHOES[0]):w} minutes after its minute",
    f"how-it-works: {N(ECHOES[0])}, {N(ECHOES[1])} and {N(ECHOES[2])} minutes later, then every hour",
    f"how-it-works: refuses adds to a lane from {N(LANE_GB - 1)} GB on",
    f"how-it-works: DynamoDB lets a lane hold {N(LANE_GB)} GB",
    f"how-it-works: sees this within a {N(run_rules.WATCH):w} of a second",
    f"how-it-works: one of a {N(lane_sizes._SAMPLED):w} adds in batches goes alone",
    f"scale: {N(settings.MAX_LANES)} lanes, most of them empty",
    f"how-to/lanes: can get more, up to {N(settings.MAX_LANES)}:",
    f"http: All groups of the latest {N(failures.MOST_READ)} failures",
    f"using: Each count ends at {N(queue_counts.MOST_COUNTED)}",
    f"limits: among the next {N(run_rules.IN_SIGHT):w} tasks of the queue",
    f"limits: for about {N(RETRIED)} write units",
    f"limits: costs {N(RETRIED)} write units more",
    f"deliveries: only delivers in batches claims {N(AT_ONCE)} tasks",
    f"security: `add_many` inserts {N(AT_ONCE)} tasks with one call",
    f"deliveries: `SendMessageBatch`, {N(sqs.MOST_ENTRIES):w} at a time",
    f"deliveries: | {FAILURES} | the task fails at once |",
    f"deliveries: A payload may have {N(payload.MAX_BYTES / 1024)} KB",
    f"how-to/django: {N(payload.MAX_BYTES / 1024)} KB at most",
    f"security: at most {N(payload.MAX_BYTES / 1024)} KB and {N(payload.MAX_LEVELS)} levels",
    f"security: {N(http_limits._MOST)} connections that are renewed every "
    f"{N(http_limits._HEAD_SECONDS):w} seconds",
    f"intake: a list of at most {N(change_many.MAX_MANY)}",
    f"how-to/groups: {N(change_many.MAX_MANY)} at most, unless a limit is given",
    f"how-to/many: `--limit` ({N(change_many.MAX_MANY)} by default)",
    f"intake: times the worker's `Timeout`: {N(6 * _TIMEOUT, HOUR):w} an hour",
    f"logs: are kept for {N(in_template('MessageRetentionPeriod') / 86_400)} days",
    f"operations: is kept for {N(in_template('MessageRetentionPeriod') / 86_400)} days",
    f"logs: tasks in the queue, {N(metrics._MOST_READ)} at most",
    f"logs: whose follow-up is missing; {N(metrics._MOST_READ)} at most",
    f"reference: It is tried again every {N(lanes._UNREADABLE, MINUTE):w} minutes",
    f"operations: start within {N(lanes._LONGEST_REST, HOUR):w} an hour after it is over",
    f"operations: the last {N(packed.MAX_FAILURES):w} failures",
    f"how-to/django: the failed attempts, {N(packed.MAX_FAILURES):w} at most",
    f"operations: {N(dead_letters._MOST)} messages of a queue at most",
    f"operations: less up to {N(items._FIRST_ATTEMPT)} for the next attempt",
    f"bundle: builds for {_DEFAULTS['Runtime'].removeprefix('python')} by default",
    f"evidence: `make soak` plays {N(in_makefile('soak'))} further histories",
    f"evidence: within {N(promises.HEALED, MINUTE)} minutes once faults end",
    f"evidence: for one change made {N(LEAD + account._MARGIN)} to {N(2 * LEAD + account._MARGIN)} "
    "seconds before",
    f"how-to/verify: at most {N(LEAD + account._MARGIN)} to {N(2 * LEAD + account._MARGIN)} seconds",
    f"how-to/alarms: {N(cost.MONTH, HOUR)} short invocations a month",
    f"how-to/batches: counts up to {N(batches._AT_ONCE)} tasks",
    f"how-to/calendars: waits for {N(performer._AGAIN):w} seconds",
    f"how-to/calendars: up to {N(calendars.MOST_BYTES / 1000)} KB, all calendars together",
    f"how-to/changes: An item is kept for {N(SETTINGS.audit_retention, DAY)} days",
    f"how-to/containers: It is {N(Exit.WORN_OUT)} if half of its places were lost",
    f"how-to/containers: claims the lanes {N(waits.AHEAD):w} seconds before",
    f"how-to/containers: get `--drain-seconds` ({N(process.DRAIN)})",
    f"how-to/containers: longer than {N(run_rules.IN_TIME)} seconds, or if actions",
    f"how-to/containers: at most `DUEBELL_PARALLEL_RUNS` ({N(SETTINGS.parallel_runs)}) processes",
    f"how-to/django: tried again with back-off, {N(ATTEMPTS)} times in all",
    f"how-to/django: {N(SETTINGS.retention, DAY)} days after its end",
    f"how-to/results: as the task does, {N(SETTINGS.retention, DAY)} days by default",
    f"how-to/django: arguments above {N(SETTINGS.kept_payload / 1024)} KB",
    f"how-to/django: up to {N(task.MAX_RESULT / 1024)} KB as JSON",
    f"how-to/results: a value of at most {N(task.MAX_RESULT / 1024)} KB",
    f"how-to/results: returns more than {N(task.MAX_RESULT / 1024)} KB",
    f"coming-from: `keep_result=True`, up to {N(task.MAX_RESULT / 1024)} KB",
    f"how-to/groups: with more than {N(listing._OF_A_LANE)} tasks in a lane",
    f"how-to/groups: takes {N(OF_A_GROUP)} read units",
    f"how-to/precision: {N(arming.HEAD_START - 2 * LEAD)} to {N(arming.HEAD_START)} seconds before a due "
    f"date, {N(arming.HEAD_START - LEAD)} on average",
    f"how-to/precision: is less than {N(arming.HEAD_START + LEAD)} seconds away",
    f"how-to/simulate: {N(simulate._LONGEST, DAY)} days are the longest",
    f"how-to/simulate: three and a {N(task.STARTS_WITHIN - 3 * MINUTE, MINUTE):w} minutes after",
    f"how-to/simulate: | {N(CONCURRENCY)}, {_DEFAULTS['MemorySize']} MB, {N(_TIMEOUT, MINUTE)} minutes |",
    f"how-to/simulate: {N(simulate.MOST_TASKS)} at most: a read unit each, so a dollar pays for some "
    f"{N(1 / cost.PRICES['read'].dollars):w} million",
    f"how-to/timeouts: are read every {N(attempts._READ_TASKS):w} seconds",
    f"how-to/timeouts: | {N(attempts._READ_TASKS)} to 5 seconds |",
    f"how-to/timeouts: the Lambda has {N(run_rules.RESERVE)} seconds left",
    f"how-to/timeouts: The outcome counts for {N(run_rules.RESERVE / 2):w} seconds more",
    f"how-to/transactions: {N(BY_TRANSACTION / 2):w} write units for the reservation and "
    f"{N(BY_TRANSACTION / 2):w} for the confirmation, where `add` costs {N(ADD):w}",
    f"priorities: takes {N(MEGABYTES)} MB of memory",
]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place[:40])
def test_the_page_says_what_the_code_has(place: str) -> None:
    page, words = place.split(": ", 1)
    file = ROOT / ("README.md" if page == "README" else f"docs/{page}.md")
    assert words in " ".join(file.read_text(encoding="utf-8").split())
