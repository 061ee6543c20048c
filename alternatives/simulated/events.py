"""EventBridge: rules with schedules, on one bus, and what they invoke."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from duebell_shared.schedules.cron import parse_aws

from .refusals import refusal

if TYPE_CHECKING:
    from .account import Account

__all__ = ["Events", "moments_of"]

_MINUTE = timedelta(minutes=1)


class _Rule:
    def __init__(self) -> None:
        self.given: dict[str, Any] = {}
        self.targets: dict[str, dict[str, Any]] = {}
        self.settings: list[datetime] = []  # when each setting takes effect
        self.is_deleted = False


class Events:
    """Rules by name."""

    def __init__(self, account: "Account") -> None:
        self._account = account
        self._rules: dict[str, _Rule] = {}

    def put_rule(self, Name: str, ScheduleExpression: str, **given: Any) -> dict[str, Any]:
        world = self._account.world
        if Name not in self._rules and len(self._rules) >= self._account.manners.rules:
            raise refusal("LimitExceededException", f"there are {len(self._rules)} rules on the bus")
        rule = self._rules.setdefault(Name, _Rule())
        rule.given = {"State": "ENABLED", **given, "Name": Name, "ScheduleExpression": ScheduleExpression}
        effect = self._account.manners.effect(self._account.random)
        rule.settings.append(world.now + timedelta(seconds=effect))
        self._ring_next(rule, len(rule.settings) - 1, moments_of(ScheduleExpression, world.now))
        return {"RuleArn": f"arn:aws:events:us-east-1:000000000000:rule/{Name}"}

    def put_targets(self, Rule: str, Targets: list[dict[str, Any]]) -> dict[str, Any]:
        self._rule(Rule).targets |= {target["Id"]: target for target in Targets}
        return {}

    def describe_rule(self, Name: str) -> dict[str, Any]:
        return dict(self._rule(Name).given)

    def list_targets_by_rule(self, Rule: str) -> dict[str, Any]:
        return {"Targets": list(self._rule(Rule).targets.values())}

    def remove_targets(self, Rule: str, Ids: list[str]) -> dict[str, Any]:
        for id in Ids:
            self._rule(Rule).targets.pop(id, None)
        return {}

    def delete_rule(self, Name: str) -> dict[str, Any]:
        rule = self._rule(Name)
        if rule.targets:
            raise refusal("ValidationException", f"the rule {Name} has targets")
        rule.is_deleted = True
        del self._rules[Name]
        return {}

    def list_rules(self, NamePrefix: str) -> dict[str, Any]:
        return {"Rules": [{"Name": name} for name in self._rules if name.startswith(NamePrefix)]}

    def _rule(self, name: str) -> _Rule:
        if name not in self._rules:
            raise refusal("ResourceNotFoundException", f"there is no rule {name}")
        return self._rules[name]

    def _ring_next(self, rule: _Rule, setting: int, moments: Iterator[datetime]) -> None:
        """Have the rule ring in the next of these minutes that is not over when the setting takes effect."""
        for moment in moments:
            rings = moment + timedelta(seconds=self._account.manners.ring(self._account.random))
            if rings >= max(rule.settings[setting], self._account.world.now):
                self._account.world.at(rings, partial(self._ring, rule, setting, moments))
                return

    def _ring(self, rule: _Rule, setting: int, moments: Iterator[datetime]) -> None:
        """Ring, unless the rule is gone, disabled, or a later setting has taken effect."""
        world = self._account.world
        if rule.is_deleted or any(effect <= world.now for effect in rule.settings[setting + 1 :]):
            return
        if rule.given["State"] == "ENABLED":
            for target in rule.targets.values():
                self._account_for(target)
        self._ring_next(rule, setting, moments)

    def _account_for(self, target: dict[str, Any]) -> None:
        event = target.get("Input") or json.dumps({"source": "aws.events"})
        name = target["Arn"].rpartition(":")[2]
        if target["Arn"].split(":")[2] == "sns":
            self._account.sns.publish(TopicArn=target["Arn"], Message=event)
        else:
            self._account.functions.invoke_async(name, json.loads(event))


def moments_of(expression: str, after: datetime) -> Iterator[datetime]:
    """Return the minutes in which a schedule expression is due, from the one that this moment is in."""
    kind, _, inside = expression.removesuffix(")").partition("(")
    return _by_rate(inside, after) if kind == "rate" else _by_cron(inside, after)


def _by_rate(inside: str, after: datetime) -> Iterator[datetime]:
    every = int(inside.split(maxsplit=1)[0]) * _MINUTE
    moment = after
    while True:
        moment += every
        yield moment


def _by_cron(inside: str, after: datetime) -> Iterator[datetime]:
    cron = parse_aws(inside)
    day = after.replace(hour=0, minute=0, second=0, microsecond=0)
    last = max(cron.years) if cron.years else 9998
    while day.year <= last:
        if day.day in cron.days_of(day.year, day.month):
            minutes = (day + timedelta(minutes=minute) for minute in cron.minutes)
            yield from (minute for minute in minutes if minute + _MINUTE > after)
        day += timedelta(days=1)
