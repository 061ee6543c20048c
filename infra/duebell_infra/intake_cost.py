"""The cost of adding tasks by the intake queue: requests to SQS, and invocations that take messages. Pure.

Not in it: what the adds themselves take of DynamoDB, which is in `cost` however tasks are added; and
SnapStart, with which a start costs more.
"""

import math
from datetime import timedelta

import msgspec

from .cost import KEPT_WARM, MONTH, Measured, billed_seconds, lambda_dollars, log_dollars
from .prices import PRICES

__all__ = ["Arriving", "IntakeCost", "intake_cost"]

#: A request with more than so many KB of messages is several, says the page of its price.
_REQUEST_KB = 64

#: Messages that one request receives or deletes, and those of one invocation: BatchSize of the template.
_A_REQUEST, _AN_INVOCATION = 10, 100

#: Lambda reads a queue that is quiet with five readers, as the mapping has a maximum concurrency.
#: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
_READERS = 5

#: Assumed: each of their requests waits for messages for as long as SQS allows.
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html
_LONGEST_WAIT = timedelta(seconds=20)

#: Measured: the processor time of importing the intake and the editor, besides what a run imports.
_IMPORT_MS = 16.0

#: Bytes of the line that is logged for each batch of messages; Lambda writes others.
_LINE_BYTES, _INVOCATION_BYTES = 170, 300

#: Calls to DynamoDB of a batch: the arming record is read, the tasks are inserted, 25 with a call.
_INSERTS = 25


class Arriving(msgspec.Struct, frozen=True, kw_only=True):
    """The messages that arrive, each of which adds one task.

    messages   how many
    at_a_time  how many of them arrive within a second
    every      the time from one such second to the next
    size_kb    the size of a message
    memory_mb  the worker's memory
    """

    messages: float
    at_a_time: float
    every: timedelta
    size_kb: float = 1.0
    memory_mb: int = 512


class IntakeCost(msgspec.Struct, frozen=True, kw_only=True):
    """A cost in dollars: of requests to SQS, those that find no message included; of Lambda; of the log."""

    requests: float
    function: float
    log: float


def intake_cost(arriving: Arriving, of: Measured, *, lasts: timedelta = MONTH) -> IntakeCost:
    """The cost of an intake queue that lasts so long, in which these messages arrive."""
    invocations = arriving.messages / min(arriving.at_a_time, _AN_INVOCATION) / 1e6
    return IntakeCost(
        requests=_requests(arriving, lasts) / 1e6 * PRICES["request"].dollars,
        function=invocations * (_batch_dollars(arriving, of) + PRICES["invocation"].dollars),
        log=log_dollars(invocations * 1e6 * (_LINE_BYTES + _INVOCATION_BYTES)),
    )


def _requests(arriving: Arriving, lasts: timedelta) -> float:
    """One for each message that is sent; those that receive and delete; those that find nothing."""
    together = min(arriving.at_a_time, _A_REQUEST)
    sent = arriving.messages * math.ceil(max(arriving.size_kb, 1) / _REQUEST_KB)
    received = arriving.messages / together * math.ceil(max(arriving.size_kb * together, 1) / _REQUEST_KB)
    deleted = arriving.messages / together
    return sent + received + deleted + _READERS * (lasts / _LONGEST_WAIT)


def _batch_dollars(arriving: Arriving, of: Measured) -> float:
    """Dollars for a million batches, each of which takes the processor as long as a run of as many tasks."""
    messages = min(arriving.at_a_time, _AN_INVOCATION)
    processor_ms = of.one_ms - of.start_ms + (messages - 1) * of.task_ms
    is_cold = arriving.every > KEPT_WARM
    calls = 1 + math.ceil(messages / _INSERTS)
    if not is_cold:
        seconds = billed_seconds(arriving.memory_mb, processor_ms, services=0, calls=calls)
        return lambda_dollars(seconds, arriving.memory_mb)
    processor_ms += of.start_ms + _IMPORT_MS
    return lambda_dollars(billed_seconds(arriving.memory_mb, processor_ms, calls=calls), arriving.memory_mb)
