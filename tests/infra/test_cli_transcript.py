"""The commands about the stack, over a CloudFormation of this test: tests/infra/transcript.txt."""

import json
import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from duebell_editor.cli import account
from duebell_editor.cli.program import run
from duebell_infra import commands
from duebell_infra.bundle.bundle import Bundle
from duebell_infra.deploy import deploy
from duebell_infra.errors import AlreadyRunning
from duebell_infra.local import service
from duebell_shared.aws.aws_session import QuickLoader
from duebell_shared.deliveries.delivery import delivery_of
from tests.support import create_function, let_ring
from tests.transcript import compare, masked

pytestmark = [pytest.mark.slow, pytest.mark.moto, pytest.mark.usefixtures("own_log")]

FILE = Path(__file__).with_name("transcript.txt")
READS = re.compile("(Describe|Get|List|Head|Query).*|.*Item")
INTAKE = {"IntakeUrl": "https://intake", "IntakeArn": "arn:intake"}
DUE = delivery_of({"name": "due", "to": "arn:aws:sns:eu-central-1:123456789012:due"})


class Aws:
    """moto with one stack, after the answers that the file gives: JSON, or an error's code and message."""

    def __init__(self) -> None:
        self.given, self.stack = defaultdict[str, list[str]](list), dict[str, str]()
        self.wanted, self.kind, self.others = dict[str, str](), "", vars(BaseClient)["_make_api_call"]

    def answer(self, client: Any, operation: str, asked: Any) -> Any:
        shown = {name: value for name, value in asked.items() if name not in {"TemplateBody", "Parameters"}}
        if operation == "CreateChangeSet":
            self.kind = asked["ChangeSetType"]
            self.wanted = {one["ParameterKey"]: one["ParameterValue"] for one in asked["Parameters"]}
            shown |= dict(sorted(self.wanted.items() - self.stack.items()))
        if not READS.fullmatch(operation):
            print(">", operation, json.dumps(shown, default=str))
        if not (texts := self.given[operation]) and operation == "DescribeStacks" and not self.stack:
            texts = ["ValidationError Stack does not exist"]
        if texts and not texts[0].startswith("{"):
            code, _, message = texts.pop(0).partition(" ")
            raise ClientError({"Error": {"Code": code, "Message": message}}, operation)
        if operation == "ExecuteChangeSet":
            self.stack = self.wanted
        if operation == "DeleteStack":
            self.stack = {}
        return json.loads(texts.pop(0)) if texts else self.usual(client, operation, asked)

    def usual(self, client: Any, operation: str, asked: Any) -> Any:
        parameters = [{"ParameterKey": name, "ParameterValue": value} for name, value in self.stack.items()]
        made = {"EditorPolicyArn": "arn:policy", **(INTAKE if self.stack.get("Intake") == "yes" else {})}
        outputs = [{"OutputKey": name, "OutputValue": value} for name, value in made.items()]
        status = {"StackStatus": f"{self.kind}_COMPLETE", "StackId": "stack"}
        same = {"Status": "FAILED", "StatusReason": "The submitted information didn't contain changes."}
        answers: dict[str, dict[str, Any]] = {
            "DescribeStacks": {"Stacks": [{**status, "Parameters": parameters, "Outputs": outputs}]},
            "CreateChangeSet": {"Id": "change", "StackId": "stack"},
            "DescribeChangeSet": same if self.wanted == self.stack else {"Status": "CREATE_COMPLETE"},
            "DescribeStackEvents": {"StackEvents": []},
            "Invoke": {"StatusCode": 200},
        }
        if operation in {"ExecuteChangeSet", "DeleteChangeSet", "DeleteStack", "PutBucketPolicy"}:
            return {}
        return answers[operation] if operation in answers else self.others(client, operation, asked)


def build(actions: str | None, target: object, *, environment: Any = None, **given: Any) -> Bundle:
    """A small bundle, once it has printed what it is to be built of."""
    print(f"> build {actions} for {target}: {json.dumps([environment, given], default=str)}")
    deliveries = {"jobs:delivers": (DUE,), "jobs:unknown": None}.get(str(actions), ())
    made: Any = {"data": b"zip", "actions": actions or "", "target": target, "files": 1, "unpacked": 3}
    return Bundle(**made, deliveries=deliveries, notes=("not compiled",) if given["requirements"] else ())


def serve(state: Path, **given: Any) -> str:
    """Tell how the stack of this machine is to be served, unless it runs already."""
    if state.name == "taken":
        raise AlreadyRunning(f"the stack in {state} runs already")
    print("> serve", json.dumps([state, given], default=lambda one: "" if callable(one) else str(one)))
    return "ready\n"


def test_commands_print_and_ask_of_aws_what_they_did_before(
    session: boto3.Session,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    create_function(session)
    let_ring(session)
    aws, now = Aws(), ""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr("duebell_worker.log.to_stdout", lambda: None)
    monkeypatch.setattr(account, "QuickLoader", cache(QuickLoader))
    monkeypatch.setattr(BaseClient, "_make_api_call", lambda *call: aws.answer(*call))  # noqa: PLW0108 (a method)
    for module in (commands, deploy):
        monkeypatch.setattr(module, "build", build)
    monkeypatch.setattr(service, "serve", serve)
    monkeypatch.setattr(service, "start", lambda state, arguments: serve(state, arguments=arguments))
    for line in re.findall(r"(?m)^[#$] .*$", FILE.read_text(encoding="utf-8")):
        operation, _, text = line[2:].partition(" ")
        out = ""
        if line[0] == "$":
            monkeypatch.setattr(sys, "argv", ["duebell", *line[2:].split()])
            with pytest.raises(SystemExit) as ended:
                run()
            aws.given.clear()
            out = f"{masked(''.join(capsys.readouterr()))}exit {ended.value.code}\n"
        elif operation == "file":
            name, _, content = text.partition(" ")
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(content, encoding="utf-8")
        else:
            aws.given[operation].append(text)
        now += f"{line}\n{out}"
    compare(FILE, now)
