"""Deliveries of a deployment: their parameters of the template, with permissions for the worker's role."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from duebell_shared.deliveries.delivery import Delivery, deliveries_in
from duebell_shared.deliveries.kinds import KINDS, NEEDED

#: The fields of deliveries as they are given, by their names.
Deliveries = Mapping[str, Mapping[str, Any]]

#: The parameter with the deliveries that are declared without code.
DELIVERIES = "Deliveries"

#: The template's parameters with ARNs, by the one action that the worker's role gets on them.
LISTS = {
    **{kind.sends: kind.parameter for kind in KINDS.values()},
    **{one.action: one.parameter for one in NEEDED},
}

#: The same parameters, by the template's conditions that they are not empty.
CONDITIONS = {
    **{f"SendsTo{kind.parameter.removeprefix('Delivery')}": kind.parameter for kind in KINDS.values()},
    **{one.condition: one.parameter for one in NEEDED},
}


def as_parameter(deliveries: Deliveries) -> str:
    """The parameter `Deliveries`. Raises InvalidSettings if one cannot be right."""
    text = json.dumps(msgspec.to_builtins(deliveries), sort_keys=True, separators=(",", ":"))
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
