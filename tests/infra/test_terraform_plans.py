"""Plans of the Terraform module, made by Terraform itself, without AWS or an emulator."""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.terraform import MODULE, NEEDS_TERRAFORM, Terraform, output_of

pytestmark = NEEDS_TERRAFORM


class Plan(NamedTuple):
    """A plan of the module.

    given    the variables, in HCL
    holds    the conditions that hold of it
    refused  what refuses it, if something does
    mocks    what the plan cannot know, in HCL
    """

    given: str = ""
    holds: tuple[str, ...] = ()
    refused: str = ""
    mocks: str = ""

    def run(self, name: str) -> str:
        """The plan as a run of `terraform test`."""
        parts = ["  command = plan", self.mocks, f"  variables {{\n{self.given}\n  }}"]
        parts += [
            f'  assert {{\n    condition = {condition}\n    error_message = "not so"\n  }}'
            for condition in self.holds
        ]
        if self.refused:
            parts.append(f"  expect_failures = [{self.refused}]")
        return f"run {name} {{\n" + "\n".join(parts) + "\n}\n"


WORKER = "aws_lambda_function.worker"
VARIABLES = f"{WORKER}.environment[0].variables"
GIVEN = f"jsondecode({VARIABLES}.DUEBELL_DELIVERIES)"
ARN = "arn:aws:sqs:eu-central-1:123456789012"

#: By the name of the plan: each part is made if it is asked for, and not otherwise.
PLANS = {
    "by_default": Plan(
        holds=(
            "length(aws_sqs_queue.intake) + length(aws_lambda_event_source_mapping.intake) == 0",
            "output.intake_url == null && output.intake_dead_letters_url == null",
            'aws_dynamodb_table.queue.billing_mode == "PAY_PER_REQUEST"',
            "length(aws_appautoscaling_target.scaled) + length(aws_appautoscaling_policy.scaled) == 0",
            f"length({WORKER}.vpc_config) == 0",
            "length(aws_cloudwatch_metric_alarm.watched) + length(aws_sns_topic.alarms) == 0",
            f'{VARIABLES}.DUEBELL_METRICS == "off"',
            "length(aws_cloudwatch_event_rule.bell) == 1 && length(aws_scheduler_schedule.bell) == 0",
            f'{VARIABLES}.DUEBELL_BELL == "rule"',
            "length(flatten(values(local.deliveries_allowed))) == 0",
            f"length(aws_lambda_alias.live) == 0 && !{WORKER}.publish",
            f'{VARIABLES}.DUEBELL_FUNCTION == "duebell"',
            'aws_lambda_function_event_invoke_config.worker.qualifier == "$LATEST"',
        )
    ),
    "with_intake": Plan(
        given="intake = true\nalarms = true\ntimeout = 600",
        holds=(
            # Six times the function's timeout, and the batch window
            "one(aws_sqs_queue.intake[*].visibility_timeout_seconds) == 3601",
            f'{VARIABLES}.DUEBELL_INTAKE == "duebell-intake"',
            'contains(keys(aws_cloudwatch_metric_alarm.watched), "intake-dead-letters")',
        ),
    ),
    "provisioned": Plan(
        given='capacity = "provisioned"\nmin_write_units = 25',
        holds=(
            'aws_dynamodb_table.queue.billing_mode == "PROVISIONED"',
            "one(aws_dynamodb_table.queue.global_secondary_index).write_capacity == 25",
            "[for one in aws_appautoscaling_target.scaled : one.min_capacity] == [10, 25, 10, 25]",
            'aws_appautoscaling_target.scaled["past-writes"].resource_id == "table/duebell/index/past-index"',
            "length(aws_appautoscaling_policy.scaled) == 4",
        ),
    ),
    "placed_and_watched": Plan(
        given="""
            subnet_ids = ["subnet-1"]
            security_group_ids = ["sg-1"]
            layers = ["arn:aws:lambda:eu-central-1:123456789012:layer:tools:1"]
            permissions_boundary_arn = "arn:aws:iam::123456789012:policy/bounds"
            alarm_mail = "someone@example.com"
        """,
        holds=(
            f'one({WORKER}.vpc_config).subnet_ids == toset(["subnet-1"])',
            f"length({WORKER}.layers) == 1",
            "aws_iam_role.worker.permissions_boundary == var.permissions_boundary_arn",
            "length(aws_cloudwatch_metric_alarm.watched) == 8",
            'one(aws_sns_topic_subscription.alarms).endpoint == "someone@example.com"',
            f'{VARIABLES}.DUEBELL_METRICS == "on"',
        ),
    ),
    "half_placed": Plan(given='subnet_ids = ["subnet-1"]', refused=WORKER),
    "both_bells": Plan(
        given='bell = "schedule"\nother_bell = true',
        holds=(
            "length(aws_cloudwatch_event_rule.bell) == 1 && length(aws_scheduler_schedule.bell) == 1",
            "length(aws_lambda_permission.bell) == 1 && length(aws_iam_role.bell) == 1",
        ),
    ),
    "schedule": Plan(
        given='bell = "schedule"',
        holds=(
            "length(aws_cloudwatch_event_rule.bell) == 0 && length(aws_scheduler_schedule.bell) == 1",
            "length(aws_lambda_permission.bell) == 0 && length(aws_lambda_invocation.arm_schedule) == 1",
            f'{VARIABLES}.DUEBELL_BELL == "schedule"',
        ),
    ),
    "bogus_bell": Plan(given='bell = "gong"', refused="var.bell"),
    "delivering": Plan(
        given="""
            deliveries = {
              remind = { to = "arn:aws:sqs:eu-central-1:123456789012:reminders", form = "envelope" }
              again = {
                to = "arn:aws:sqs:eu-central-1:123456789012:reminders", on_failed = "remind"
                attempts = 3, at_most = 3, per_second = 0.5, closed = "sat,sun"
              }
              run = {
                to = "arn:aws:ecs:eu-central-1:123456789012:task-definition/report"
                run = {
                  cluster = "main", container = "app", subnets = ["subnet-1"]
                  roles = ["arn:aws:iam::123456789012:role/report"]
                }
              }
              start = { to = "arn:aws:states:eu-central-1:123456789012:stateMachine:dunning:live" }
              tell = {
                to = "https://example.com/hook", backoff = { first = 5, factor = 1.5 }
                secret = "arn:aws:ssm:eu-central-1:123456789012:parameter/signing"
              }
            }
            delivery_arns = ["arn:aws:lambda:eu-central-1:123456789012:function:remind:live"]
        """,
        holds=(
            # The worker reads what was given, without what was not
            f'{GIVEN}.remind == {{ to = "{ARN}:reminders", form = "envelope" }}',
            f'join(" ", keys({GIVEN}.again)) == "at_most attempts closed on_failed per_second to"',
            f"{GIVEN}.again.per_second == 0.5",
            f'join(" ", keys({GIVEN}.run.run)) == "cluster container roles subnets"',
            f"{GIVEN}.tell.backoff == {{ first = 5, factor = 1.5 }}",
            """{ for service, arns in local.deliveries_allowed : service => arns if length(arns) > 0 } == {
              ecs    = tolist(["arn:aws:ecs:eu-central-1:123456789012:task-definition/report:*"])
              iam    = tolist(["arn:aws:iam::123456789012:role/report"])
              lambda = tolist(["arn:aws:lambda:eu-central-1:123456789012:function:remind:live"])
              sqs    = tolist(["arn:aws:sqs:eu-central-1:123456789012:reminders"])
              ssm    = tolist(["arn:aws:ssm:eu-central-1:123456789012:parameter/signing"])
              states = tolist(["arn:aws:states:eu-central-1:123456789012:stateMachine:dunning"])
            }""",
        ),
    ),
    "too_many_deliveries": Plan(
        given="""
            deliveries = {
              for number in range(60) : "remind${number}" => {
                to = "arn:aws:sqs:eu-central-1:123456789012:reminders${number}"
              }
            }
        """,
        refused=WORKER,
    ),
    "from_a_snapshot": Plan(
        given="snap_start = true",
        mocks="""
          override_resource {
            target          = aws_lambda_alias.live
            override_during = plan
            values          = { arn = "arn:aws:lambda:eu-central-1:123456789012:function:duebell:live" }
          }
        """,
        holds=(
            f"{WORKER}.publish",
            f'one({WORKER}.snap_start).apply_on == "PublishedVersions"',
            "aws_cloudwatch_event_target.worker[0].arn == aws_lambda_alias.live[0].arn",
            f'{VARIABLES}.DUEBELL_FUNCTION == "duebell:live"',
            'aws_lambda_permission.bell[0].qualifier == "live"',
            'aws_lambda_function_event_invoke_config.worker.qualifier == "live"',
            'aws_lambda_invocation.arm[0].qualifier == "live"',
            'output.function_name == "duebell:live"',
        ),
    ),
    "too_old_for_snapshots": Plan(given='snap_start = true\nruntime = "python3.11"', refused=WORKER),
}


def test_each_part_is_made_if_it_is_asked_for_and_not_otherwise(tmp_path: Path) -> None:
    output = output_of("".join(plan.run(name) for name, plan in PLANS.items()), tmp_path)
    assert f"{len(PLANS)} passed, 0 failed" in output, output


@pytest.mark.parametrize(
    ("megabytes", "filename", "objects", "key"),
    [(49, '"bundle.zip"', 0, "null"), (51, "null", 1, '"bundles/${filesha256("bundle.zip")}.zip"')],
    ids=["directly", "by S3"],
)
def test_a_bundle_that_lambda_does_not_take_directly_goes_by_s3(
    tmp_path: Path, megabytes: int, filename: str, objects: int, key: str
) -> None:
    plan = Plan(
        holds=(
            f"{WORKER}.filename == {filename}",
            f"length(aws_s3_object.bundle) == {objects}",
            f"length(aws_s3_bucket_policy.bundles) == {objects}",
            f"{WORKER}.s3_key == {key}",
        )
    )
    assert "1 passed, 0 failed" in output_of(plan.run("planned"), tmp_path, megabytes=megabytes)


def test_the_example_is_valid_and_formatted_and_names_all_that_editors_need(tmp_path: Path) -> None:
    shutil.copytree(MODULE, tmp_path / "terraform")
    example = Terraform(tmp_path / "terraform" / "example", {})
    assert "The configuration is valid" in example.run("validate", "-no-color")
    assert example.run("fmt", "-check", "-recursive", str(MODULE)) == ""
    text = (MODULE / "example" / "main.tf").read_text()
    for name in ("DUEBELL_TABLE", "DUEBELL_RULE", "DUEBELL_FUNCTION"):
        assert name in text
