"""The cost of tasks on AWS: the prices and measurements that `duebell cost` and `simulate` compute from.

`cost_units.json`, which `make bench` writes, has the units of each step, the bytes of the log and the
processor times. Not counted: storage and backups. Nothing here calls AWS.
"""

from datetime import timedelta
from pathlib import Path

import msgspec

from duebell_shared.bell.arming import HEAD_START
from duebell_shared.settings import Precision


class Price(msgspec.Struct, frozen=True):
    """Dollars for something in us-east-1, without free tiers, taxes and discounts; the source and its date.

    Prices change: AWS's own lists have the last word.
    """

    dollars: float
    of: str
    source: str
    dated: str


#: The prices by their names.
PRICES = msgspec.json.decode(Path(__file__).with_name("cost_prices.json").read_bytes(), type=dict[str, Price])

MONTH = timedelta(days=30)

UNITS_FILE = Path(__file__).with_name("cost_units.json")

#: A Lambda with so much memory has one processor; with half the memory, half of one.
#: https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
_MB_OF_A_PROCESSOR = 1_769

#: Assumed: the time that a call to DynamoDB or EventBridge takes, besides processor time.
CALL_SECONDS = 0.005

#: Measured: the processor time of reading the certificates for one service, before its first call.
_CERTIFICATES_SECONDS = 0.015
_SERVICES = 2

#: Assumed: Lambda keeps a process for so long after an invocation. AWS gives no figure.
KEPT_WARM = timedelta(minutes=5)

#: Assumed: bytes of the lines that Lambda itself writes to the log for each invocation.
INVOCATION_BYTES = 300

#: With precision "second", the average wait of a run for a due date, if no other due date is near. It is the
#: head start, less half a minute for rounding up to a whole minute, and half a minute because the rule rings
#: at any second of its minute.
_WAIT = HEAD_START - timedelta(minutes=1)

#: If tasks come due at least this often, a run with precision "second" never ends its wait.
_ALWAYS = timedelta(minutes=3)

#: The rule rings once a minute at most.
_MINUTE = timedelta(minutes=1)


class Units(msgspec.Struct, frozen=True, kw_only=True):
    """DynamoDB's request units of a step, with an item below 1 KB, and the calls to AWS that it takes."""

    write: float
    read: float
    calls: float = 0.0

    @property
    def dollars(self) -> float:
        """Dollars for a million such steps."""
        return PRICES["write"].dollars * self.write + PRICES["read"].dollars * self.read


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """An hour of waiting to the second: runs at a time, their invocations, reads and writes."""

    runs: float
    invocations: float
    reads: float
    writes: float

    def dollars(self, memory_mb: int) -> tuple[float, float]:
        """Dollars for a million hours: of Lambda, and of DynamoDB."""
        invocations = self.invocations * PRICES["invocation"].dollars
        function = self.runs * lambda_dollars(3600, memory_mb) + invocations
        return function, Units(write=self.writes, read=self.reads).dollars


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The measurements of this version.

    add         the units of an add
    done        the units of a claim and an outcome
    occurrence  the units of a claim and an outcome of an occurrence
    run         the units of a run, without its tasks
    run_bytes   bytes of a run in the log, without its tasks; metrics included
    task_bytes  bytes of each task in the log
    start_ms    processor time of a cold start
    one_ms      processor time of a cold start with a run of one task
    task_ms     processor time of a further task
    waiting     an hour of waiting with precision "second"
    """

    add: Units
    done: Units
    occurrence: Units
    run: Units
    run_bytes: float
    task_bytes: float
    start_ms: float
    one_ms: float
    task_ms: float
    waiting: Waiting


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks to run, and the worker's settings.

    tasks       how many tasks or occurrences
    at_a_time   how many of them are due at a time
    every       the time from one such time to the next
    recurs      whether they are occurrences, which are not added
    precision   the worker's setting
    memory_mb   the worker's memory
    """

    tasks: float
    at_a_time: float
    every: timedelta
    recurs: bool = False
    precision: Precision = Precision.MINUTE
    memory_mb: int = 512

    @property
    def runs(self) -> float:
        """The number of runs; tasks that are due in one minute are run together."""
        at_a_time = self.at_a_time * max(_MINUTE / self.every, 1.0)
        return self.tasks / at_a_time

    @property
    def is_cold(self) -> bool:
        """True if Lambda has ended the process before the next tasks are due."""
        return self.every > KEPT_WARM


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """A cost in dollars, by service."""

    dynamodb: float
    function: float
    log: float
    others: float = 0.0

    @property
    def dollars(self) -> float:
        """The sum."""
        return self.dynamodb + self.function + self.log + self.others


def measured() -> Measured:
    """The measurements that came with this version."""
    return msgspec.json.decode(UNITS_FILE.read_bytes(), type=Measured)


def cost(usage: Usage, of: Measured) -> Cost:
    """The cost of the tasks, and of the runs that run them."""
    tasks, runs = usage.tasks / 1e6, usage.runs / 1e6
    life = of.occurrence.dollars if usage.recurs else of.add.dollars + of.done.dollars
    waiting_hours, run_dynamodb, run_function = 0.0, of.run.dollars, _run_dollars(usage, of)
    if usage.precision is Precision.SECOND:
        always = usage.every <= _ALWAYS
        waiting_hours = (max(usage.every, _MINUTE) if always else _WAIT) / timedelta(hours=1)
        if always:  # one run goes on waiting, instead of a run for each time
            run_dynamodb = run_function = 0.0
    wait_function, wait_dynamodb = (waiting_hours * each for each in of.waiting.dollars(usage.memory_mb))
    of_tasks = lambda_dollars(_scaled(of.task_ms / 1000, usage.memory_mb), usage.memory_mb)
    return Cost(
        dynamodb=tasks * life + runs * (run_dynamodb + wait_dynamodb),
        function=tasks * of_tasks + runs * (run_function + wait_function),
        log=log_dollars(usage.tasks * of.task_bytes + usage.runs * (of.run_bytes + INVOCATION_BYTES)),
    )


def billed_seconds(
    memory_mb: int, processor_ms: float, *, services: int = _SERVICES, calls: float = 0.0
) -> float:
    """The time that is billed for so much processor time at this memory, computed and not measured on AWS.

    services  the number of services to which it connects for the first time, with encryption
    calls     how many calls it waits for
    """
    processor = processor_ms / 1000 + services * _CERTIFICATES_SECONDS
    return _scaled(processor, memory_mb) + calls * CALL_SECONDS


def lambda_dollars(seconds: float, memory_mb: int) -> float:
    """Dollars for a million invocations of so many seconds, of a function with this memory."""
    return PRICES["gb_second"].dollars * memory_mb / 1024 * seconds


def _run_dollars(usage: Usage, of: Measured) -> float:
    """Dollars for a million invocations, each with one run and its first task."""
    processor_ms = of.one_ms if usage.is_cold else of.one_ms - of.start_ms
    services = _SERVICES if usage.is_cold else 0
    calls = of.run.calls + of.done.calls
    seconds = billed_seconds(usage.memory_mb, processor_ms, services=services, calls=calls)
    return lambda_dollars(seconds, usage.memory_mb) + PRICES["invocation"].dollars


def _scaled(processor_seconds: float, memory_mb: int) -> float:
    return processor_seconds * max(_MB_OF_A_PROCESSOR / memory_mb, 1.0)


def log_dollars(log_bytes: float) -> float:
    """Dollars for so many bytes of log."""
    return PRICES["log"].dollars * log_bytes / 1e9


def run_cost(
    *,
    added: int,
    tasks: int,
    occurrences: int,
    runs: int,
    seconds: float,
    waits: bool,
    memory_mb: int,
    of: Measured,
) -> Cost:
    """The cost of runs that take so many seconds in all, with their actions.

    added, tasks, occurrences  tasks that are added, tasks and occurrences that are run
    waits                      whether the runs wait to the second, and read meanwhile
    """
    every = tasks + occurrences
    dynamodb = added * of.add.dollars + tasks * of.done.dollars + occurrences * of.occurrence.dollars
    dynamodb += runs * of.run.dollars + (waits * seconds / 3600 * of.waiting.dollars(memory_mb)[1])
    busy = seconds + runs * billed_seconds(memory_mb, of.start_ms, calls=of.run.calls)
    busy += _scaled(every * of.task_ms / 1000, memory_mb)
    return Cost(
        dynamodb=dynamodb / 1e6,
        function=(lambda_dollars(busy, memory_mb) + runs * PRICES["invocation"].dollars) / 1e6,
        log=log_dollars(every * of.task_bytes + runs * (of.run_bytes + INVOCATION_BYTES)),
    )
