"""The bundles in S3, on moto: what the bucket is given, and what is uploaded when."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.iam.access_control import PermissionResult
from moto.s3.models import FakeBucket

from duebell_infra.bundle.bundle import Bundle
from duebell_infra.bundle.target import Target
from duebell_infra.deploy.artifacts import Artifacts
from duebell_infra.errors import DeployFailed
from tests.infra.policies import ACCOUNT
from tests.support import REGION

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

OURS = f"duebell-{ACCOUNT}-{REGION}"


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[boto3.Session]:
    # moto obeys a bucket's policy without looking at its conditions, and would deny everything.
    monkeypatch.setattr(FakeBucket, "get_permission", lambda *_: PermissionResult.NEUTRAL)
    with mock_aws():
        yield boto3.Session(region_name=REGION)


@pytest.fixture
def s3(session: boto3.Session) -> "S3Client":
    return session.client("s3")


def bundle(data: bytes = b"zip") -> Bundle:
    return Bundle(data=data, actions="", target=Target(), files=1, unpacked=len(data))


def artifacts(session: boto3.Session, **given: Any) -> Artifacts:
    return Artifacts(session, account=ACCOUNT, **given)


def refuse(session: boto3.Session, operation: str) -> None:
    """Have S3 refuse this operation from now on, as it does for HEAD: without a code of its own."""

    def happen(model: Any, **_: Any) -> None:
        raise ClientError({"Error": {"Code": "403", "Message": "Forbidden"}}, model.name)

    session.events.register(f"before-call.s3.{operation}", happen)


def keys(s3: "S3Client", bucket: str = OURS) -> list[str]:
    return [one["Key"] for one in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]


def test_a_bundle_is_the_stacks_own_and_named_by_its_contents(session: boto3.Session, s3: "S3Client") -> None:
    key = artifacts(session).upload(bundle(), stack="one")
    assert artifacts(session).upload(bundle(), stack="one") == key
    other = artifacts(session).upload(bundle(), stack="two")

    assert key == f"bundles/one/{bundle().hash}.zip"
    assert keys(s3) == [key, other]
    assert s3.get_object(Bucket=OURS, Key=key)["Body"].read() == b"zip"


def test_the_bucket_is_private(session: boto3.Session, s3: "S3Client") -> None:
    artifacts(session).upload(bundle(), stack="duebell")

    [statement] = json.loads(s3.get_bucket_policy(Bucket=OURS)["Policy"])["Statement"]
    assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "s3:*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert statement["Resource"] == [f"arn:aws:s3:::{OURS}", f"arn:aws:s3:::{OURS}/*"]
    block = s3.get_public_access_block(Bucket=OURS)["PublicAccessBlockConfiguration"]
    assert set(block.values()) == {True}
    assert s3.get_bucket_tagging(Bucket=OURS)["TagSet"] == [{"Key": "duebell", "Value": "bundles"}]
    [encryption] = s3.get_bucket_encryption(Bucket=OURS)["ServerSideEncryptionConfiguration"]["Rules"]
    assert encryption["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"


def test_a_bucket_whose_settings_are_refused_does_not_stay(session: boto3.Session, s3: "S3Client") -> None:
    refuse(session, "PutBucketPolicy")
    with pytest.raises(DeployFailed, match="PutBucketPolicy"):
        artifacts(session).upload(bundle(), stack="duebell")
    assert s3.list_buckets()["Buckets"] == []


def test_who_may_only_upload_to_the_bucket_deploys_all_the_same(
    session: boto3.Session, s3: "S3Client"
) -> None:
    artifacts(session).upload(bundle(), stack="duebell")
    for operation in ("HeadBucket", "PutBucketPolicy", "CreateBucket"):
        refuse(session, operation)

    key = artifacts(session).upload(bundle(b"new"), stack="duebell")

    assert key in keys(s3)


def test_a_given_bucket_that_is_not_there_is_told(session: boto3.Session) -> None:
    with pytest.raises(DeployFailed, match=r"the bucket absent: .*NoSuchBucket"):
        artifacts(session, bucket="absent").upload(bundle(), stack="duebell")
