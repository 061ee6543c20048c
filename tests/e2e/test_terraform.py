"""The Terraform module with the real AWS provider, against the embedded stack's AWS."""

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from duebell import Editor, Settings, Status
from duebell_infra.bundle.bundle import build
from duebell_infra.bundle.target import Target
from duebell_infra.local.stack import EmbeddedStack
from duebell_shared.bell.expression import SENTINEL
from tests.e2e.support import ACTIONS, HERE, wait_for
from tests.e2e.test_ringing import SOON
from tests.support import SetFor
from tests.terraform import MODULE, NEEDS_TERRAFORM, Change, Terraform

pytestmark = [pytest.mark.e2e, *NEEDS_TERRAFORM]

NAME = "terraformed"
ROOT = """
variable "memory_size" {{ default = 512 }}
provider "aws" {{
  region                      = "{region}"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  max_retries                 = 1 # what goes wrong is seen at once
}}
module "duebell" {{
  source              = "./module"
  name                = "{name}"
  bundle              = "bundle.zip"
  worker              = "{actions}"
  memory_size         = var.memory_size
  deletion_protection = false
  saved_queries       = false # the emulator has none
  environment         = {{ GREETING = "hello" }}
  deliveries          = {{ remind = {{ to = aws_sqs_queue.reminders.arn }} }}
}}
resource "aws_sqs_queue" "reminders" {{ name = "reminders-by-terraform" }}
output "table" {{ value = module.duebell.table_name }}
output "rule" {{ value = module.duebell.rule_name }}
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """The module, where a test can bring out another version of it."""
    return Path(shutil.copytree(MODULE, tmp_path / "module"))


@pytest.fixture
def terraform(tmp_path: Path, module: Path, stack: EmbeddedStack) -> Iterator[Terraform]:
    """The module as a user's root configuration has it, on the embedded AWS."""
    (tmp_path / "bundle.zip").write_bytes(build(ACTIONS, Target.this_machine(), folder=HERE).data)
    region = stack.session.region_name
    (tmp_path / "main.tf").write_text(ROOT.format(name=NAME, actions=ACTIONS, region=region))
    terraform = Terraform(tmp_path, stack.environment)
    yield terraform
    terraform.destroy()
    if NAME in stack.session.client("dynamodb").list_tables()["TableNames"]:
        stack.session.client("dynamodb").delete_table(TableName=NAME)


def is_emulators(change: Change) -> bool:
    """True if the emulator made the difference up: it shows the provider alarms without their contents.

    A period of 0 seconds is what no alarm can have. moto gives the alarms back as they are.
    """
    return bool(change["type"] == "aws_cloudwatch_metric_alarm" and change["before"]["period"] == 0)


def bring_out_another_rule(module: Path) -> None:
    """A later version of the module, in which the rule and its target had to change."""
    file = module / "rule.tf"
    text = file.read_text()
    for old, new in {
        "[schedule_expression, state, description]": "[schedule_expression, state]",
        "Rings when": "Another version: rings when",
        "= 185": "= 100",
    }.items():
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)


def test_the_whole_way(terraform: Terraform, module: Path, stack: EmbeddedStack) -> None:
    events, dynamodb = stack.session.client("events"), stack.session.client("dynamodb")
    functions = stack.session.client("lambda")

    def rule() -> str:
        return events.describe_rule(Name=NAME)["ScheduleExpression"]

    # Given the module, applied
    terraform.apply()
    assert rule() == SENTINEL
    given = {name: one["value"] for name, one in json.loads(terraform.run("output", "-json")).items()}
    editor = Editor(Settings(table=given["table"], rule=given["rule"]), session=stack.session)
    assert editor.status().healthy

    # When tasks are added, the rule really rings, the bundle runs, and the rule is armed for the next
    editor.add("succeed", due=SOON, id="soon")
    later = editor.add("succeed", schedule="cron(0 0 1 1 ? 2100)", id="later")
    wait_for(lambda: editor.get("soon").status is Status.DONE)
    wait_for(lambda: rule() == SetFor(later.due))

    # And what is delivered arrives in the queue that was made with it
    editor.add("remind", due=SOON, payload={"trial": 42})
    sqs = stack.session.client("sqs")
    url = sqs.get_queue_url(QueueName="reminders-by-terraform")["QueueUrl"]
    [message] = wait_for(lambda: sqs.receive_message(QueueUrl=url).get("Messages"))
    assert json.loads(message["Body"]) == {"trial": 42}

    # Then a plan finds nothing to change, above all not the rule
    assert [change["type"] for change in terraform.plan() if not is_emulators(change)] == []

    # And a setting can change: the rule stays armed, and the worker is invoked once
    changed = terraform.plan("-var", "memory_size=1024")
    assert {change["type"] for change in changed if not is_emulators(change)} == {
        "aws_lambda_function",
        "aws_lambda_invocation",
    }
    terraform.apply_plan()
    assert functions.get_function_configuration(FunctionName=NAME)["MemorySize"] == 1024
    assert rule() == SetFor(later.due)

    # And so it stays when the rule itself must change, even if it was armed anew since the plan was made
    bring_out_another_rule(module)
    terraform.plan("-var", "memory_size=1024")
    sooner = editor.add("succeed", due=datetime(2099, 1, 1, tzinfo=UTC), id="sooner")
    terraform.apply_plan()
    assert events.describe_rule(Name=NAME)["Description"].startswith("Another version")
    [target] = events.list_targets_by_rule(Rule=NAME)["Targets"]
    assert target["RetryPolicy"]["MaximumRetryAttempts"] == 100
    assert rule() == SetFor(sooner.due)
    assert editor.status().healthy

    # And the table outlives the rest when it is taken out of Terraform's hands first
    terraform.run("state", "rm", "module.duebell.aws_dynamodb_table.queue")
    terraform.destroy()
    assert dynamodb.list_tables()["TableNames"].count(NAME) == 1
    assert editor.get("later").due == later.due
