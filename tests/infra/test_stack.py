"""One CloudFormation stack, with its client stubbed: what a failed change says."""

from typing import Any
from unittest.mock import MagicMock

import pytest

from duebell_infra.deploy.stack import Stack
from duebell_infra.errors import DeployFailed


def test_a_schedule_whose_role_is_too_new_says_to_deploy_again() -> None:
    # Given a stack that EventBridge Scheduler refuses the role of
    reason = "The execution role you provide must allow AWS EventBridge Scheduler to assume the role."
    event = {"EventId": "1", "ResourceStatus": "CREATE_FAILED", "LogicalResourceId": "Schedule"}
    stack = {"StackId": "it", "StackStatus": "ROLLBACK_COMPLETE"}
    client: Any = MagicMock()
    client.describe_stacks.side_effect = [{"Stacks": []}, {"Stacks": []}, {"Stacks": [stack]}]
    client.create_change_set.return_value = {"Id": "change", "StackId": "it"}
    client.describe_change_set.return_value = {"Status": "CREATE_COMPLETE"}
    pages = client.get_paginator.return_value.paginate
    pages.side_effect = [[], [{"StackEvents": [{**event, "ResourceStatusReason": reason}]}]]

    with pytest.raises(DeployFailed, match=r"assume the role.*deploy again"):
        Stack(client, "duebell", progress=lambda _: None).apply("", {}, tags={})
