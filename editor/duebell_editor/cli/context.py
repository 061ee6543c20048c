"""The context of a command: the AWS account, the editor, the clock and the output."""

import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Self

import boto3
import botocore.session
import typer

from duebell_editor import Editor, Settings
from duebell_shared.backend import Backend, default_session
from duebell_shared.instants import utc_now

from ..caller import caller
from .errors import describe, describe_as_json
from .output import Output

__all__ = ["EVERYWHERE", "Context"]

#: Names of the options that every command has.
EVERYWHERE = ("profile", "region", "endpoint_url", "verbose", "as_json")

#: To the AWS SDK these come before the profile that AWS_PROFILE names.
_BEFORE_A_PROFILE = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_DEFAULT_PROFILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
)


@dataclass
class Context:
    """The account, editor, clock and output of a command. Made at the start; the options fill it in."""

    profile: str | None = None
    region: str | None = None
    endpoint_url: str | None = None
    is_verbose: bool = False
    out: Output = field(default_factory=Output)
    call: typer.Context | None = None

    @classmethod
    def of(cls, call: typer.Context) -> Self:
        """The context of this call of the program."""
        return call.ensure_object(cls)

    @cached_property
    def session(self) -> boto3.Session:
        """The AWS session of the options; the environment decides the rest."""
        inner = _EndpointSession()
        inner.endpoint_url = self.endpoint_url
        return default_session(botocore_session=inner, profile_name=self.profile, region_name=self.region)

    @cached_property
    def backend(self) -> Backend:
        """The queue and the rule."""
        return Backend.connect(Settings.from_env(), self.session)

    def editor(self, *, by: str | None = "cli") -> Editor:
        """The editor of the queue.

        The author of its changes is DUEBELL_CHANGED_BY, or else this process's user with the tool `by` which;
        unknown if `by` is None.
        """
        return Editor(
            backend=self.backend,
            changed_by=self.backend.settings.changed_by or (None if by is None else caller(by)),
        )

    def now(self) -> datetime:
        """The wall clock."""
        return utc_now()

    def be_verbose(self) -> None:
        """Print tracebacks, log lines, and each call to AWS that is tried again, on standard error."""
        self.is_verbose = True
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_WithFields("%(name)s: %(message)s"))
        logging.basicConfig(handlers=[handler])
        logging.getLogger("duebell").setLevel(logging.DEBUG)
        logging.getLogger("botocore.retries").setLevel(logging.DEBUG)

    def print_error(self, error: BaseException) -> None:
        """Print the error on standard error, in one line or as JSON."""
        line = describe(error, self.option_of, is_verbose=self.is_verbose)
        self.out.note(f"error: {line}", describe_as_json(error, line))

    def option_of(self, field: str) -> str:
        """The command line's name for a field of the library: `--max-runs` of max_runs, `ID` of id."""
        if self.call is None:
            return field
        values = self.call.params
        if field == "due" and values.get("due") is None and values.get("in_") is not None:
            field = "in_"
        for parameter in self.call.command.params:
            if parameter.name == field:
                is_argument = parameter.param_type_name == "argument"
                return parameter.metavar or field if is_argument else parameter.opts[0]
        return field

    def given_besides(self, *others: str) -> list[str]:
        """Names of the options and arguments that were given, except these and those of every command."""
        values: Mapping[str, Any] = self.call.params if self.call else {}
        given = (name for name, value in values.items() if value is not None and value is not False)
        return [self.option_of(name) for name in given if name not in {*others, *EVERYWHERE}]

    def export_account(self) -> None:
        """Put the chosen account into the environment, for a user's program that makes its own clients."""
        if self.profile is not None:
            _forget(*_BEFORE_A_PROFILE)
            os.environ["AWS_PROFILE"] = self.profile
        if self.region is not None:
            os.environ["AWS_REGION"] = os.environ["AWS_DEFAULT_REGION"] = self.region
        if self.endpoint_url is not None:
            _forget(*(name for name in os.environ if name.startswith("AWS_ENDPOINT_URL")))
            os.environ["AWS_ENDPOINT_URL"] = self.endpoint_url
            # Set, not only removed: a profile can also ask to ignore endpoint URLs.
            os.environ["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "false"


def _forget(*names: str) -> None:
    for name in names:
        os.environ.pop(name, None)


class _EndpointSession(botocore.session.Session):
    """Makes every client with its endpoint URL, if it has one."""

    endpoint_url: str | None = None

    def create_client(self, *args: Any, **options: Any) -> Any:
        return super().create_client(*args, **{**options, "endpoint_url": self.endpoint_url})


class _WithFields(logging.Formatter):
    """Appends the fields of a structured log line to its message."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        return " ".join([super().format(record), *(f"{name}={value}" for name, value in fields.items())])
