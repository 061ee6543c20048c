"""Two of the designs on the embedded stack; `make compare` runs all that can run there."""

from datetime import UTC, datetime, timedelta

import pytest
from alternatives.design import Task
from alternatives.emulated import journal
from alternatives.emulated.machine import EmulatedMachine
from alternatives.sqs_chained import SqsChained
from alternatives.step_functions import StepFunctions

from duebell_infra.local.stack import EmbeddedStack
from tests.e2e.support import wait_for


@pytest.mark.e2e
def test_functions_of_designs_act_when_tasks_are_due(stack: EmbeddedStack) -> None:
    # Given two designs in the stack, each with a task, and one that is cancelled
    machine = EmulatedMachine(stack.session)
    dynamodb = machine.client("dynamodb")
    journal.create(dynamodb)
    designs = [StepFunctions(machine), SqsChained(machine)]
    for design in designs:
        design.deploy()
    due = datetime.now(UTC) + timedelta(seconds=3)
    for design in designs:
        design.add(Task(id=f"{design.name}-one", due=due, payload={"fails": 0}))
    designs[0].add(Task(id="cancelled", due=due))
    designs[0].cancel("cancelled")
    # Then they are done once, and not before
    wanted = {f"{design.name}-one" for design in designs}
    wait_for(lambda: {id for id, _, is_done in journal.read(dynamodb) if is_done} >= wanted)
    starts = journal.read(dynamodb)
    assert {id for id, _, _ in starts} == wanted
    assert min(at for _, at, _ in starts) >= due
    for design in designs:
        design.destroy()
    assert not machine.client("stepfunctions").list_state_machines()["stateMachines"]
    dynamodb.delete_table(TableName=journal.TABLE)
