"""The worker's function as the Terraform module plans it: its bundle, its deliveries, its snapshot."""

from pathlib import Path

import pytest

from tests.terraform import NEEDS_TERRAFORM, output_of

pytestmark = NEEDS_TERRAFORM


PLAN = """
run "planned" {{
  command = plan
  assert {{
    condition     = aws_lambda_function.worker.filename == {filename}
    error_message = "filename"
  }}
  assert {{
    condition     = length(aws_s3_object.bundle) == {objects}
    error_message = "objects in S3"
  }}
  assert {{
    condition     = length(aws_s3_bucket_policy.bundles) == {objects}
    error_message = "policies of a bucket"
  }}
  assert {{
    condition     = aws_lambda_function.worker.s3_key == {key}
    error_message = "key"
  }}
  assert {{
    condition     = output.function_name == "duebell"
    error_message = "the name that editors need"
  }}
}}
"""
IN_S3 = {"filename": "null", "objects": 1, "key": '"bundles/${filesha256("bundle.zip")}.zip"'}
DIRECTLY = {"filename": '"bundle.zip"', "objects": 0, "key": "null"}


@pytest.mark.parametrize(("megabytes", "uploaded"), [(49, DIRECTLY), (51, IN_S3)], ids=["directly", "by S3"])
def test_a_bundle_that_lambda_does_not_take_directly_goes_by_s3(
    tmp_path: Path, megabytes: int, uploaded: dict[str, object]
) -> None:
    assert "1 passed, 0 failed" in output_of(PLAN.format(**uploaded), tmp_path, megabytes=megabytes)


DELIVERING = """
run "without" {
  command = plan
  assert {
    condition     = length(flatten(values(local.deliveries_allowed))) == 0
    error_message = "nothing is allowed"
  }
}
run "with" {
  command = plan
  variables {
    deliveries = {
      remind = { to = "arn:aws:sqs:eu-central-1:123456789012:reminders", form = "envelope", attempts = 3 }
      again = {
        to         = "arn:aws:sqs:eu-central-1:123456789012:reminders"
        on_failed  = "remind"
        at_most    = 3
        per_second = 0.5
        closed     = "sat,sun"
      }
      run    = {
        to  = "arn:aws:ecs:eu-central-1:123456789012:task-definition/report"
        run = {
          cluster = "main", container = "app", subnets = ["subnet-1"]
          roles = ["arn:aws:iam::123456789012:role/report"]
        }
      }
      start  = { to = "arn:aws:states:eu-central-1:123456789012:stateMachine:dunning:live" }
      tell   = {
        to      = "https://example.com/hook"
        secret  = "arn:aws:ssm:eu-central-1:123456789012:parameter/signing"
        backoff = { first = 5, factor = 1.5 }
      }
    }
    delivery_arns = ["arn:aws:lambda:eu-central-1:123456789012:function:remind:live"]
  }
  assert {
    condition = jsondecode(one(aws_lambda_function.worker.environment).variables.DUEBELL_DELIVERIES) == {
      remind = { to = "arn:aws:sqs:eu-central-1:123456789012:reminders", form = "envelope", attempts = 3 }
      again = {
        to         = "arn:aws:sqs:eu-central-1:123456789012:reminders"
        on_failed  = "remind"
        at_most    = 3
        per_second = 0.5
        closed     = "sat,sun"
      }
      run    = {
        to  = "arn:aws:ecs:eu-central-1:123456789012:task-definition/report"
        run = {
          cluster = "main", container = "app", subnets = ["subnet-1"]
          roles = ["arn:aws:iam::123456789012:role/report"]
        }
      }
      start  = { to = "arn:aws:states:eu-central-1:123456789012:stateMachine:dunning:live" }
      tell   = {
        to      = "https://example.com/hook"
        secret  = "arn:aws:ssm:eu-central-1:123456789012:parameter/signing"
        backoff = { first = 5, factor = 1.5 }
      }
    }
    error_message = "what the worker reads"
  }
  assert {
    condition = { for service, arns in local.deliveries_allowed : service => arns if length(arns) > 0 } == {
      ecs    = tolist(["arn:aws:ecs:eu-central-1:123456789012:task-definition/report:*"])
      iam    = tolist(["arn:aws:iam::123456789012:role/report"])
      lambda = tolist(["arn:aws:lambda:eu-central-1:123456789012:function:remind:live"])
      sqs    = tolist(["arn:aws:sqs:eu-central-1:123456789012:reminders"])
      ssm    = tolist(["arn:aws:ssm:eu-central-1:123456789012:parameter/signing"])
      states = tolist(["arn:aws:states:eu-central-1:123456789012:stateMachine:dunning"])
    }
    error_message = "each once, and nothing else"
  }
}
run "too_many" {
  command = plan
  variables {
    deliveries = {
      for number in range(60) : "remind${number}" => {
        to = "arn:aws:sqs:eu-central-1:123456789012:reminders${number}"
      }
    }
  }
  expect_failures = [aws_lambda_function.worker]
}
"""


SNAPSHOT = """
run "by_default" {
  command = plan
  assert {
    condition     = length(aws_lambda_alias.live) == 0 && !aws_lambda_function.worker.publish
    error_message = "no version"
  }
  assert {
    condition     = aws_lambda_function.worker.environment[0].variables["DUEBELL_FUNCTION"] == "duebell"
    error_message = "what runs call"
  }
  assert {
    condition     = aws_lambda_function_event_invoke_config.worker.qualifier == "$LATEST"
    error_message = "the retries"
  }
}
run "from_a_snapshot" {
  command = plan
  override_resource {
    target          = aws_lambda_alias.live
    override_during = plan
    values          = { arn = "arn:aws:lambda:eu-central-1:123456789012:function:duebell:live" }
  }
  variables {
    snap_start = true
  }
  assert {
    condition     = aws_lambda_function.worker.publish
    error_message = "a version"
  }
  assert {
    condition     = one(aws_lambda_function.worker.snap_start).apply_on == "PublishedVersions"
    error_message = "its snapshot"
  }
  assert {
    condition     = aws_cloudwatch_event_target.worker[0].arn == aws_lambda_alias.live[0].arn
    error_message = "what the rule wakes"
  }
  assert {
    condition     = aws_lambda_function.worker.environment[0].variables["DUEBELL_FUNCTION"] == "duebell:live"
    error_message = "what runs call"
  }
  assert {
    condition = (
      aws_lambda_permission.bell[0].qualifier == "live"
      && aws_lambda_function_event_invoke_config.worker.qualifier == "live"
      && aws_lambda_invocation.arm[0].qualifier == "live"
    )
    error_message = "all that is about the worker"
  }
  assert {
    condition     = output.function_name == "duebell:live"
    error_message = "the name that editors need"
  }
}
run "too_old" {
  command = plan
  variables {
    snap_start = true
    runtime    = "python3.11"
  }
  expect_failures = [aws_lambda_function.worker]
}
"""


def test_the_worker_may_do_what_its_deliveries_need_and_starts_from_a_snapshot_if_asked_for(
    tmp_path: Path,
) -> None:
    output = output_of(DELIVERING + SNAPSHOT, tmp_path)
    assert "6 passed, 0 failed" in output, output
