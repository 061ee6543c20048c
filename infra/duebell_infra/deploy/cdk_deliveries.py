"""Deliveries of the construct for the AWS CDK: to targets that may be made in the same app."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from aws_cdk import Token

from duebell_infra.errors import InvalidDeployment
from duebell_shared.deliveries.delivery import Delivery, deliveries_in
from duebell_shared.deliveries.kinds import KINDS, SECRETS
from duebell_shared.quoting import quoted

from .deliveries import LISTS

__all__ = ["CdkDeliveries"]

_HERE = "eu-central-1:123456789012"

#: The attribute with the ARN, by which the CDK's constructs are told apart, and an ARN that stands for it in
#: checks, as the CDK does not know it before CloudFormation makes it.
_KINDS = {
    **{kind.made: f"arn:aws:{kind.service}:{_HERE}:{kind.example}" for kind in KINDS.values()},
    **{one.made: f"arn:aws:{one.service}:{_HERE}:{one.beginning}made" for one in SECRETS.values()},
}


class CdkDeliveries:
    """The deliveries that are given to the construct. Raises InvalidDeployment and InvalidSettings.

    fields  the fields of each by its name, with ARNs that may be tokens
    """

    def __init__(self, given: Mapping[str, object]) -> None:
        self.fields: dict[str, dict[str, Any]] = {}
        self._arns: dict[str, list[str]] = {}
        for name, one in given.items():
            fields: dict[str, Any] = dict(one) if isinstance(one, Mapping) else {"to": one}
            checked = dict(fields)
            for field in {"to", "secret"} & fields.keys():
                fields[field], checked[field] = _arn_of(name, field, fields[field])
            [delivery] = deliveries_in(json.dumps({name: checked}, default=str), where="deliveries").values()
            for action, arn in delivery.permissions.items():
                field = "to" if delivery.target.kind.sends == action else "secret"
                is_made = Token.is_unresolved(fields[field])
                self._arns.setdefault(LISTS[action], []).append(fields[field] if is_made else arn)
            self.fields[name] = fields

    def lists(self, in_code: Iterable[Delivery] | None) -> dict[str, list[str]]:
        """The template's parameters with ARNs: of these deliveries, and of those that the code declares."""
        arns = {parameter: list(several) for parameter, several in self._arns.items()}
        for one in in_code or ():
            for action, arn in one.permissions.items():
                arns.setdefault(LISTS[action], []).append(arn)
        return {parameter: list(dict.fromkeys(several)) for parameter, several in arns.items()}


def _arn_of(name: str, field: str, given: Any) -> tuple[str, str]:
    """The ARN of what is given, and one of its kind to check."""
    for attribute, example in _KINDS.items():
        if arn := getattr(given, attribute, None):
            suffix = ".fifo" if getattr(given, "fifo", False) else ""
            return arn, example + suffix if Token.is_unresolved(arn) else arn
    if isinstance(given, str) and Token.is_unresolved(given):
        raise InvalidDeployment(
            "deliveries",
            f"{quoted(name)}: the ARN as `{field}` is known to CloudFormation only: give the construct "
            f"itself, such as the queue",
        )
    return given, given
