"""The runbook for tests that play it: the rows of its tables, and its lines of the AWS CLI."""

import json
import re
import shlex
from typing import Any, NamedTuple

import boto3
from botocore import xform_name

from tests.infra.documented import ROOT

__all__ = ["ALARMS", "ON_CALL", "PROBLEMS", "Row", "aws"]

#: The part of the page for whoever is on call.
ON_CALL = (ROOT / "docs/operations.md").read_text(encoding="utf-8").partition("## On call\n")[2]
ON_CALL = ON_CALL.partition("\n## ")[0]


class Row(NamedTuple):
    """A problem or an alarm: what its row says, and the one command, if there is one that repairs."""

    text: str
    command: str | None

    @classmethod
    def of(cls, text: str, column: int) -> "Row":
        said = text.split(" | ")[column]
        command = re.match(r"`([^`]+)`", said)
        assert bool(command) is not said.startswith("none: "), said
        return cls(text, command[1] if command else None)


_PROBLEMS, _ALARMS = re.split("^### .*\n", ON_CALL, flags=re.MULTILINE)[1:3]

PROBLEMS = {name: Row.of(text, 2) for text, name in re.findall(r"(?m)^(\| `(\w+)` \|.*)$", _PROBLEMS)}
ALARMS = {
    name: Row.of(text, 3) for text, name in re.findall(r"(?m)^(\| \[?((?!alarm )[a-z-]{4,})\b.*)$", _ALARMS)
}


def aws(session: boto3.Session, line: str) -> Any:
    """Make the call that this line of the AWS CLI makes, by the AWS SDK's own description of it."""
    line = re.sub(r"\$\((aws .*?)\)", lambda one: str(aws(session, one[1])), line)
    _, service, operation, *given = shlex.split(line)
    client = session.client(service)  # type: ignore[call-overload]
    names = {xform_name(name, "-"): name for name in client.meta.method_to_api_mapping.values()}
    shape = client.meta.service_model.operation_model(names[operation]).input_shape
    members = {xform_name(name, "-"): (name, member.type_name) for name, member in shape.members.items()}
    fields: dict[str, Any] = {}
    while given:
        option = given.pop(0).removeprefix("--")
        if option == "output":
            assert given.pop(0) == "text"
            continue
        name, kind = members[option]
        convert = {"string": str, "integer": int}.get(kind, json.loads)
        fields[name] = kind == "boolean" or convert(given.pop(0))
    answer = getattr(client, xform_name(names[operation]))(**fields)
    answer.pop("ResponseMetadata", None)
    return "\t".join(map(str, answer.values()))
