"""The bundles in S3: each stack's own, under a key that tells their contents, and the bucket for them.

The bucket that duebell makes is private, encrypted and TLS only, and deletes bundles that were replaced.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from duebell_infra.aws import answer_unless, aws_calls, code_of
from duebell_infra.bundle.bundle import Bundle
from duebell_infra.errors import DeployFailed

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

#: The folder of the bundles in the bucket.
_PREFIX = "bundles/"

#: The tag of a bundle that its stack has no use for any more.
REPLACED = {"Key": "duebell", "Value": "replaced"}

#: Days after its upload that a replaced bundle is kept.
_KEPT_DAYS = 30

#: The one region that must not be named when a bucket is created in it.
_UNNAMED = "us-east-1"

#: S3 answers these, depending on the call, for a bucket or a key that is not there.
_ABSENT = {"404", "NoSuchBucket", "NoSuchKey", "NotFound"}

#: S3 answers these to calls without permission; also for a missing key, unless the caller may list the
#: bucket. https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadObject.html
_REFUSED = {"403", "AccessDenied", "Forbidden"}

#: S3 answers these for settings that a bucket does not have.
_UNSET = {
    "NoSuchBucketPolicy",
    "NoSuchLifecycleConfiguration",
    "NoSuchPublicAccessBlockConfiguration",
    "NoSuchTagSet",
    "ServerSideEncryptionConfigurationNotFoundError",
}


class Artifacts:
    """The bucket for bundles: the given one, or one of this account's and region's own."""

    def __init__(
        self,
        session: boto3.Session,
        *,
        account: str,
        bucket: str | None = None,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._client: Any = _s3(session)
        self._region = self._client.meta.region_name
        self._partition = session.get_partition_for_region(self._region)
        self._owner = {"ExpectedBucketOwner": account}
        self._progress = progress
        self._ours = f"duebell-{account}-{self._region}"
        self.bucket = bucket or self._ours

    def upload(self, bundle: Bundle, *, stack: str) -> str:
        """Upload the bundle unless it is there; its key, which has its hash. Raises DeployFailed."""
        there = {"Bucket": self.bucket, "Key": f"{_PREFIX}{stack}/{bundle.hash}.zip", **self._owner}
        with aws_calls(f"the bucket {self.bucket}"):
            if self.bucket == self._ours:
                self._prepare()
            if not self._holds(there):
                self._client.put_object(**there, Body=bundle.data, ContentType="application/zip")
        return there["Key"]

    def retire(self, parameters: Mapping[str, str]) -> None:
        """Have the bundle of a stack with these parameters deleted in some weeks, if it is in our own bucket.

        Nothing is raised: a bundle that stays costs next to nothing.
        """
        there = {"Bucket": self._ours, "Key": parameters.get("CodeKey", ""), **self._owner}
        if parameters.get("CodeBucket") == self._ours and there["Key"].startswith(_PREFIX):
            with suppress(DeployFailed), aws_calls(f"the bucket {self._ours}"):
                self._client.put_object_tagging(**there, Tagging={"TagSet": [REPLACED]})

    def _prepare(self) -> None:
        """Make our own bucket, and the settings that an earlier deployment may have left unmade.

        A setting that is there stays, whoever made it. A user who may only upload can still deploy.
        """
        is_new = not self._exists()
        if is_new:
            elsewhere = {"CreateBucketConfiguration": {"LocationConstraint": self._region}}
            where = elsewhere if self._region != _UNNAMED else {}
            self._client.create_bucket(Bucket=self._ours, ObjectOwnership="BucketOwnerEnforced", **where)
        there = {"Bucket": self._ours, **self._owner}
        try:
            for setting, wanted in _settings(f"arn:{self._partition}:s3:::{self._ours}"):
                if answer_unless(_UNSET, getattr(self._client, f"get_{setting}"), **there) is None:
                    getattr(self._client, f"put_{setting}")(**there, **wanted)
        except ClientError as error:
            if is_new or code_of(error) not in _REFUSED:
                raise
            self._progress(f"the settings of the bucket {self._ours} were not looked at: {error}")

    def _exists(self) -> bool:
        """Return True if our own bucket is there, or if S3 refuses to say; the upload fails then."""
        try:
            return (
                answer_unless(_ABSENT, self._client.head_bucket, Bucket=self._ours, **self._owner) is not None
            )
        except ClientError as error:
            if code_of(error) not in _REFUSED:
                raise
        return True

    def _holds(self, there: Mapping[str, str]) -> bool:
        """Return True if the key is there to stay. One that was retired is uploaded anew, without the tag."""
        if there["Bucket"] != self._ours:
            return answer_unless(_ABSENT | _REFUSED, self._client.head_object, **there) is not None
        found = answer_unless(_ABSENT | _REFUSED, self._client.get_object_tagging, **there)
        return found is not None and REPLACED not in found["TagSet"]


def _s3(session: boto3.Session) -> "S3Client":
    """A client that names the bucket in the path outside AWS: no DNS there knows names of buckets."""
    client = session.client("s3")
    host = urlsplit(client.meta.endpoint_url).hostname or ""
    if host.endswith((".amazonaws.com", ".amazonaws.com.cn")):
        return client
    return session.client("s3", config=Config(s3={"addressing_style": "path"}))


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
    # Never by age alone: CloudFormation rolls a change back to the bundle in use, however old it is.
    replaced = {
        "ID": "replaced-bundles",
        "Status": "Enabled",
        "Filter": {"And": {"Prefix": _PREFIX, "Tags": [REPLACED]}},
        "Expiration": {"Days": _KEPT_DAYS},
    }
    yield "bucket_lifecycle_configuration", {"LifecycleConfiguration": {"Rules": [replaced]}}
