"""S3: a bucket whose objects expire by the day, and whose expiry invokes a function."""

import io
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from .refusals import refusal

if TYPE_CHECKING:
    from .account import Account

__all__ = ["S3"]

_DAY = timedelta(days=1)


class _Bucket(msgspec.Struct):
    """`versions`: of each key the bodies, the newest last; None is a delete marker."""

    days: dict[str, int] = msgspec.field(default_factory=dict)
    targets: list[dict[str, Any]] = msgspec.field(default_factory=list)
    versions: dict[str, list[bytes | None]] = msgspec.field(default_factory=dict)


class S3:
    """Buckets by name, with versions."""

    def __init__(self, account: "Account") -> None:
        self._account = account
        self._buckets: dict[str, _Bucket] = {}

    def create_bucket(self, Bucket: str) -> dict[str, Any]:
        if Bucket in self._buckets:
            raise refusal("BucketAlreadyOwnedByYou", f"the bucket {Bucket} is there")
        self._buckets[Bucket] = _Bucket()
        return {}

    def put_bucket_versioning(self, **_: Any) -> dict[str, Any]:
        return {}

    def put_bucket_lifecycle_configuration(
        self, Bucket: str, LifecycleConfiguration: dict[str, Any]
    ) -> dict[str, Any]:
        rules = LifecycleConfiguration["Rules"]
        by_tag = {rule["Filter"]["Tag"]["Value"]: int(rule["Expiration"]["Days"]) for rule in rules}
        self._buckets[Bucket].days = by_tag
        return {}

    def put_bucket_notification_configuration(
        self, Bucket: str, NotificationConfiguration: dict[str, Any]
    ) -> dict[str, Any]:
        self._buckets[Bucket].targets = NotificationConfiguration["LambdaFunctionConfigurations"]
        return {}

    def put_object(self, Bucket: str, Key: str, Body: bytes, Tagging: str) -> dict[str, Any]:
        bucket = self._buckets[Bucket]
        bucket.versions.setdefault(Key, []).append(Body)
        version = len(bucket.versions[Key])
        self._account.billed["s3_put"] += 1
        days = bucket.days[Tagging.partition("=")[2]]
        first = self._account.world.now.replace(hour=0, minute=0, second=0, microsecond=0) + _DAY
        late = timedelta(seconds=self._account.manners.s3(self._account.random))
        expires = first.astimezone(UTC) + days * _DAY + late
        self._account.world.at(expires, lambda: self._expire(bucket, Key, version))
        return {}

    def delete_object(self, Bucket: str, Key: str, VersionId: str | None = None) -> dict[str, Any]:
        versions = self._buckets[Bucket].versions
        if VersionId:
            versions.pop(Key, None)
        else:
            versions.setdefault(Key, []).append(None)
        return {}

    def delete_bucket(self, Bucket: str) -> dict[str, Any]:
        del self._buckets[Bucket]
        return {}

    def list_object_versions(self, Bucket: str, Prefix: str) -> dict[str, Any]:
        self._account.billed["s3_put"] += 1  # a list costs as much
        found = [
            {"Key": key, "VersionId": f"{number}/{key}"}
            for key, versions in self._buckets[Bucket].versions.items()
            for number, body in reversed(list(enumerate(versions)))
            if key.startswith(Prefix) and body is not None
        ]
        return {"Versions": found}

    def get_object(self, Bucket: str, Key: str, VersionId: str) -> dict[str, Any]:
        self._account.billed["s3_get"] += 1
        number, _, of = VersionId.partition("/")
        if of != Key:
            raise refusal("NoSuchVersion", f"{VersionId} is no version of {Key}")
        return {"Body": io.BytesIO(self._buckets[Bucket].versions[Key][int(number)] or b"")}

    def _expire(self, bucket: _Bucket, key: str, version: int) -> None:
        """Put a delete marker on the object, unless it was put again or deleted since."""
        versions = bucket.versions.get(key, [])
        if len(versions) != version:
            return
        versions.append(None)
        event = {"Records": [{"s3": {"object": {"key": key}}}]}
        for target in bucket.targets:
            name = target["LambdaFunctionArn"].rpartition(":")[2]
            self._account.functions.invoke_async(name, event)
