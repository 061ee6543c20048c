"""Deliveries: actions that send a message to a service of AWS or to an HTTPS endpoint, instead of a function.

Pure: the declarations, in code or as JSON, and the permissions that the worker's role needs for them.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property, partial
from typing import Annotated, Any, Literal, Self, TypedDict
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from duebell_shared.aws.aws_session import is_here
from duebell_shared.backoff import Backoff
from duebell_shared.deliveries.kinds import BUS, HTTPS, KINDS, SECRETS, Permission, RunTask, Target
from duebell_shared.errors import InvalidSettings, InvalidTask
from duebell_shared.limits.limits import Limit
from duebell_shared.payloads.payload import read_json
from duebell_shared.quoting import in_brief, quoted
from duebell_shared.tasks.checks import RESERVED, check_name, is_reserved

_ARN = re.compile(r"arn:(aws[a-z-]*):([a-z0-9-]+):([a-z0-9-]*):(\d{12}):(.+)", re.DOTALL)

_LAYOUT = "arn:aws:<service>:<region>:<account, 12 digits>:<name>"

_invalid = partial(InvalidSettings, "to")


def target_of(to: object) -> Target:
    """The target that an ARN or a URL means. Raises InvalidSettings."""
    if not isinstance(to, str) or not to:
        raise _invalid(f"must be an ARN or an https URL, not {quoted(to)}")
    if to.startswith(("https://", "http://")):
        return Target(to=to, kind=HTTPS, name=_checked_host(to))
    partition, service, region, account, rest = _split("to", to)
    kind = KINDS.get(service)
    if kind is None:
        raise _invalid(
            f"{quoted(to)}: nothing can be delivered to the service {quoted(service)}: "
            f"there are {', '.join(KINDS)} and https URLs"
        )
    matched = re.fullmatch(kind.pattern, rest, re.ASCII)
    if not matched or not region:
        like = f"arn:{partition}:{service}:{region or 'eu-central-1'}:{account}:{kind.example}"
        raise _invalid(f"{quoted(to)} is no ARN of a {kind}: it must be like {like}")
    return Target(to=to, kind=kind, region=region, account=account, name=matched[1])


class DeliverySecret(msgspec.Struct, frozen=True, kw_only=True):
    """The secret or the SSM parameter whose text signs deliveries. Make it with `parse`.

    arn      its ARN
    service  secretsmanager or ssm
    region   its region
    """

    arn: str
    service: str
    region: str

    @property
    def reads(self) -> str:
        """The permission that reading it needs, on exactly this ARN."""
        return SECRETS[self.service].action

    @property
    def shown(self) -> str:
        return self.arn

    @classmethod
    def parse(cls, arn: object) -> Self:
        """The secret that an ARN means. Raises InvalidSettings."""
        _, service, region, _, rest = _split("secret", arn)
        store = SECRETS.get(service)
        if not store or not region or not rest.startswith(store.beginning) or rest == store.beginning:
            raise InvalidSettings(
                "secret",
                f"{quoted(arn)} is no ARN of a secret: it must be like "
                f"arn:aws:secretsmanager:eu-central-1:123456789012:secret:signing-AbCdEf "
                f"or arn:aws:ssm:eu-central-1:123456789012:parameter/signing",
            )
        return cls(arn=str(arn), service=service, region=region)


def _split(field: str, arn: object) -> tuple[str, str, str, str, str]:
    matched = _ARN.fullmatch(arn) if isinstance(arn, str) else None
    if not matched or not str(arn).isprintable() or re.search(r"[*?,]|\$\{", str(arn)):
        either = " or an https URL" if field == "to" else ""
        raise InvalidSettings(field, f"{quoted(arn)} is no ARN{either}: an ARN is {_LAYOUT}")
    partition, service, region, account, rest = matched.groups()
    return partition, service, region, account, rest


def _checked_host(url: str) -> str:
    """The host of a URL that can be delivered to. Raises InvalidSettings."""
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.port != 0 else None  # a wrong port raises ValueError
    except ValueError:
        host = None
    is_plain = url.isascii() and url.isprintable() and " " not in url
    if not is_plain:
        raise _invalid("must have ASCII characters without spaces only: percent-encode others, as in %C3%A9")
    if not host or parts.username is not None or parts.fragment:
        raise _invalid("must be a URL without password and fragment, like https://example.com/hooks/due")
    if parts.scheme != "https" and not is_here(url):
        raise _invalid(f"{quoted(url)}: must be https, so that nobody reads or changes what is sent")
    return host


#: The environment variable that declares deliveries without code.
ENVIRONMENT = "DUEBELL_DELIVERIES"

#: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsRequestEntry.html
_DetailType = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]


class Form(StrEnum):
    """The form of a message: the task's payload alone, or an envelope with payload and facts of the task."""

    PAYLOAD = "payload"
    ENVELOPE = "envelope"


class DeliveryOptions(TypedDict, total=False):
    """The fields of a Delivery beside the name and the target: the arguments of `Worker.deliver`."""

    form: Literal["payload", "envelope"] | None
    attempts: int
    backoff: Backoff
    secret: str | None
    detail_type: str | None
    at_most: int | None
    per_second: float | None
    closed: str | None
    on_failed: str | None
    keep_answers: bool
    run: Mapping[str, Any] | None


class Delivery(
    msgspec.Struct, frozen=True, kw_only=True, dict=True, omit_defaults=True, forbid_unknown_fields=True
):
    """An action of this name that sends its tasks to a target. Make it with `delivery_of`.

    name         the name of the action
    to           the ARN of a queue, topic, bus, function, state machine or task definition, or an https URL
    form         payload or envelope; the envelope for buses and the payload for all others, if not given
    attempts     the most attempts at a task
    backoff      the wait between a failed attempt and the next
    secret       for https: ARN of the secret, or of the SSM parameter, whose text is the key of the signature
    detail_type  for buses: the detail-type of the events; `duebell.due` if not given
    at_most      attempts at a time, over all runs together; None for no limit
    per_second   attempts that are started a second, over all runs together; None for no limit
    closed       the hours in which nothing is sent, such as `22:00-06:00 Europe/Berlin`; None for none
    on_failed    the action or delivery that a task is given to when it has failed for good; None for none
    keep_answers for https: whether a failed attempt tells how the answer begins; it may repeat the payload
    run          for task definitions: see RunTask
    """

    name: str
    to: str
    form: Form | None = None
    attempts: Annotated[int, msgspec.Meta(ge=1)] = 5
    backoff: Backoff = Backoff()
    secret: str | None = None
    detail_type: _DetailType | None = None
    at_most: int | None = None
    per_second: float | None = None
    closed: str | None = None
    on_failed: str | None = None
    keep_answers: bool = False
    run: RunTask | None = None

    def __post_init__(self) -> None:
        try:
            check_name("name", self.name)
            self.limit.checked(may_pause=False)
            if self.on_failed is not None:
                check_name("on_failed", self.on_failed)
        except InvalidTask as error:
            raise InvalidSettings(error.field, error.reason) from None
        if is_reserved(self.name):
            raise InvalidSettings(
                "name", f"{quoted(self.name)}: names that start with {quoted(RESERVED)} are duebell's own"
            )
        kind = self.target.kind
        for field, given, fits, meant in (
            ("secret", self.secret, kind is HTTPS, "an https URL"),
            ("keep_answers", self.keep_answers, kind is HTTPS, "an https URL"),
            ("detail_type", self.detail_type, kind is BUS, "an event bus"),
        ):
            if given and not fits:
                raise InvalidSettings(
                    field, f"is for {meant} only, and the kind of this target is {kind}: leave it out"
                )
        self.key  # noqa: B018 (checked)

    @cached_property
    def target(self) -> Target:
        target = target_of(self.to)
        if (self.run is not None) != target.kind.is_run:
            missing, extra = "is missing: give cluster and container", "is for task definitions only"
            raise InvalidSettings("run", missing if target.kind.is_run else extra)
        return replace(target, run=self.run)

    @cached_property
    def key(self) -> DeliverySecret | None:
        """The secret that holds the key of the signature; None for none."""
        return None if self.secret is None else DeliverySecret.parse(self.secret)

    @property
    def limit(self) -> Limit:
        return Limit(at_most=self.at_most, per_second=self.per_second, closed=self.closed)

    @property
    def sent_as(self) -> Form:
        return self.form or (Form.ENVELOPE if self.target.kind is BUS else Form.PAYLOAD)

    @property
    def permissions(self) -> list[Permission]:
        """The permissions that the worker's role needs for this delivery."""
        kind, key = self.target.kind, self.key
        needed = [Permission(kind.sends, kind.resource(self.to))] if kind.sends else []
        roles = [Permission("iam:PassRole", role) for role in self.target.roles]
        return [*needed, *roles, *([Permission(key.reads, key.arn)] if key else [])]


def delivery_of(fields: Mapping[str, Any]) -> Delivery:
    """The delivery with these fields; times are seconds or ISO 8601, as PT30S. Raises InvalidSettings."""
    try:
        return msgspec.convert(fields, Delivery, strict=False)
    except msgspec.ValidationError as error:  # its cause is the error of a __post_init__
        why, _, place = str(error.__cause__ or error).partition(" - at `$.")
        raise InvalidSettings(place.rstrip("`") or "deliver", why) from None


def deliveries_in(text: str, *, where: str = ENVIRONMENT) -> dict[str, Delivery]:
    """The deliveries that a JSON object declares, by name: `{"remind": {"to": "arn:…", "form": …}}`.

    `where` is named in errors. Raises InvalidSettings.
    """
    if not text.strip():
        return {}
    try:
        declared = read_json(text)
    except ValueError as error:
        raise InvalidSettings(where, f"is no JSON: {in_brief(error)}") from None
    if not isinstance(declared, dict):
        raise InvalidSettings(where, 'must be a JSON object of deliveries, like {"remind": {"to": "arn:…"}}')
    return {name: _delivery(name, given, where) for name, given in declared.items()}


def _delivery(name: str, given: Any, where: str) -> Delivery:
    if not isinstance(given, dict):
        raise InvalidSettings(where, f'{quoted(name)} must be an object, like {{"to": "arn:…"}}')
    try:
        return delivery_of({**given, "name": name})
    except InvalidSettings as error:
        raise InvalidSettings(where, f"the delivery {quoted(name)}: {error}") from None
