"""The intake queue on the embedded stack: what any SDK sends becomes a task, and fires."""

import json
import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from duebell import Editor, Status
from duebell_editor.status.health import ProblemKind
from duebell_infra.deploy.parameters import settings_of
from tests.e2e.deployer import Deployer
from tests.e2e.support import local_command, wait_for
from tests.e2e.test_deliveries import one_in, queue
from tests.infra.documented import ROOT, written

pytestmark = pytest.mark.e2e

HERE = "us-east-1:000000000000"
REMINDERS = f"remind=arn:aws:sqs:{HERE}:reminders"

#: The folder `node_modules` with the AWS SDK.
NODE_MODULES = os.environ.get("DUEBELL_NODE_MODULES", "")


def send(deployer: Deployer, name: str, body: object) -> str:
    """Send a message to a queue of this name; its id."""
    sqs = deployer.session.client("sqs")
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    return sqs.send_message(QueueUrl=url, MessageBody=json.dumps(body))["MessageId"]


def test_a_message_waits_in_duebell_and_comes_out_of_another_queue(deployer: Deployer) -> None:
    # Given a queue with unlimited delay: intake, and a delivery to another queue
    out = queue(deployer.session, "after-the-delay")
    editor = deployer.deploy(actions="", deliver={"remind": {"to": out}}, Intake="yes")
    intake = f"{deployer.name}-intake"
    # When one message adds a task, and one in the same list cannot be right
    good = {"action": "remind", "in": 1, "payload": {"user": 7}, "id": "a"}
    id = send(deployer, intake, [good, {"action": "remind", "dueDate": "tomorrow"}])
    # Then its payload arrives
    assert json.loads(one_in(deployer.session, out)["Body"]) == {"user": 7}
    # And the wrong one alone is among the dead letters, which are counted, with the reason
    [problem] = wait_for(lambda: editor.doctor().status.problems)
    assert problem.kind is ProblemKind.INTAKE_DEAD_LETTERS
    dead = one_in(deployer.session, f"arn:aws:sqs:{HERE}:{intake}-dead-letters")
    told = {name: one["StringValue"] for name, one in dead["MessageAttributes"].items()}
    assert json.loads(dead["Body"]) == {"action": "remind", "dueDate": "tomorrow"}
    assert told["duebell-field"] == "dueDate"
    assert (told["duebell-message"], told["duebell-place"]) == (id, "1")
    status = editor.doctor().status
    assert (status.intake_waiting, status.intake_dead_letters) == (0, 0)
    assert status.healthy
    # When messages stand in the dead-letter queues whose cause is gone, then they are sent again
    send(deployer, f"{intake}-dead-letters", {**good, "id": "b", "payload": {"user": 8}})
    send(deployer, f"{deployer.name}-failed-runs", {})
    assert [letter.queue for letter in editor.dead_letters()] == ["failed-runs", "intake"]
    assert (editor.redrive("intake"), editor.redrive("failed-runs")) == (1, 1)
    assert json.loads(one_in(deployer.session, out)["Body"]) == {"user": 8}
    assert editor.dead_letters() == ()


def test_events_of_a_bus_add_and_cancel_while_there_is_an_intake(deployer: Deployer) -> None:
    assert deployer.deploy().status().intake_waiting is None
    editor = deployer.deploy(Intake="yes")
    assert editor.doctor().status.healthy
    # Given a rule of the user's, by the pattern of the documentation
    events, bus = deployer.session.client("events"), f"bus-of-{deployer.name}"
    events.create_event_bus(Name=bus)
    page = (ROOT / "docs" / "intake.md").read_text()
    pattern = page.partition("--event-pattern '")[2].partition("'")[0]
    events.put_rule(Name="to-duebell", EventBusName=bus, EventPattern=pattern)
    arn = f"arn:aws:sqs:{HERE}:{deployer.name}-intake"
    events.put_targets(Rule="to-duebell", EventBusName=bus, Targets=[{"Id": "intake", "Arn": arn}])

    def put(kind: str, detail: object, source: str = "shop") -> None:
        entry = {"Source": source, "DetailType": kind, "Detail": json.dumps(detail), "EventBusName": bus}
        assert events.put_events(Entries=[entry])["FailedEntryCount"] == 0  # type: ignore[list-item]

    # When another service puts events on the bus
    put("duebell.add", {"action": "by another", "in": 3600, "id": "not mine"}, source="another")
    put("duebell.add", {"action": "remind", "in": 3600, "id": "mine"})
    wait_for(lambda: list(editor.find("mine").tasks))
    put("duebell.cancel", {"id": "mine"})
    # Then its own add and cancel take effect, and nothing of others
    wait_for(lambda: editor.get("mine").status is Status.CANCELLED)
    assert not editor.find("not").tasks
    # Given a mapping that somebody has disabled, the doctor says so
    functions = deployer.session.client("lambda")
    [mapping] = functions.list_event_source_mappings(FunctionName=deployer.name)["EventSourceMappings"]
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    [problem] = editor.doctor().status.problems
    assert problem.kind is ProblemKind.INTAKE_IDLE
    # When it is deployed without, it is gone with its queues
    deployer.deploy(Intake="no")
    assert not functions.list_event_source_mappings(FunctionName=deployer.name)["EventSourceMappings"]
    [gone] = editor.status().problems
    assert gone.kind is ProblemKind.INTAKE


@pytest.mark.skipif(shutil.which("aws") is None, reason="the AWS CLI is not installed")
def test_the_shown_ways_to_send_add_the_shown_tasks(tmp_path: Path) -> None:
    written(ROOT / "docs" / "how-to" / "send.md", tmp_path)
    with local_command(tmp_path / "state", "--intake", "--deliver", REMINDERS) as command:
        [line] = [one for one in command.printed.splitlines() if one.startswith("intake ")]
        environment = {**os.environ, **command.environment, "INTAKE_URL": line.split()[1]}
        # Version 1 of the AWS CLI passes over AWS_ENDPOINT_URL for SQS, and hears this option alone
        cli = tmp_path / "bin" / "aws"
        cli.parent.mkdir()
        cli.write_text(f'#!/bin/sh\nexec {shutil.which("aws")} --endpoint-url "$AWS_ENDPOINT_URL" "$@"\n')
        cli.chmod(0o700)
        environment["PATH"] = f"{cli.parent}{os.pathsep}{environment['PATH']}"
        settings = settings_of("duebell", {"Intake": "yes"})
        assert command.environment["DUEBELL_INTAKE"] == settings.intake
        editor = Editor(settings, session=command.session)

        def run(*arguments: str) -> None:
            done = subprocess.run(
                arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr

        in_two_weeks = datetime.now(UTC) + timedelta(days=14)
        run("sh", "-e", "send.sh")
        [task] = wait_for(lambda: editor.find("trial-42").tasks)
        assert (task.action, task.payload) == ("remind", {"user": 7})
        assert abs(task.due - in_two_weeks) < timedelta(hours=1)
        if NODE_MODULES and shutil.which("node"):
            (tmp_path / "node_modules").symlink_to(NODE_MODULES)
            run("node", "send.mjs")
            [task] = wait_for(lambda: editor.find("trial-7").tasks)
            assert (task.action, task.payload) == ("remind", {"user": 7})
            assert abs(task.due - in_two_weeks) < timedelta(hours=1)
        run("sh", "-e", "change.sh")
        wait_for(lambda: editor.get("trial-42").status is Status.CANCELLED)
        assert editor.get("trial-42").due == datetime(2030, 12, 31, tzinfo=UTC)
    if not NODE_MODULES:
        pytest.skip("DUEBELL_NODE_MODULES names no folder with @aws-sdk/client-sqs: Node was not tried")
