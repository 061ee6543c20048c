"""The bundles in S3: each stack's own, under a key that tells their contents."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from . import bucket as bucket_of_ours
from .aws import aws_calls, code_of
from .bundle import Bundle
from .errors import DeployFailed

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["Artifacts"]

#: S3 answers these, depending on the call, for what is not there.
_ABSENT = {"404", "NoSuchBucket", "NoSuchKey", "NotFound"}

#: S3 answers these for what one may not do; and for a key that is not there, to whom may not list the bucket.
#: https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadObject.html
_REFUSED = {"403", "AccessDenied", "Forbidden"}


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
        self._client = _s3(session)
        self._account = account
        self._session = session
        self._progress = progress
        self._ours = f"duebell-{account}-{self._client.meta.region_name}"
        self.bucket = bucket or self._ours

    def upload(self, bundle: Bundle, *, stack: str) -> str:
        """Put the bundle where its contents say, unless it is there; its key. Raises DeployFailed."""
        key = f"{bucket_of_ours.PREFIX}{stack}/{bundle.hash}.zip"
        with aws_calls(f"the bucket {self.bucket}"):
            if self.bucket == self._ours:
                self._prepare()
            if not self._holds(key):
                self._client.put_object(
                    Bucket=self.bucket,
                    ExpectedBucketOwner=self._account,
                    Key=key,
                    Body=bundle.data,
                    ContentType="application/zip",
                )
        return key

    def retire(self, parameters: Mapping[str, str]) -> None:
        """Have the bundle of a stack with these parameters deleted in some weeks, if it is in our own bucket.

        Nothing is raised: a bundle that stays costs next to nothing.
        """
        key = parameters.get("CodeKey", "")
        if parameters.get("CodeBucket") == self._ours and key.startswith(bucket_of_ours.PREFIX):
            with suppress(DeployFailed), aws_calls(f"the bucket {self._ours}"):
                self._client.put_object_tagging(
                    Bucket=self._ours,
                    ExpectedBucketOwner=self._account,
                    Key=key,
                    Tagging={"TagSet": [bucket_of_ours.REPLACED]},
                )

    def _prepare(self) -> None:
        """Make the bucket, and what an earlier deployment may have left unmade of it.

        Whoever may upload to it and no more deploys all the same.
        """
        partition = self._session.get_partition_for_region(self._client.meta.region_name)
        is_new = not self._exists()
        if is_new:
            bucket_of_ours.create(self._client, self.bucket)
        try:
            bucket_of_ours.settle(self._client, self.bucket, account=self._account, partition=partition)
        except ClientError as error:
            if is_new or code_of(error) not in _REFUSED:
                raise
            self._progress(f"the settings of the bucket {self.bucket} were not looked at: {error}")

    def _exists(self) -> bool:
        """Whether the bucket is there; what is refused to us is, and the upload says why."""
        try:
            self._client.head_bucket(Bucket=self.bucket, ExpectedBucketOwner=self._account)
        except ClientError as error:
            if code_of(error) in _ABSENT:
                return False
            if code_of(error) not in _REFUSED:
                raise
        return True

    def _holds(self, key: str) -> bool:
        """Whether the key is there to stay. One that was replaced is uploaded anew, and stays then."""
        try:
            if self.bucket != self._ours:
                self._client.head_object(Bucket=self.bucket, Key=key, ExpectedBucketOwner=self._account)
                return True
            found = self._client.get_object_tagging(
                Bucket=self.bucket, Key=key, ExpectedBucketOwner=self._account
            )
        except ClientError as error:
            if code_of(error) in _ABSENT | _REFUSED:
                return False
            raise
        return bucket_of_ours.REPLACED not in found["TagSet"]


def _s3(session: boto3.Session) -> "S3Client":
    """A client that names the bucket in the path where no DNS knows names of buckets: on this machine."""
    client = session.client("s3")
    host = urlsplit(client.meta.endpoint_url).hostname or ""
    if host.endswith((".amazonaws.com", ".amazonaws.com.cn")):
        return client
    return session.client("s3", config=Config(s3={"addressing_style": "path"}))
