"""The bundles in S3, and their bucket. The key of a bundle has its stack's name and a hash of its contents.

The bucket that duebell makes is private, encrypted and TLS only.
"""

import json
from collections.abc import Iterator
from typing import Any

import boto3
from botocore.exceptions import ClientError

from duebell_infra.aws import answer_unless, aws_calls, code_of
from duebell_infra.bundle.bundle import Bundle

#: The folder of the bundles in the bucket.
_PREFIX = "bundles/"

#: The one region that must not be named when a bucket is created in it.
_UNNAMED = "us-east-1"

#: S3's answers to a call for a bucket that is not there, and to one without permission.
#: https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadBucket.html
_ABSENT, _REFUSED = "404", "403"


class Artifacts:
    """The bucket for bundles: the given one, or duebell's own bucket for this account and region."""

    def __init__(
        self,
        session: boto3.Session,
        *,
        account: str,
        bucket: str | None = None,
    ) -> None:
        self._client: Any = session.client("s3")
        self._region = self._client.meta.region_name
        self._partition = session.get_partition_for_region(self._region)
        self._owner = {"ExpectedBucketOwner": account}
        self._ours = f"duebell-{account}-{self._region}"
        self.bucket = bucket or self._ours

    def upload(self, bundle: Bundle, *, stack: str) -> str:
        """Upload the bundle. Returns its key, which has its hash. Raises DeployFailed."""
        there = {"Bucket": self.bucket, "Key": f"{_PREFIX}{stack}/{bundle.hash}.zip", **self._owner}
        with aws_calls(f"the bucket {self.bucket}"):
            if self.bucket == self._ours:
                self._prepare()
            self._client.put_object(**there, Body=bundle.data, ContentType="application/zip")
        return there["Key"]

    def _prepare(self) -> None:
        """Make our own bucket with its settings, unless it is there, or this user may only upload to it."""
        there = {"Bucket": self._ours, **self._owner}
        try:
            if answer_unless({_ABSENT}, self._client.head_bucket, **there) is not None:
                return
        except ClientError as error:
            if code_of(error) == _REFUSED:
                return
            raise
        elsewhere = {"CreateBucketConfiguration": {"LocationConstraint": self._region}}
        where = elsewhere if self._region != _UNNAMED else {}
        self._client.create_bucket(Bucket=self._ours, ObjectOwnership="BucketOwnerEnforced", **where)
        try:
            for setting, wanted in _settings(f"arn:{self._partition}:s3:::{self._ours}"):
                getattr(self._client, f"put_{setting}")(**there, **wanted)
        except ClientError:
            self._client.delete_bucket(**there)  # the next deployment makes it with all settings
            raise


def _settings(arn: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The settings of our own bucket: the name that a setting's calls end with, and what it is set to."""
    blocked = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    yield "public_access_block", {"PublicAccessBlockConfiguration": dict.fromkeys(blocked, True)}
    yield "bucket_tagging", {"Tagging": {"TagSet": [{"Key": "duebell", "Value": "bundles"}]}}
    encrypted = {"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]}
    yield "bucket_encryption", {"ServerSideEncryptionConfiguration": encrypted}
    tls_only = {
        "Sid": "TlsOnly",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [arn, f"{arn}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    yield "bucket_policy", {"Policy": json.dumps({"Version": "2012-10-17", "Statement": [tls_only]})}
