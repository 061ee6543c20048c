"""Deliveries of a deployment: what the template gets of them, and the permissions of the worker's role."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from duebell_infra.errors import InvalidDeployment
from duebell_shared.deliveries.delivery import Delivery, deliveries_in
from duebell_shared.deliveries.kinds import KINDS, NEEDED
from duebell_shared.quoting import quoted

#: The fields of deliveries as they are given, by their names; None takes one away.
Given = Mapping[str, Mapping[str, Any] | None]

#: The parameter with the deliveries that are declared without code.
DELIVERIES = "Deliveries"

#: The template's parameters with ARNs, by the one action that the worker's role gets on them.
LISTS = {
    **{kind.sends: kind.parameter for kind in KINDS.values()},
    **{one.action: one.parameter for one in NEEDED},
}

#: The same, by the template's conditions that there are some.
CONDITIONS = {
    **{f"SendsTo{kind.parameter.removeprefix('Delivery')}": kind.parameter for kind in KINDS.values()},
    **{one.condition: one.parameter for one in NEEDED},
}

#: Bytes of a parameter's value.
#: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
_MOST_OF_A_PARAMETER = 4096

#: Bytes of a function's environment, and how many of them the variables take that are not the user's.
#: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
_MOST_OF_AN_ENVIRONMENT = 4096
_OURS = 700

#: Bytes of all inline policies of a role, and how many of them the worker's other permissions take at most.
#: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
_MOST_OF_A_ROLE = 10_240
BESIDES = 6_000

_WAY_OUT = "declare some in code, with worker.deliver, or have one event bus or topic tell them apart"


def merged(before: str, given: Given) -> str:
    """The parameter `Deliveries` after these changes of what was deployed before.

    Raises InvalidDeployment if a delivery cannot be right, or one is taken away that is not there.
    """
    deliveries: dict[str, Any] = json.loads(before or "{}")
    for name, fields in given.items():
        if fields is not None:
            deliveries[name] = dict(fields)
        elif deliveries.pop(name, None) is None:
            known = ", ".join(sorted(deliveries)) or "none"
            raise InvalidDeployment(
                "no_deliver",
                f"no delivery {quoted(name)} was given at a deployment, but {known}; what code declares, it "
                f"takes away",
            )
    text = json.dumps(deliveries, sort_keys=True, separators=(",", ":"))
    deliveries_in(text, where="deliver")
    return text


def permitted(deliveries: Iterable[Delivery], *, before: Mapping[str, str]) -> dict[str, str]:
    """The parameters with the ARNs that these deliveries use, and with those in `before`, each once."""
    arns = {
        parameter: {arn for arn in before.get(parameter, "").split(",") if arn}
        for parameter in LISTS.values()
    }
    for delivery in deliveries:
        for needed in delivery.permissions:
            arns[LISTS[needed.action]].add(needed.arn)
    lists = {parameter: ",".join(sorted(several)) for parameter, several in arns.items()}
    for parameter, text in lists.items():
        if len(text) > _MOST_OF_A_PARAMETER:
            raise InvalidDeployment(
                parameter,
                f"the ARNs take {len(text):,} bytes, and a parameter of CloudFormation takes "
                f"{_MOST_OF_A_PARAMETER:,}: have one event bus or topic tell some of them apart",
            )
    if (used := sum(len(json.dumps(text.split(","))) for text in lists.values())) > _MOST_OF_A_ROLE - BESIDES:
        raise InvalidDeployment(
            "deliver",
            f"the ARNs of all deliveries take {used:,} bytes, and of the {_MOST_OF_A_ROLE:,} bytes that the "
            f"worker's role may have {_MOST_OF_A_ROLE - BESIDES:,} are left for them: have one event bus or "
            f"topic tell some of them apart",
        )
    return lists


def check_size(deliveries: str, environment: str) -> None:
    """Raise InvalidDeployment if these parameters are too large for the function's environment.

    Lambda measures it as one JSON object, in which the quotes of a value in JSON are escaped: see "String
    measured" in https://github.com/github-aws-runners/terraform-aws-github-runner/issues/3594.
    """
    if len(deliveries.encode()) > _MOST_OF_A_PARAMETER:
        raise InvalidDeployment(
            "deliver",
            f"the deliveries take {len(deliveries.encode()):,} bytes, and a parameter of CloudFormation "
            f"takes {_MOST_OF_A_PARAMETER:,}: {_WAY_OUT}",
        )
    used = len(json.dumps([deliveries, environment], ensure_ascii=False).encode())
    if deliveries != "{}" and used > _MOST_OF_AN_ENVIRONMENT - _OURS:
        raise InvalidDeployment(
            "deliver",
            f"the deliveries and your environment variables take {used:,} bytes of the function's "
            f"environment, and Lambda leaves {_MOST_OF_AN_ENVIRONMENT - _OURS:,} for them: {_WAY_OUT}",
        )
