"""The S3 bucket that deployments are uploaded to."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from .aws import aws_calls, code_of
from .bundle import Bundle

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["Artifacts"]

#: The one region that must not be named when a bucket is created in it.
_UNNAMED = "us-east-1"

#: S3 answers these, depending on the call, for what is not there.
_ABSENT = {"404", "NoSuchBucket", "NoSuchKey", "NotFound"}


class Artifacts:
    """The bucket for bundles: the given one, or one of this account's and region's own."""

    def __init__(self, session: boto3.Session, *, account: str, bucket: str | None) -> None:
        self._client = _s3(session)
        self._account = account
        self._region = self._client.meta.region_name
        self._is_ours = bucket is None
        self.bucket = bucket or f"duebell-{account}-{self._region}"

    def upload(self, bundle: Bundle) -> str:
        """Put the bundle where its contents say, unless it is there; its key. Raises DeployFailed."""
        key = f"bundles/{bundle.hash}.zip"
        with aws_calls(f"the bucket {self.bucket}"):
            if self._is_ours and not self._exists():
                self._create()
            if not self._holds(key):
                self._client.put_object(
                    Bucket=self.bucket,
                    ExpectedBucketOwner=self._account,
                    Key=key,
                    Body=bundle.data,
                    ContentType="application/zip",
                )
        return key

    def _exists(self) -> bool:
        try:
            self._client.head_bucket(Bucket=self.bucket, ExpectedBucketOwner=self._account)
        except ClientError as error:
            if code_of(error) in _ABSENT:
                return False
            raise
        return True

    def _holds(self, key: str) -> bool:
        try:
            self._client.head_object(Bucket=self.bucket, Key=key, ExpectedBucketOwner=self._account)
        except ClientError as error:
            if code_of(error) in _ABSENT:
                return False
            raise
        return True

    def _create(self) -> None:
        where: dict[str, Any] = {}
        if self._region != _UNNAMED:
            where["CreateBucketConfiguration"] = {"LocationConstraint": self._region}
        self._client.create_bucket(Bucket=self.bucket, ObjectOwnership="BucketOwnerEnforced", **where)
        self._client.put_public_access_block(
            Bucket=self.bucket,
            PublicAccessBlockConfiguration={
                "BlockPublicAcls": True,
                "BlockPublicPolicy": True,
                "IgnorePublicAcls": True,
                "RestrictPublicBuckets": True,
            },
        )
        self._client.put_bucket_tagging(
            Bucket=self.bucket, Tagging={"TagSet": [{"Key": "duebell", "Value": "bundles"}]}
        )
        self._client.put_bucket_encryption(
            Bucket=self.bucket,
            ServerSideEncryptionConfiguration={
                "Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]
            },
        )


def _s3(session: boto3.Session) -> "S3Client":
    """A client that names the bucket in the path where no DNS knows names of buckets: on this machine."""
    client = session.client("s3")
    host = urlsplit(client.meta.endpoint_url).hostname or ""
    if host.endswith((".amazonaws.com", ".amazonaws.com.cn")):
        return client
    return session.client("s3", config=Config(s3={"addressing_style": "path"}))
