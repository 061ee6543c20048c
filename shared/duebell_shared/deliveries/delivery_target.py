"""The targets of deliveries and the secrets that sign them: their ARNs, and the permissions they need."""

import re
from typing import Self
from urllib.parse import urlsplit

import msgspec

from duebell_shared.aws.endpoints import is_here
from duebell_shared.errors import InvalidSettings
from duebell_shared.quoting import quoted

from .kinds import BUS, HTTPS, KINDS, SECRETS, Kind, RunTask

_ARN = re.compile(r"arn:(aws[a-z-]*):([a-z0-9-]+):([a-z0-9-]*):(\d{12}):(.+)", re.DOTALL)

_LAYOUT = "arn:aws:<service>:<region>:<account, 12 digits>:<name>"


class DeliveryTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A target of deliveries. Make it with `parse`.

    to       its ARN, or its URL if the kind is https
    kind     what it is
    region   its region; "" for https, as is the account
    account  the account that it belongs to
    name     its name without what stands before it in the ARN; the URL's host for https
    run      how it is run, of a task definition
    """

    to: str
    kind: Kind
    region: str = ""
    account: str = ""
    name: str = ""
    run: RunTask | None = None

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that ECS is passed with each run."""
        return self.run.roles if self.run else ()

    @property
    def is_fifo(self) -> bool:
        """True if what is sent has a group, and is dropped if it was sent before."""
        return self.kind.has_groups and self.to.endswith(".fifo")

    @property
    def shown(self) -> str:
        """The text for messages and records: the ARN; of a URL the host alone, as the rest may be secret."""
        if self.kind is not HTTPS:
            return self.to
        parts = urlsplit(self.to)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def default_form(self) -> str:
        """The form of what is sent if none is given: `envelope` for buses, `payload` for all others."""
        return "envelope" if self.kind is BUS else "payload"

    @classmethod
    def parse(cls, to: object) -> Self:
        """The target that an ARN or a URL means. Raises InvalidSettings."""
        if not isinstance(to, str) or not to:
            raise _invalid(to, f"must be an ARN or an https URL, not {quoted(to)}")
        if to.startswith(("https://", "http://")):
            return cls(to=to, kind=HTTPS, name=_checked_host(to))
        partition, service, region, account, rest = _split("to", to)
        kind = KINDS.get(service)
        if kind is None:
            raise _invalid(
                to,
                f"{quoted(to)}: nothing can be delivered to the service {quoted(service)}: "
                f"there are {', '.join(KINDS)} and https URLs",
            )
        matched = re.fullmatch(kind.pattern, rest, re.ASCII)
        if not matched or not region:
            like = f"arn:{partition}:{service}:{region or 'eu-central-1'}:{account}:{kind.example}"
            raise _invalid(to, f"{quoted(to)} is no ARN of a {kind}: it must be like {like}")
        return cls(to=to, kind=kind, region=region, account=account, name=matched[1])


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
    if not matched or not str(arn).isprintable() or "*" in str(arn):
        either = " or an https URL" if field == "to" else ""
        raise InvalidSettings(field, f"{quoted(arn)} is no ARN{either}: an ARN is {_LAYOUT}")
    partition, service, region, account, rest = matched.groups()
    return partition, service, region, account, rest


def _checked_host(url: str) -> str:
    """The host of a URL that can be delivered to. Raises InvalidSettings."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if not host or not url.isprintable() or not url.isascii() or " " in url:
        raise _invalid(url, f"{quoted(url)} is no URL: it must be like https://example.com/hooks/due")
    if parts.username is not None or parts.fragment:
        raise _invalid(
            url, "the URL must have no password and no fragment in it: sign deliveries with a `secret`"
        )
    if parts.scheme != "https" and not is_here(url):
        raise _invalid(url, f"{quoted(url)}: must be https, so that nobody reads or changes what is sent")
    if re.match(r"(sqs|queue)\.", host) and host.endswith((".amazonaws.com", ".amazonaws.com.cn")):
        raise _invalid(
            url,
            f"{quoted(url)} is the URL of a queue: give its ARN, "
            f"like arn:aws:sqs:eu-central-1:123456789012:orders",
        )
    return host


def _invalid(to: object, reason: str) -> InvalidSettings:
    return InvalidSettings("to", reason)
