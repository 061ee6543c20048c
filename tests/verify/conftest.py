"""Fixtures for verify's tests: an account in which all is as `duebell deploy` makes it."""

import json

import boto3
import pytest

from duebell_shared.settings import Settings
from tests.support import REGION, Clock
from tests.verify.account import Account


@pytest.fixture
def account(session: boto3.Session, clock: Clock) -> Account:
    account = Account(clock, Settings(function="duebell"))
    sqs, events = boto3.client("sqs", region_name=REGION), boto3.client("events", region_name=REGION)
    allow = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage"}
    policy = {"Version": "2012-10-17", "Statement": [{**allow, "Resource": account.arn("lost-rings")}]}
    sqs.create_queue(QueueName="duebell-lost-rings", Attributes={"Policy": json.dumps(policy)})
    sqs.create_queue(QueueName="duebell-failed-runs")
    function = f"arn:aws:lambda:{REGION}:123456789012:function:duebell"
    lost_rings = account.arn("lost-rings")
    events.put_targets(
        Rule="duebell",
        Targets=[{"Id": "worker", "Arn": function, "DeadLetterConfig": {"Arn": lost_rings}}],
    )
    return account
