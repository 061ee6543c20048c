"""The Terraform module by itself, as Terraform checks it: no AWS, and no emulator of it."""

import shutil
from pathlib import Path

import pytest

from tests.terraform import MODULE, NEEDS_TERRAFORM, Terraform, output_of

pytestmark = NEEDS_TERRAFORM


@pytest.fixture
def example(tmp_path: Path) -> Terraform:
    """The example root, beside the module as in the repository."""
    shutil.copytree(MODULE, tmp_path / "terraform")
    return Terraform(tmp_path / "terraform" / "example", {})


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
    condition     = one(aws_sqs_queue.intake[*].visibility_timeout_seconds) == 3601
    error_message = "six times the function's timeout, and the batch window"
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


def test_each_part_is_made_if_it_is_asked_for_and_not_otherwise(tmp_path: Path) -> None:
    output = output_of(INTAKE + CAPACITY + PLACED + BELLS, tmp_path)
    assert "11 passed, 0 failed" in output, output


def test_the_example_names_all_that_editors_need() -> None:
    example = (MODULE / "example" / "main.tf").read_text()
    for name in ("DUEBELL_TABLE", "DUEBELL_RULE", "DUEBELL_FUNCTION"):
        assert name in example


def test_the_example_is_valid_and_formatted(example: Terraform) -> None:
    assert "The configuration is valid" in example.run("validate", "-no-color")
    assert example.run("fmt", "-check", "-recursive", str(MODULE)) == ""
