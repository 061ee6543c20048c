"""An object that expires: its deletion event reaches the function, which reads what to do from it.

S3 says of an expired object only its key. So the bucket keeps versions: expiry puts a delete marker on top,
and what is below it can still be read.
"""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

from .design import Capabilities, Design, Platform, Refused, Source, Task, decode, encode, passing_over

__all__ = ["S3Expiry"]

#: Days ahead: one lifecycle rule each, of the thousand that a bucket may have.
#: https://docs.aws.amazon.com/AmazonS3/latest/userguide/how-to-set-lifecycle-configuration-intro.html
_FARTHEST = 365

_BUCKET = "s3-expiry"
_EXPIRED = "s3:LifecycleExpiration:DeleteMarkerCreated"


class S3Expiry(Design):
    """By the day: an object's expiry is a number of days, and counts from the next midnight in UTC."""

    name = "s3-expiry"
    title = "S3 expiry"
    sources = (
        Source(
            "Configuring S3 Lifecycle event notifications",
            "https://docs.aws.amazon.com/AmazonS3/latest/userguide/lifecycle-configure-notification.html",
        ),
        Source(
            "Why is there a delay with S3 lifecycle rules?",
            "https://repost.aws/knowledge-center/s3-lifecycle-rule-delay",
        ),
    )
    capabilities = Capabilities(
        move="put the object again with another number of days",
        cancel="delete the object: that is another event",
        recurring="",
        listing="the keys of all objects; not when they expire",
        fails="called again twice, then dropped",
        farthest=timedelta(days=_FARTHEST),
        idle="nothing",
        limits={
            1_000: "days: one lifecycle rule for each, 1,000 a bucket",
            1_000_000: "lateness: a day and more",
            100_000_000: "lateness; $500 for the PUTs",
        },
    )

    def deploy(self) -> None:
        s3 = self.platform.client("s3")
        with passing_over("BucketAlreadyOwnedByYou"):
            s3.create_bucket(Bucket=_BUCKET)
        s3.put_bucket_versioning(Bucket=_BUCKET, VersioningConfiguration={"Status": "Enabled"})
        rules = [_rule(days) for days in range(1, _FARTHEST + 1)]
        s3.put_bucket_lifecycle_configuration(Bucket=_BUCKET, LifecycleConfiguration={"Rules": rules})
        arn = self.platform.function(f"{self.name}-executor", execute)
        s3.put_bucket_notification_configuration(
            Bucket=_BUCKET,
            NotificationConfiguration={
                "LambdaFunctionConfigurations": [{"LambdaFunctionArn": arn, "Events": [_EXPIRED]}]
            },
        )

    def add(self, task: Task) -> None:
        if task.every:
            raise Refused(f"the task {task.id} recurs, and an object expires once: add it once for each time")
        days = days_until(task.due, self.platform.now())
        if days > _FARTHEST:
            raise Refused(f"the task {task.id} is due in {days} days: {_FARTHEST} is the most, add it later")
        self.platform.client("s3").put_object(
            Bucket=_BUCKET, Key=task.id, Body=encode(task).encode(), Tagging=f"days={days}"
        )

    def move(self, task: Task) -> None:
        self.add(task)

    def cancel(self, id: str) -> None:
        self.platform.client("s3").delete_object(Bucket=_BUCKET, Key=id)

    def destroy(self) -> None:
        s3 = self.platform.client("s3")
        with passing_over("NoSuchBucket"):
            while each := _versions(s3.list_object_versions(Bucket=_BUCKET, Prefix="")):
                for version in each:
                    s3.delete_object(Bucket=_BUCKET, Key=version["Key"], VersionId=version["VersionId"])
            s3.delete_bucket(Bucket=_BUCKET)


def days_until(due: datetime, now: datetime) -> int:
    """Return the fewest days after which an object that is put now expires at the due date or later."""
    first = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return max(1, math.ceil((due - first) / timedelta(days=1)))


def execute(event: Any, platform: Platform) -> None:
    """Act for each object that expired."""
    s3 = platform.client("s3")
    for record in event["Records"]:
        key = record["s3"]["object"]["key"]
        versions = s3.list_object_versions(Bucket=_BUCKET, Prefix=key)["Versions"]
        newest = next(each for each in versions if each["Key"] == key)
        found = s3.get_object(Bucket=_BUCKET, Key=key, VersionId=newest["VersionId"])
        task = decode(found["Body"].read().decode())
        platform.act(task.id, task.payload)


def _rule(days: int) -> dict[str, Any]:
    return {
        "ID": f"in-{days}",
        "Status": "Enabled",
        "Filter": {"Tag": {"Key": "days", "Value": str(days)}},
        "Expiration": {"Days": days},
        "NoncurrentVersionExpiration": {"NoncurrentDays": 30},
    }


def _versions(page: dict[str, Any]) -> list[dict[str, Any]]:
    return [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
