"""The CloudFormation template, and a stack of it: applies it with parameters or deletes it, step by step."""

import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from botocore.exceptions import ClientError

from duebell_infra.aws import aws_calls, code_of
from duebell_infra.errors import DeployFailed

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudformation.type_defs import StackEventTypeDef, StackTypeDef

#: Seconds that a change may take; a table or a function is there in one or two minutes.
_LIMIT = 30 * 60.0
#: Seconds between two checks, growing: the embedded stack is quick.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 3.0

#: The statuses of a stack after a creation or deletion that failed: it can only be deleted.
_ONLY_DELETABLE = {"CREATE_FAILED", "DELETE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED"}
#: The status of a stack with a change set that would create it.
_NOT_CREATED = "REVIEW_IN_PROGRESS"


class Stack:
    """The stack of this name; `progress` is given a line for every step of a change."""

    def __init__(self, client: "CloudFormationClient", name: str, *, progress: Callable[[str], None]) -> None:
        self._client = client
        self.name = name
        self._progress = progress
        self._seen: set[str] = set()

    def parameters(self) -> dict[str, str]:
        """The parameters that the stack was deployed with; empty if there is none that can be updated."""
        stack = self._updatable()
        given = stack.get("Parameters", []) if stack else []
        return {one["ParameterKey"]: one["ParameterValue"] for one in given}

    def outputs(self) -> dict[str, str]:
        """The stack's outputs; empty if there is no stack."""
        stack = self._describe(self.name)
        given = stack.get("Outputs", []) if stack else []
        return {one["OutputKey"]: one["OutputValue"] for one in given}

    def apply(self, template: str, parameters: Mapping[str, str], *, tags: Mapping[str, str]) -> str:
        """Create the stack, or update what differs; return `created`, `updated` or `nothing to change`.

        The remains of a creation that failed are deleted first. Raises DeployFailed with AWS's reasons.
        """
        with aws_calls(f"the stack {self.name}"):
            self._delete_remains()
            kind: Literal["CREATE", "UPDATE"] = "UPDATE" if self._updatable() else "CREATE"
            made = self._client.create_change_set(
                StackName=self.name,
                ChangeSetName=f"duebell-{uuid.uuid4().hex}",
                ChangeSetType=kind,
                TemplateBody=template,
                Parameters=[{"ParameterKey": key, "ParameterValue": parameters[key]} for key in parameters],
                Capabilities=["CAPABILITY_IAM"],
                Tags=[{"Key": key, "Value": value} for key, value in tags.items()],
            )
            if not self._is_ready(made["Id"]):
                self._client.delete_change_set(ChangeSetName=made["Id"])
                return "nothing to change"
            self._see_events(made["StackId"])
            self._client.execute_change_set(ChangeSetName=made["Id"])
            self._follow(made["StackId"], f"{kind}_COMPLETE")
        return f"{kind.lower()}d"

    def delete(self) -> bool:
        """Delete the stack, except what it keeps. Returns False if there is none. Raises DeployFailed."""
        with aws_calls(f"the stack {self.name}"):
            stack = self._describe(self.name)
            if stack is None:
                return False
            self._see_events(stack["StackId"])
            self._client.delete_stack(StackName=stack["StackId"])
            self._follow(stack["StackId"], "DELETE_COMPLETE")
        return True

    def _updatable(self) -> "StackTypeDef | None":
        stack = self._describe(self.name)
        return stack if stack and stack["StackStatus"] not in {_NOT_CREATED, *_ONLY_DELETABLE} else None

    def _delete_remains(self) -> None:
        """Delete what a creation that failed has left. Raises DeployFailed if a change is under way."""
        stack = self._describe(self.name)
        status = stack["StackStatus"] if stack else ""
        if status in _ONLY_DELETABLE:
            self._progress(f"an earlier try left the stack {self.name} in {status}: deleting it first")
            self.delete()
        elif status.endswith("_IN_PROGRESS") and status != _NOT_CREATED:
            raise DeployFailed(
                f"the stack {self.name} is being changed already ({status}): wait till it is done"
            )

    def _is_ready(self, change: str) -> bool:
        """Wait for the change set; False when it would change nothing."""
        for pause in _pauses():
            found = self._client.describe_change_set(ChangeSetName=change)
            if found["Status"] == "CREATE_COMPLETE":
                return True
            if found["Status"] == "FAILED":
                reason = found.get("StatusReason", "")
                if "didn't contain changes" in reason or "No updates" in reason:
                    return False
                raise DeployFailed(f"the stack {self.name}: {reason}")
            time.sleep(pause)
        raise DeployFailed(f"the stack {self.name}: the change set did not become ready")

    def _follow(self, stack_id: str, wanted: str) -> None:
        """Report each step until the change has ended. Raises DeployFailed unless it ends as `wanted`."""
        reasons: list[str] = []
        for pause in _pauses():
            stack = self._describe(stack_id)
            status = stack["StackStatus"] if stack else "DELETE_COMPLETE"
            for event in self._see_events(stack_id):
                step, what = event.get("ResourceStatus", ""), event.get("LogicalResourceId", "")
                because = event.get("ResourceStatusReason", "") if step.endswith("_FAILED") else ""
                self._progress(f"  {step:<20} {what}{f': {because}' if because else ''}")
                if because and "cancelled" not in because:  # it was cancelled because another one failed
                    reasons.append(f"{what}: {because}")
            if status == wanted:
                return
            if not status.endswith("_IN_PROGRESS"):
                why = "; ".join(reasons) or "no reason given"
                raise DeployFailed(f"the stack {self.name} is in {status}: {why}")
            time.sleep(pause)
        raise DeployFailed(f"the stack {self.name} was not done after {_LIMIT / 60:.0f} minutes; look in AWS")

    def _see_events(self, stack_id: str) -> list["StackEventTypeDef"]:
        """The events since the last call, in their order."""
        new: list[StackEventTypeDef] = []
        try:
            for page in self._client.get_paginator("describe_stack_events").paginate(StackName=stack_id):
                fresh = [event for event in page["StackEvents"] if event["EventId"] not in self._seen]
                new += fresh
                if len(fresh) < len(page["StackEvents"]):
                    break
        except ClientError as error:
            if not _is_missing(error):
                raise
        self._seen.update(event["EventId"] for event in new)
        return new[::-1]

    def _describe(self, name: str) -> "StackTypeDef | None":
        with aws_calls(f"the stack {name}"):
            try:
                stacks = self._client.describe_stacks(StackName=name)["Stacks"]
            except ClientError as error:
                if _is_missing(error):
                    return None
                raise
        return stacks[0] if stacks else None


def _is_missing(error: ClientError) -> bool:
    return code_of(error) == "ValidationError" and "does not exist" in str(error)


def _pauses() -> Iterator[float]:
    """Seconds to wait between checks, growing, until the limit is reached."""
    give_up = time.monotonic() + _LIMIT
    pause = _FIRST_PAUSE
    while time.monotonic() < give_up:
        yield pause
        pause = min(pause * 1.5, _LONGEST_PAUSE)


#: The template: beside this package's folder or, once installed, inside it.
_TEMPLATE = "template.yaml"


def template_file() -> Path:
    """The file of the template. Raises DeployFailed."""
    here = Path(__file__).parents[1]
    for place in (here / _TEMPLATE, here.parent / _TEMPLATE):
        if place.is_file():
            return place
    raise DeployFailed(f"{_TEMPLATE} is missing from {here}: install duebell again")


def template_text() -> str:
    """The template without its comments, as `duebell deploy` sends it.

    CloudFormation takes at most 51,200 bytes with a call.
    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
    """
    return re.sub(r"(?m)^ *(#.*)?\n", "", template_file().read_text(encoding="utf-8"))
