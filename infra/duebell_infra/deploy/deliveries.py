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
                f"{quoted(name)} is none of the deliveries that deployments were given: {known}. A delivery "
                f"that code declares is removed in the code",
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
    return {parameter: ",".join(sorted(several)) for parameter, several in arns.items()}
