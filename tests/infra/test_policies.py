"""The policies of the template, held against every call that an editor and a worker make."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from cfnlint.decode import decode  # type: ignore[import-untyped]

from duebell_editor import Editor
from duebell_infra.template import template_text
from duebell_shared.backend import Backend
from duebell_shared.settings import Settings
from duebell_worker import Worker
from tests.support import REGION, Clock

HOUR = timedelta(hours=1)
ACCOUNT = "123456789012"
VALUES = {"Name": "duebell", "AWS::Partition": "aws", "AWS::Region": REGION, "AWS::AccountId": ACCOUNT}

Statements = list[dict[str, Any]]


@pytest.fixture(scope="module")
def resources(tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("template") / "template.yaml"
    file.write_text(template_text())
    return decode(str(file))[0]["Resources"]


def statements_of(document: Any) -> Statements:
    """The statements as CloudFormation makes them with the parameters' defaults."""
    return [resolved for one in document["Statement"] if (resolved := _resolved(one)) is not None]


def _resolved(value: Any) -> Any:
    if isinstance(value, dict):
        if "Fn::If" in value:
            return None  # all of these are off unless asked for
        if "Fn::Sub" in value:
            return re.sub(r"\$\{([^}]+)\}", lambda name: VALUES[name[1]], value["Fn::Sub"])
        if "Fn::GetAtt" in value:
            return f"arn of {value['Fn::GetAtt']}"
        return {key: _resolved(inner) for key, inner in value.items()}
    return [_resolved(inner) for inner in value] if isinstance(value, list) else value


def is_allowed(statements: Statements, action: str, resource: str) -> bool:
    for statement in statements:
        actions = statement["Action"]
        if (
            action in ([actions] if isinstance(actions, str) else actions)
            and statement["Resource"] == resource
        ):
            return True
    return False


class Guarded:
    """A session that makes only the calls that the statements allow, and remembers which it made."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self.made: set[tuple[str, str]] = set()
        self.session = boto3.Session(region_name=REGION)
        self.session.events.register("before-parameter-build", self._check)

    def _check(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        action = f"{model.service_model.endpoint_prefix}:{model.name}"
        for resource in _resources(model.service_model.endpoint_prefix, params):
            if not is_allowed(self._statements, action, resource):
                error = {"Error": {"Code": "AccessDeniedException", "Message": f"{action} on {resource}"}}
                raise ClientError(error, model.name)  # type: ignore[arg-type]
            self.made.add((action, resource))


def _resources(service: str, params: dict[str, Any]) -> Iterator[str]:
    if service == "dynamodb":
        for table in [params["TableName"]] if "TableName" in params else params.get("RequestItems", ["*"]):
            index = f"/index/{params['IndexName']}" if "IndexName" in params else ""
            yield f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}{index}"
    else:
        yield f"arn:aws:{service}:{REGION}:{ACCOUNT}:rule/{params.get('Rule') or params.get('Name')}"


def everything_an_editor_does(editor: Editor, fail: Callable[[], object]) -> None:
    editor.add("act", due=HOUR, id="a")
    editor.add("act", due=HOUR, id="a", if_exists="replace")
    editor.add_many({"action": "act", "due": HOUR * number, "id": f"m{number}"} for number in range(1, 4))
    editor.add("act", schedule="rate(1 hour)", id="r")
    editor.get("a")
    editor.list()
    editor.list(status=["done", "failed"])
    editor.move("a", due=HOUR / 2)
    editor.update("a", payload=1)
    editor.pause("a")
    editor.resume("a")
    editor.run_now("r")
    editor.add("unknown", due=timedelta(0), id="f")
    fail()
    editor.retry("f")
    editor.cancel("a")
    editor.status(thorough=True)
    editor.ensure_armed()


def test_an_editor_may_do_all_it_does_and_no_more(
    resources: Any, session: boto3.Session, backend: Backend, clock: Clock
) -> None:
    allowed = statements_of(resources["EditorPolicy"]["Properties"]["PolicyDocument"])
    guarded = Guarded(allowed)
    editor = Editor(backend=Backend.connect(Settings(), guarded.session, clock=clock, sleep=clock.sleep))

    everything_an_editor_does(editor, fail=Worker(backend=backend).run)

    assert editor.status().healthy
    assert guarded.made == set(_all(allowed))


def test_a_worker_may_do_all_it_does(
    resources: Any, session: boto3.Session, editor: Editor, clock: Clock
) -> None:
    role = resources["Role"]["Properties"]["Policies"][0]["PolicyDocument"]
    guarded = Guarded(statements_of(role))
    settings = Settings(metrics=True)
    worker = Worker(backend=Backend.connect(settings, guarded.session, clock=clock, sleep=clock.sleep))
    worker.action("act")(lambda: None)
    editor.add("act", due=HOUR)
    editor.add("unknown", due=HOUR)
    clock.advance(2 * HOUR)
    assert (worker.run().done, editor.status().healthy) == (1, True)
    assert "dynamodb:Query" in {action for action, _ in guarded.made}


DENIED = {
    "another table": ("dynamodb", "get_item", {"TableName": "other", "Key": {"id": {"S": "a"}}}),
    "a scan": ("dynamodb", "scan", {"TableName": "duebell"}),
    "a deletion": ("dynamodb", "delete_item", {"TableName": "duebell", "Key": {"id": {"S": "a"}}}),
    "the table's own deletion": ("dynamodb", "delete_table", {"TableName": "duebell"}),
    "another rule": ("events", "put_rule", {"Name": "other", "ScheduleExpression": "rate(1 day)"}),
    "another target": ("events", "put_targets", {"Rule": "duebell", "Targets": []}),
    "disabling the rule": ("events", "disable_rule", {"Name": "duebell"}),
    "the rule's deletion": ("events", "delete_rule", {"Name": "duebell"}),
}


@pytest.mark.parametrize(("service", "call", "arguments"), DENIED.values(), ids=DENIED.keys())
def test_nobody_may_do_more(
    resources: Any, session: boto3.Session, service: Any, call: str, arguments: dict[str, Any]
) -> None:
    role = resources["Role"]["Properties"]["Policies"][0]["PolicyDocument"]
    for document in (role, resources["EditorPolicy"]["Properties"]["PolicyDocument"]):
        client = Guarded(statements_of(document)).session.client(service)
        with pytest.raises(ClientError, match="AccessDenied"):
            getattr(client, call)(**arguments)


def test_no_statement_is_for_every_resource(resources: Any) -> None:
    for name in ("Role", "EditorPolicy"):
        properties = resources[name]["Properties"]
        document = properties.get("PolicyDocument") or properties["Policies"][0]["PolicyDocument"]
        assert all("*" not in statement["Resource"] for statement in statements_of(document))


def _all(statements: Statements) -> Iterator[tuple[str, str]]:
    for statement in statements:
        actions = statement["Action"]
        for action in [actions] if isinstance(actions, str) else actions:
            yield action, statement["Resource"]


def test_the_template_is_the_one_in_the_repository() -> None:
    there = Path(__file__).parents[2] / "infra" / "template.yaml"
    assert template_text() == there.read_text(encoding="utf-8")
