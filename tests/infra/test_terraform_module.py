"""The Terraform module by itself, as Terraform checks it: no AWS, and no emulator of it."""

import shutil
from pathlib import Path

import pytest

from tests.terraform import MODULE, NEEDS_TERRAFORM, Terraform

pytestmark = NEEDS_TERRAFORM


@pytest.fixture
def example(tmp_path: Path) -> Terraform:
    """The example root, beside the module as in the repository."""
    shutil.copytree(MODULE, tmp_path / "terraform")
    return Terraform(tmp_path / "terraform" / "example", {})


#: The head of each test: no AWS is asked, and the bundle is what `output_of` writes.
MOCKED = """
mock_provider "aws" {
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{}" }
  }
}
variables {
  bundle = "bundle.zip"
}
"""


def output_of(runs: str, folder: Path, *, megabytes: int = 0) -> str:
    """The output of `terraform test` for these runs of the module, with a bundle of this size."""
    module = Path(shutil.copytree(MODULE, folder / "module"))
    with (module / "bundle.zip").open("wb") as bundle:
        bundle.truncate(megabytes * 1_000_000)
    (module / "runs.tftest.hcl").write_text(MOCKED + runs)
    return Terraform(module, {}).run("test", "-no-color")


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


INTAKE = """
run "without" {
  command = plan
  assert {
    condition     = length(aws_sqs_queue.intake) + length(aws_lambda_event_source_mapping.intake) == 0
    error_message = "no intake"
  }
  assert {
    condition     = output.intake_url == null && output.intake_dead_letters_url == null
    error_message = "no outputs of it"
  }
}
run "with" {
  command = plan
  variables {
    intake  = true
    alarms  = true
    timeout = 600
  }
  assert {
    condition     = one(aws_sqs_queue.intake[*].visibility_timeout_seconds) == 600
    error_message = "Lambda wants it no shorter than the function's timeout"
  }
  assert {
    condition     = aws_lambda_function.worker.environment[0].variables.DUEBELL_INTAKE == "duebell-intake"
    error_message = "its name"
  }
  assert {
    condition     = contains(keys(aws_cloudwatch_metric_alarm.watched), "intake-dead-letters")
    error_message = "its alarm"
  }
}
"""


def test_the_intake_is_made_when_it_is_asked_for(tmp_path: Path) -> None:
    assert "2 passed, 0 failed" in output_of(INTAKE, tmp_path)


CAPACITY = """
run "on_demand" {
  command = plan
  assert {
    condition     = aws_dynamodb_table.queue.billing_mode == "PAY_PER_REQUEST"
    error_message = "billing mode"
  }
  assert {
    condition     = length(aws_appautoscaling_target.scaled) + length(aws_appautoscaling_policy.scaled) == 0
    error_message = "nothing to scale"
  }
}
run "provisioned" {
  command = plan
  variables {
    capacity        = "provisioned"
    min_write_units = 25
  }
  assert {
    condition     = aws_dynamodb_table.queue.billing_mode == "PROVISIONED"
    error_message = "billing mode"
  }
  assert {
    condition     = one(aws_dynamodb_table.queue.global_secondary_index).write_capacity == 25
    error_message = "the index's units"
  }
  assert {
    condition     = [for one in aws_appautoscaling_target.scaled : one.min_capacity] == [10, 25, 10, 25]
    error_message = "the bounds"
  }
  assert {
    condition = (
      aws_appautoscaling_target.scaled["past-writes"].resource_id == "table/duebell/index/past-index"
    )
    error_message = "the index's own"
  }
  assert {
    condition     = length(aws_appautoscaling_policy.scaled) == 4
    error_message = "a policy each"
  }
}
"""


def test_capacity_is_provisioned_and_scaled_if_asked_for(tmp_path: Path) -> None:
    assert "2 passed, 0 failed" in output_of(CAPACITY, tmp_path)


PLACED = """
run "by_default" {
  command = plan
  assert {
    condition     = length(aws_lambda_function.worker.vpc_config) == 0
    error_message = "no VPC"
  }
  assert {
    condition     = length(aws_cloudwatch_metric_alarm.watched) + length(aws_sns_topic.alarms) == 0
    error_message = "nothing that costs while it stands"
  }
  assert {
    condition     = one(aws_lambda_function.worker.environment).variables.DUEBELL_METRICS == "off"
    error_message = "no metrics"
  }
}
run "placed_and_watched" {
  command = plan
  variables {
    subnet_ids               = ["subnet-1"]
    security_group_ids       = ["sg-1"]
    layers                   = ["arn:aws:lambda:eu-central-1:123456789012:layer:tools:1"]
    permissions_boundary_arn = "arn:aws:iam::123456789012:policy/bounds"
    alarm_mail               = "someone@example.com"
  }
  assert {
    condition     = one(aws_lambda_function.worker.vpc_config).subnet_ids == toset(["subnet-1"])
    error_message = "the subnets"
  }
  assert {
    condition     = length(aws_lambda_function.worker.layers) == 1
    error_message = "the layers"
  }
  assert {
    condition     = aws_iam_role.worker.permissions_boundary == var.permissions_boundary_arn
    error_message = "the boundary"
  }
  assert {
    condition     = length(aws_cloudwatch_metric_alarm.watched) == 8
    error_message = "the alarms"
  }
  assert {
    condition     = one(aws_sns_topic_subscription.alarms).endpoint == "someone@example.com"
    error_message = "whom they tell"
  }
  assert {
    condition     = one(aws_lambda_function.worker.environment).variables.DUEBELL_METRICS == "on"
    error_message = "the metrics that they watch"
  }
}
run "half_placed" {
  command = plan
  variables {
    subnet_ids = ["subnet-1"]
  }
  expect_failures = [aws_lambda_function.worker]
}
"""


def test_it_goes_where_it_is_wanted_and_tells_who_is_to_be_told(tmp_path: Path) -> None:
    assert "3 passed, 0 failed" in output_of(PLACED, tmp_path)


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
      again  = { to = "arn:aws:sqs:eu-central-1:123456789012:reminders" }
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
      again  = { to = "arn:aws:sqs:eu-central-1:123456789012:reminders" }
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


def test_the_worker_may_do_what_its_deliveries_need_and_no_more(tmp_path: Path) -> None:
    assert "3 passed, 0 failed" in output_of(DELIVERING, tmp_path)


def test_the_example_names_all_that_editors_need() -> None:
    example = (MODULE / "example" / "main.tf").read_text()
    for name in ("DUEBELL_TABLE", "DUEBELL_RULE", "DUEBELL_FUNCTION"):
        assert name in example


def test_the_example_is_valid_and_formatted(example: Terraform) -> None:
    assert "The configuration is valid" in example.run("validate", "-no-color")
    assert example.run("fmt", "-check", "-recursive", str(MODULE)) == ""


BELLS = """
run "rule" {
  command = plan
  assert {
    condition     = length(aws_cloudwatch_event_rule.bell) == 1 && length(aws_scheduler_schedule.bell) == 0
    error_message = "the rule alone"
  }
  assert {
    condition     = aws_lambda_function.worker.environment[0].variables.DUEBELL_BELL == "rule"
    error_message = "the worker's bell"
  }
}
run "both" {
  command = plan
  variables {
    bell       = "schedule"
    other_bell = true
  }
  assert {
    condition     = length(aws_cloudwatch_event_rule.bell) == 1 && length(aws_scheduler_schedule.bell) == 1
    error_message = "both"
  }
  assert {
    condition     = length(aws_lambda_permission.bell) == 1 && length(aws_iam_role.bell) == 1
    error_message = "both may wake the worker"
  }
}
run "schedule" {
  command = plan
  variables {
    bell = "schedule"
  }
  assert {
    condition     = length(aws_cloudwatch_event_rule.bell) == 0 && length(aws_scheduler_schedule.bell) == 1
    error_message = "the schedule alone"
  }
  assert {
    condition     = length(aws_lambda_permission.bell) == 0 && length(aws_lambda_invocation.arm_schedule) == 1
    error_message = "only the schedule wakes the worker, which arms it"
  }
  assert {
    condition     = aws_lambda_function.worker.environment[0].variables.DUEBELL_BELL == "schedule"
    error_message = "the worker's bell"
  }
}
run "bogus" {
  command = plan
  variables {
    bell = "gong"
  }
  expect_failures = [var.bell]
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


def test_the_bell_is_the_rule_or_the_schedule_or_both_are_there(tmp_path: Path) -> None:
    assert "4 passed, 0 failed" in output_of(BELLS, tmp_path)


def test_the_worker_starts_from_a_snapshot_if_asked_for(tmp_path: Path) -> None:
    output = output_of(SNAPSHOT, tmp_path)
    assert "3 passed, 0 failed" in output, output
