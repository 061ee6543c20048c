"""The behaviour of AWS that decides outcomes: published figures, each with its source, and assumptions.

Everything that the simulation draws at random is drawn from here.
"""

from collections.abc import Callable
from datetime import timedelta
from random import Random

import msgspec

__all__ = ["ASSUMED", "MEASURED_TTL", "OLDEST_RECORD", "PROMISED_TTL", "PUBLISHED", "Figure", "Manners"]

_HOUR = 3600.0


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the simulation takes as given, and who says so."""

    of: str
    value: str
    source: str


PUBLISHED = (
    Figure(
        of="DynamoDB deletes an expired item",
        value="within days of its expiry, by AWS's word: drawn from 0 to 48 hours",
        source="https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TTL.html",
    ),
    Figure(
        of="the same as measured in 2019, tables of up to 100,000 items",
        value="up to 28 minutes; some 10 minutes at 1,000 items: drawn from 10 to 28 minutes",
        source="https://bahr.dev/2019/05/29/scheduling-ddb/",
    ),
    Figure(
        of="S3 expires objects",
        value="at a midnight UTC, in one pass a day; the deletion follows in its own time",
        source="https://repost.aws/knowledge-center/s3-lifecycle-rule-delay",
    ),
    Figure(
        of="a scheduled rule rings",
        value="within its minute: drawn from 0 to 60 seconds, as EventBridge Scheduler",
        source="https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html",
    ),
    Figure(
        of="rules on a bus",
        value="300, those that have rung included; PutRule refuses more",
        source="https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html",
    ),
    Figure(
        of="EventBridge Scheduler invokes",
        value="within 60 seconds of the time: drawn from 0 to 60",
        source="https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html",
    ),
    Figure(
        of="an SQS message's delay",
        value="900 seconds at most",
        source="https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-delay-queues.html",
    ),
    Figure(
        of="Lambda tries an asynchronous invocation again",
        value="twice, after 1 and 2 minutes; then it is dropped, or sent to a dead-letter queue",
        source="https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html",
    ),
    Figure(
        of="Lambda tries a stream's batch again",
        value="until it succeeds or is 24 hours old; what is behind it in the shard waits",
        source="https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html",
    ),
)

ASSUMED = (
    "An action takes 0.2 s, with every design.",
    "A changed rule takes effect within 30 seconds (AWS: a short time). A minute that is over is not rung.",
    "S3 removes an object at any moment of the day that follows its midnight; AWS gives no figure.",
    "A call takes 5 to 15 ms. A function starts in 0.3 s if it has not run for five minutes, else in 0.02 s.",
    "A Wait of Step Functions ends within a second, a delayed SQS message arrives within a second.",
    "A stream's record reaches its function within a second.",
    "A program is started again 10 seconds after it died, and 30 seconds after a deployment stopped it.",
    "Nothing of AWS's own fails: no outage, no throttling, no event that is delivered twice.",
)


def _within_a_minute(random: Random) -> float:
    """The delay of a rule and of EventBridge Scheduler alike."""
    return random.uniform(0, 60)


class Manners(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds, drawn for each event."""

    ttl: Callable[[Random], float] = lambda random: random.uniform(600, 28 * 60)
    s3: Callable[[Random], float] = lambda random: random.uniform(0, 24 * _HOUR)
    ring: Callable[[Random], float] = _within_a_minute
    effect: Callable[[Random], float] = lambda random: random.uniform(0, 30)
    schedule: Callable[[Random], float] = _within_a_minute
    wait: Callable[[Random], float] = lambda random: random.uniform(0, 1)
    message: Callable[[Random], float] = lambda random: random.uniform(0, 1)
    record: Callable[[Random], float] = lambda random: random.uniform(0.2, 1)
    call: Callable[[Random], float] = lambda random: random.uniform(0.005, 0.015)
    rules: int = 300


MEASURED_TTL = Manners()
PROMISED_TTL = Manners(ttl=lambda random: random.uniform(0, 48 * _HOUR))

#: The age at which a record of a stream is dropped.
OLDEST_RECORD = timedelta(hours=24)
