"""The bucket that duebell makes for bundles: private, encrypted, TLS only, and rid of what was replaced."""

import json
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from .aws import code_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import TagTypeDef

__all__ = ["PREFIX", "REPLACED", "create", "settle"]

#: Where bundles are.
PREFIX = "bundles/"

#: The tag of a bundle that its stack has no use for any more.
REPLACED: "TagTypeDef" = {"Key": "duebell", "Value": "replaced"}

#: Days after its upload that a replaced bundle is kept.
_KEPT_DAYS = 30

#: The one region that must not be named when a bucket is created in it.
_UNNAMED = "us-east-1"

#: S3 answers these for settings that a bucket does not have.
_UNSET = {
    "NoSuchBucketPolicy",
    "NoSuchLifecycleConfiguration",
    "NoSuchPublicAccessBlockConfiguration",
    "NoSuchTagSet",
    "ServerSideEncryptionConfigurationNotFoundError",
}


def create(client: "S3Client", bucket: str) -> None:
    """Make the bucket, in the client's region. `settle` gives it the rest."""
    where: dict[str, Any] = {}
    if client.meta.region_name != _UNNAMED:
        where["CreateBucketConfiguration"] = {"LocationConstraint": client.meta.region_name}
    client.create_bucket(Bucket=bucket, ObjectOwnership="BucketOwnerEnforced", **where)


def settle(client: "S3Client", bucket: str, *, account: str, partition: str) -> None:
    """Give the bucket the settings that it lacks, as after a first deployment that was broken off.

    A setting that is there stays, whoever made it.
    """
    for setting, wanted in _settings(f"arn:{partition}:s3:::{bucket}"):
        try:
            getattr(client, f"get_{setting}")(Bucket=bucket, ExpectedBucketOwner=account)
        except ClientError as error:
            if code_of(error) not in _UNSET:
                raise
            getattr(client, f"put_{setting}")(Bucket=bucket, ExpectedBucketOwner=account, **wanted)


def _settings(arn: str) -> "Iterator[tuple[str, dict[str, Any]]]":
    """Each setting by the name that its calls end with, and what it is set to."""
    yield (
        "public_access_block",
        {
            "PublicAccessBlockConfiguration": {
                "BlockPublicAcls": True,
                "BlockPublicPolicy": True,
                "IgnorePublicAcls": True,
                "RestrictPublicBuckets": True,
            }
        },
    )
    yield "bucket_tagging", {"Tagging": {"TagSet": [{"Key": "duebell", "Value": "bundles"}]}}
    encrypted = {"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]}
    yield "bucket_encryption", {"ServerSideEncryptionConfiguration": encrypted}
    yield "bucket_policy", {"Policy": json.dumps(_tls_only(arn))}
    yield "bucket_lifecycle_configuration", {"LifecycleConfiguration": _without_the_replaced()}


def _tls_only(arn: str) -> dict[str, Any]:
    statement = {
        "Sid": "TlsOnly",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [arn, f"{arn}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return {"Version": "2012-10-17", "Statement": [statement]}


def _without_the_replaced() -> dict[str, Any]:
    """Never by age alone: CloudFormation rolls a change back to the bundle in use, however old it is."""
    rule = {
        "ID": "replaced-bundles",
        "Status": "Enabled",
        "Filter": {"And": {"Prefix": PREFIX, "Tags": [REPLACED]}},
        "Expiration": {"Days": _KEPT_DAYS},
    }
    return {"Rules": [rule]}
