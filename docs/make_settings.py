"""Writes the lists of settings and parameters that their tables define: `make reference`.

They are the `Parameters` of the CloudFormation template, the variables of the Terraform module, and
the tables in docs/settings.md and docs/parameters.md.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from msgspec.structs import fields

from duebell_infra.deploy.deliveries import CONDITIONS, LISTS
from duebell_infra.deploy.parameters import PARAMETERS, Parameter
from duebell_shared.backoff import Backoff
from duebell_shared.deliveries.delivery import DeliveryOptions
from duebell_shared.deliveries.kinds import KINDS, NEEDED, Kind, RunTask
from duebell_shared.settings import SETTINGS, Setting, Settings
from duebell_worker.metrics import METRICS

ROOT = Path(__file__).parents[1]
TEMPLATE = ROOT / "infra" / "template.yaml"
VARIABLES = ROOT / "infra" / "terraform" / "variables.tf"
DELIVERIES = VARIABLES.with_name("deliveries.tf")
SETTINGS_PAGE = ROOT / "docs" / "settings.md"
PARAMETERS_PAGE = ROOT / "docs" / "parameters.md"
METRICS_PAGE = ROOT / "docs" / "logs.md"

MADE = "# Made by `make reference` of infra/duebell_infra/deploy/parameters.py; do not edit."

#: The line of the template above what the worker's role may deliver to.
_DELIVERED = "        # What is delivered to, and nothing beside it. Made of the kinds of deliveries."

#: The page of the docs that says more of a setting or parameter.
MORE = {
    "DUEBELL_NAME": "[environments](how-to/environments.md)",
    "DUEBELL_BELL": "[the schedule](how-to/schedule-bell.md)",
    "DUEBELL_INTAKE": "[intake](intake.md)",
    "DUEBELL_INTAKE_ACTIONS": "[permissions](intake.md#permissions)",
    "DUEBELL_LANES": "[how many](scale.md#lanes)",
    "DUEBELL_CHANGED_BY": "[who changed that](logs.md#who-changed-that)",
    "DUEBELL_STRICT_ACTIONS": "[unknown actions](actions.md#what-clients-know-of-the-worker)",
    "Bell": "[the schedule](how-to/schedule-bell.md)",
    "Color": "[environments](how-to/environments.md)",
    "LogFormat": "[the log](logs.md#the-log)",
    "Capacity": "[when](scale.md#on-demand-or-provisioned)",
    "SnapStart": "[SnapStart](how-to/snapstart.md)",
    "Deliveries": "[deliveries](how-to/deploy-deliveries.md)",
    "Intake": "[intake](intake.md)",
    "SubnetIds": "[in a VPC](how-to/vpc.md)",
    "KmsKeyArn": "[encryption](security.md#encryption)",
}

#: Variables that are no settings of a scheduler.
OTHERS = {
    "DUEBELL_WORKER": ("", "`module:attribute` of the Worker that the Lambda loads."),
    "DUEBELL_DELIVERIES": (
        "{}",
        "Actions that are [deliveries](deliveries.md), as a JSON object; `duebell deploy --deliver` sets it.",
    ),
    "DUEBELL_STATE": (".duebell", "The state folder of `duebell local`, and of the name `local`."),
    "DUEBELL_EDITOR_TOKEN": (
        "",
        "The token that `duebell editor` and the page of `duebell local` demand, 16 characters or more, "
        "never empty.",
    ),
}


def main() -> None:
    """Write the lists."""
    for file, text in made().items():
        file.write_text(text, encoding="utf-8")


def made() -> dict[Path, str]:
    """The files, with their lists made anew."""
    before, _, rest = TEMPLATE.read_text(encoding="utf-8").partition("\nParameters:\n")
    after = rest[rest.index("\nRules:\n") :]
    parameters = "".join(_parameter(name, row) for name, row in PARAMETERS.items() if row.only != "Terraform")
    variables = [_variable(name, row) for name, row in PARAMETERS.items() if row.only != "CloudFormation"]
    after = _between(after, "\n  SendsTo", "\n  StartsFromSnapshot:", _conditions_of_deliveries())
    after = _between(after, f"\n{_DELIVERED}", "\n\n", _DELIVERED + _statements())
    deliveries = DELIVERIES.read_text(encoding="utf-8")
    deliveries = _between(deliveries, "\n  type = map(object({", "\n  }))", _delivery_type())
    deliveries = _between(deliveries, "\n  delivery_permissions = {", "\n  }\n", _permissions())
    settings = _replaced(SETTINGS_PAGE, "| variable | default | meaning |\n|---|---|---|\n", _of_settings())
    stack = _replaced(
        PARAMETERS_PAGE,
        "| option of `deploy` | parameter | default | meaning |\n|---|---|---|---|\n",
        _of_stack(),
    )
    metrics = "".join(f"| `{name}` | {unit} | {means} |\n" for name, (unit, means) in METRICS.items())
    return {
        TEMPLATE: f"{before}\nParameters:\n  {MADE}\n{parameters}{after}",
        VARIABLES: f"{MADE}\n\n" + "\n".join(variables),
        DELIVERIES: deliveries,
        SETTINGS_PAGE: settings,
        PARAMETERS_PAGE: stack,
        METRICS_PAGE: _replaced(METRICS_PAGE, "| metric | unit | meaning |\n|---|---|---|\n", metrics),
    }


def _parameter(name: str, row: Parameter) -> str:
    """The entry of the template. Its description is the first sentence, as the template's size is limited."""
    kind = {"number": "Number", "list": "CommaDelimitedList"}.get(row.kind, "String")
    fields = [f"Type: {kind}"]
    if row.default is not None:
        default = _default(row)
        fields.append(f"Default: {default if row.kind == 'number' else json.dumps(default)}")
    if values := row.allowed:
        fields.append(
            f"AllowedValues: [{', '.join(v if row.kind == 'number' else json.dumps(v) for v in values)}]"
        )
    fields += [
        f"{bound}: {given}"
        for bound, given in (("MinValue", row.least), ("MaxValue", row.most))
        if given is not None
    ]
    if row.pattern:
        fields.append(f"AllowedPattern: {json.dumps(row.pattern)}")
    if row.says:
        fields.append(f"ConstraintDescription: {row.says}")
    first = row.means.partition(". ")[0].removesuffix(".")
    fields.append(f"Description: {json.dumps(first) if ': ' in first else first}")
    return f"  {name}:\n" + "".join(f"    {field}\n" for field in fields)


def _variable(name: str, row: Parameter) -> str:
    """The block of the Terraform module."""
    kind = {"number": "number", "list": "list(string)", "map": "map(string)", "yes": "bool", "on": "bool"}
    lines = [
        f'variable "{_snake(name)}" {{',
        f"  description = {json.dumps(row.means)}",
        f"  type        = {kind.get(row.kind, 'string')}",
    ]
    if row.default is not None:
        default = {
            "yes": json.dumps(row.default == "yes"),
            "on": json.dumps(row.default == "on"),
            "number": row.default,
            "list": "[]",
            "map": "{}",
        }.get(row.kind, json.dumps(row.default))
        lines.append(f"  default     = {default}")
    for condition, says in _conditions(_snake(name), row):
        lines += [
            "  validation {",
            f"    condition     = {condition}",
            f"    error_message = {json.dumps(says)}",
            "  }",
        ]
    return "\n".join([*lines, "}\n"])


def _conditions(name: str, row: Parameter) -> Iterator[tuple[str, str]]:
    """The condition for a value of a Terraform variable, and the message if it fails."""
    if row.values and row.kind not in {"yes", "on"}:
        texts = [value for value in row.values if value]
        values = row.allowed if row.kind == "number" else [json.dumps(value) for value in row.allowed]
        yield f"contains([{', '.join(values)}], var.{name})", f"{', '.join(texts[:-1])} or {texts[-1]}."
    if row.least is not None and row.most is not None:
        yield f"var.{name} >= {row.least} && var.{name} <= {row.most}", f"{row.least} to {row.most}."
    elif row.least is not None:
        yield f"var.{name} >= {row.least}", f"{row.least} or more."
    if row.pattern:
        pattern = json.dumps(f"^{row.pattern}$")
        yield f"can(regex({pattern}, var.{name}))", f"{row.says[0].upper()}{row.says[1:]}"


def _default(row: Parameter) -> str:
    return row.default or {"yes": "no", "on": "off", "map": "{}"}.get(row.kind, "")


def _of_settings() -> str:
    rows = {row.variable: (_shown(field), _told(row)) for field, row in SETTINGS.items()} | OTHERS
    return "".join(
        f"| `{name}` | {f'`{default}`' if default else ''} | {_with_more(name, means)} |\n"
        for name, (default, means) in rows.items()
    )


def _told(row: Setting) -> str:
    """The meaning of a setting, with its values and its readers."""
    kind = row.kind
    values = f" One of: {', '.join(f'`{value}`' for value in kind.values)}." if kind.values else ""
    bounds = f" {kind.least} to {kind.most}." if kind.least is not None else ""
    return f"{row.means}{values}{bounds}{f' Of the {row.of} only.' if row.of else ''}"


def _shown(field: str) -> str:
    """The default of a setting, as its variable would give it."""
    default = getattr(Settings(), field)
    if isinstance(default, bool):
        return "on" if default else "off"
    return str(default.days if isinstance(default, timedelta) else default) if default else ""


def _of_stack() -> str:
    return "".join(
        f"| {f'`{row.option}`' if row.option else ''} | `{name}` | "
        f"{f'`{_default(row)}`' if _default(row) else ''} | {_with_more(name, row.means)} |\n"
        for name, row in PARAMETERS.items()
        if row.only != "Terraform"
    )


def _with_more(name: str, means: str) -> str:
    return f"{means} More: {MORE[name]}" if name in MORE else means


def _conditions_of_deliveries() -> str:
    """The template's conditions that there are targets or secrets of a kind."""
    return "\n".join(
        f'  {name}: !Not [!Equals [!Select [0, !Ref {parameter}], ""]]'
        for name, parameter in CONDITIONS.items()
    )


def _statements() -> str:
    """The permissions of the worker's role to send and read, in the template."""
    actions = {parameter: action for action, parameter in LISTS.items()}
    return "".join(
        f"\n        - !If [{name}, {{Sid: {_sid(name)}, Effect: Allow, Action: '{actions[parameter]}', "
        f"Resource: !Ref {parameter}}}, !Ref AWS::NoValue]"
        for name, parameter in CONDITIONS.items()
    )


def _permissions() -> str:
    """The same in the Terraform module, by the service in an ARN."""
    conditions = {parameter: name for name, parameter in CONDITIONS.items()}
    rows = {
        **{one.service: (one.parameter, one.sends, _parts(one)) for one in KINDS.values()},
        **{one.service: (one.parameter, one.action, 7) for one in NEEDED},
    }
    width = max(map(len, rows))
    lines = [
        f'    {service:<{width}} = {{ sid = "{_sid(conditions[parameter])}", '
        f'action = "{action}", parts = {parts} }}'
        for service, (parameter, action, parts) in rows.items()
    ]
    return "\n".join(["  delivery_permissions = {", *lines])


def _delivery_type() -> str:
    """The type of a delivery in the Terraform module."""
    rows = {name: f"optional({_type(hint)})" for name, hint in get_type_hints(DeliveryOptions).items()}
    run = {one.name: _type(one.type) for one in fields(RunTask)}
    run = {
        one.name: run[one.name] if one.required else f"optional({run[one.name]})" for one in fields(RunTask)
    }
    del rows["run"]
    members = _members({"to": "string", **rows}, 4)
    return f"  type = map(object({{\n{members}\n    run = optional(object({{\n{_members(run, 6)}\n    }}))"


def _members(rows: Mapping[str, str], indent: int) -> str:
    """The members of an object type of Terraform."""
    width = max(map(len, rows))
    return "\n".join(f"{' ' * indent}{name:<{width}} = {type}" for name, type in rows.items())


#: The overrides of RunTask, but for those of containers. Terraform needs a type for each.
_OVERRIDES = (
    "object({ cpu = optional(string), memory = optional(string), taskRoleArn = optional(string), "
    "executionRoleArn = optional(string), ephemeralStorage = optional(object({ sizeInGiB = number })) })"
)


def _type(hint: Any) -> str:
    """The type of Terraform for the values of a field."""
    hint = (
        next((one for one in get_args(hint) if one is not NoneType), hint)
        if get_origin(hint) is UnionType
        else hint
    )
    known = {
        int: "number",
        float: "number",
        bool: "bool",
        Backoff: "map(number)",
        tuple[str, ...]: "list(string)",
        Mapping[str, Any]: _OVERRIDES,
    }
    return known.get(hint, "string")


def _sid(condition: str) -> str:
    """The id of the statement under this condition."""
    return condition.replace("SendsTo", "DeliverTo").replace("Reads", "Read").replace("Passes", "Pass")


def _parts(kind: Kind) -> int:
    """The number of parts of an ARN that a policy names."""
    return len(kind.resource("arn:aws:service:region:account:kind:name:1").split(":"))


def _between(text: str, start: str, end: str, made: str) -> str:
    """The text with what begins with `start`, and ends before `end`, made anew."""
    first = text.index(start) + 1
    return text[:first] + made + text[text.index(end, first) :]


def _replaced(page: Path, head: str, rows: str) -> str:
    """The page with other rows in the table of this head."""
    before, after = page.read_text(encoding="utf-8").split(head)
    return before + head + rows + re.sub(r"\A(\|.*\n)*", "", after)


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


if __name__ == "__main__":
    main()
