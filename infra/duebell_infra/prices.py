"""The prices that costs are computed from, each with the page that it was found on and that page's date.

Of us-east-1, in dollars, without free tiers, taxes and discounts. They change: AWS's own lists have the last
word.
"""

import msgspec

__all__ = ["PRICES", "Price"]


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars for something, and who says so."""

    dollars: float
    of: str
    source: str
    dated: str


_LAMBDA = {"source": "https://cloudchipr.com/blog/aws-lambda-pricing", "dated": "2024"}
_SNAPSTART = {
    "source": "https://awsnegotiations.com/blog/lambda-snapstart-cost-impact/",
    "dated": "May 2026",
}
_CLOUDWATCH = {
    "source": "https://www.factualminds.com/blog/amazon-cloudwatch-pricing-metrics-logs-alarms-dashboards/",
    "dated": "13 June 2026",
}
_CONFIG = {
    "source": "https://cloudgauge.app/blog/governance-cost-trap.html",
    "dated": "a stored copy without a date",
}
_DYNAMODB = {
    "source": "https://airbyte.com/data-engineering-resources/dynamodb-pricing",
    "dated": "21 July 2025",
}

PRICES = {
    "write": Price(dollars=0.625, of="a million write request units, DynamoDB on demand", **_DYNAMODB),
    "read": Price(dollars=0.125, of="a million read request units, DynamoDB on demand", **_DYNAMODB),
    "invocation": Price(dollars=0.20, of="a million Lambda requests", **_LAMBDA),
    "gb_second": Price(dollars=13.3334, of="a million Lambda GB-seconds, arm64", **_LAMBDA),
    "snapshot": Price(
        dollars=1.5046, of="a million GB-seconds of a snapshot that Lambda keeps (SnapStart)", **_SNAPSTART
    ),
    "restore": Price(dollars=139.7998, of="a million GB that Lambda restores from a snapshot", **_SNAPSTART),
    "schedule": Price(
        dollars=1.00,
        of="a million EventBridge Scheduler invocations; 14 million a month are free",
        source="https://cloudburn.io/blog/amazon-eventbridge-pricing",
        dated="13 March 2026",
    ),
    "request": Price(
        dollars=0.40,
        of="a million SQS requests, standard queues, each of up to 64 KB; 1 million a month are free",
        source="https://cloudburn.io/blog/amazon-sqs-pricing",
        dated="14 March 2026",
    ),
    "transition": Price(
        dollars=25.0,
        of="a million Step Functions state transitions, standard workflows",
        source="https://aws.amazon.com/step-functions/pricing/",
        dated="a stored copy without a date",
    ),
    "log": Price(dollars=0.50, of="a GB of log taken in by CloudWatch", **_CLOUDWATCH),
    "dashboard": Price(dollars=3.00, of="a CloudWatch dashboard, a month", **_CLOUDWATCH),
    "metric": Price(
        dollars=0.30,
        of="a custom metric of CloudWatch, a month",
        source="https://signoz.io/guides/cloudwatch-pricing",
        dated="15 February 2026",
    ),
    "alarm": Price(
        dollars=0.10,
        of="a CloudWatch alarm, a month",
        source="https://c3x.dev/resources/aws/aws_cloudwatch_metric_alarm",
        dated="a stored copy without a date",
    ),
    "change": Price(dollars=0.003, of="a change that AWS Config records continuously", **_CONFIG),
    "day": Price(dollars=0.012, of="a day that AWS Config records once", **_CONFIG),
}
