"""Step Functions: a state that waits, and one that acts, with its retries."""

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from .refusals import refusal

if TYPE_CHECKING:
    from .account import Account

__all__ = ["StepFunctions"]


class _Execution(msgspec.Struct):
    name: str
    input: dict[str, Any]
    status: str = "RUNNING"


class StepFunctions:
    """State machines by ARN, and their executions."""

    def __init__(self, account: "Account") -> None:
        self._account = account
        self._machines: dict[str, dict[str, Any]] = {}
        self._executions: dict[str, _Execution] = {}

    def create_state_machine(self, name: str, definition: str, **_: Any) -> dict[str, Any]:
        arn = f"arn:aws:states:us-east-1:000000000000:stateMachine:{name}"
        self._machines[arn] = json.loads(definition)
        return {"stateMachineArn": arn}

    def delete_state_machine(self, stateMachineArn: str) -> dict[str, Any]:
        del self._machines[stateMachineArn]
        return {}

    def start_execution(self, stateMachineArn: str, name: str, input: str) -> dict[str, Any]:
        if name in self._executions:
            raise refusal("ExecutionAlreadyExists", f"there is or was an execution {name}")
        execution = self._executions[name] = _Execution(name, json.loads(input))
        definition = self._machines[stateMachineArn]
        self._enter(execution, definition["States"], definition["StartAt"])
        return {"executionArn": name}

    def stop_execution(self, executionArn: str) -> dict[str, Any]:
        self._executions[executionArn].status = "ABORTED"
        return {}

    def list_executions(self, stateMachineArn: str, statusFilter: str) -> dict[str, Any]:
        if stateMachineArn not in self._machines:
            raise refusal("StateMachineDoesNotExist", f"there is no state machine {stateMachineArn}")
        found = [each for each in self._executions.values() if each.status == statusFilter]
        return {"executions": [{"name": each.name, "executionArn": each.name} for each in found]}

    def _enter(self, execution: _Execution, states: dict[str, Any], name: str) -> None:
        self._account.billed["transition"] += 1
        state = states[name]
        if state["Type"] == "Wait":
            until = datetime.fromisoformat(execution.input[state["TimestampPath"].removeprefix("$.")])
            late = timedelta(seconds=self._account.manners.wait(self._account.random))
            self._account.world.at(until + late, lambda: self._go_on(execution, states, state["Next"]))
        else:
            [retry] = state["Retry"]
            self._act(execution, state, int(retry["MaxAttempts"]), float(retry["IntervalSeconds"]))

    def _go_on(self, execution: _Execution, states: dict[str, Any], name: str) -> None:
        if execution.status == "RUNNING":
            self._enter(execution, states, name)

    def _act(self, execution: _Execution, state: dict[str, Any], tries: int, pause: float) -> None:
        """Invoke the function; and again if it fails, so many times, with longer and longer pauses."""
        [retry] = state["Retry"]

        def ended(has_succeeded: bool) -> None:
            if has_succeeded or not tries:
                execution.status = "SUCCEEDED" if has_succeeded else "FAILED"
                return
            self._account.billed["transition"] += 1
            longer = pause * retry["BackoffRate"]
            self._account.world.after(pause, lambda: self._act(execution, state, tries - 1, longer))

        self._account.functions.run(state["Resource"].rpartition(":")[2], execution.input, ended)
