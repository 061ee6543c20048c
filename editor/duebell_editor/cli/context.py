"""The context of a command: the AWS account, the editor, the clock and the output."""

import logging
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Self

import boto3
import botocore.session
import typer

from duebell_editor.library.caller import caller
from duebell_editor.library.editor import Editor
from duebell_shared.aws.aws_session import default_session
from duebell_shared.backend import Backend
from duebell_shared.errors import NotDeployed
from duebell_shared.instants import utc_now
from duebell_shared.quoting import did_you_mean, quoted
from duebell_shared.settings import LOCAL, Settings

from .errors import WrongUsage, describe, describe_as_json
from .output import Output
from .schedulers import OURS, LocalStack, Place, find, is_embedded, known_places, note_place

#: Names of the options that every command has.
EVERYWHERE = ("name", "profile", "region", "endpoint_url", "verbose", "as_json")

#: The name of a Lambda function. https://docs.aws.amazon.com/lambda/latest/api/API_CreateFunction.html
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

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

    name: str | None = None
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

    @property
    def chosen_name(self) -> str | None:
        """The name of the scheduler, by --name or DUEBELL_NAME."""
        return self.name or os.environ.get("DUEBELL_NAME") or None

    @property
    def scheduler(self) -> str:
        """The scheduler in a question: its name or its table, and its label."""
        settings = self.settings
        label = f" ({settings.label})" if settings.label else ""
        return f"{self.chosen_name or settings.table}{label}"

    @cached_property
    def session(self) -> boto3.Session:
        """The AWS session of the options and of the noted place; the environment decides the rest."""
        inner = _EndpointSession()
        inner.endpoint_url = self.endpoint_url
        if self._local:
            given = self._local.environment
            inner.endpoint_url = given["AWS_ENDPOINT_URL"]
            inner.set_credentials(
                given["AWS_ACCESS_KEY_ID"], given["AWS_SECRET_ACCESS_KEY"], given["AWS_SESSION_TOKEN"]
            )
            return boto3.Session(botocore_session=inner, region_name=given["AWS_REGION"])
        return default_session(botocore_session=inner, profile_name=self._profile, region_name=self._region)

    @cached_property
    def settings(self) -> Settings:
        """The settings of the scheduler that is named; else those of the environment.

        Its worker's Lambda is asked for them, in one call. Variables of the environment count before that
        only if the name is one of them. Raises NotDeployed, AwsError, InvalidSettings, WrongUsage.
        """
        name = self.chosen_name
        if name is None:
            return Settings.from_env()
        ours = {each: text for each, text in os.environ.items() if each.startswith("DUEBELL_")}
        ours.pop("DUEBELL_NAME", None)
        if self._local:
            own = {each: text for each, text in ours.items() if each in OURS}
            return Settings.from_env({**own, **self._local.environment})
        if not _NAME.fullmatch(name):
            raise WrongUsage(
                f"{quoted(name)} cannot be a scheduler's name: letters, digits, hyphens and underscores, at "
                f"most 64"
            )
        if self.session.region_name is None:
            known = self._names()
            near = did_you_mean(name, known) or "."
            raise WrongUsage(f"no scheduler {quoted(name)} is known here{near} {_no_region(known)}")
        found = find(self.session, name, {} if self.name else ours)
        noted = self._place
        if noted and found.account and found.account != noted.account and not (self.profile or self.region):
            raise WrongUsage(
                f"{quoted(name)} was last found in account {noted.account}, and these credentials are of "
                f"{found.account}: give --profile, or --region {self.session.region_name} to mean this one"
            )
        if found.why_not:
            self.out.warn(
                f"the settings of {quoted(name)} could not be read, so the usual ones are assumed: "
                f"{found.why_not}"
            )
        else:
            self.note_place(name, found.account)
        return found.settings

    def note_place(self, name: str, account: str) -> None:
        """Note where this scheduler is, for the next time that it is named."""
        if not is_embedded(self.session):
            note_place(name, self._place_of(account))

    @cached_property
    def backend(self) -> Backend:
        """The queue and the rule."""
        settings = self.settings
        if self.session.region_name is None:
            raise WrongUsage(_no_region(self._names()))
        return Backend.connect(settings, self.session)

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
        line = self.out.in_full(describe(error, self.option_of, is_verbose=self.is_verbose))
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
        if self._local:
            _forget("AWS_PROFILE", *(name for name in os.environ if name.startswith("AWS_ENDPOINT_URL")))
            os.environ.update(self._local.environment)
            return
        if self._profile is not None:
            _forget(*_BEFORE_A_PROFILE)
            os.environ["AWS_PROFILE"] = self._profile
        if self._region is not None:
            os.environ["AWS_REGION"] = os.environ["AWS_DEFAULT_REGION"] = self._region
        if self.endpoint_url is not None:
            _forget(*(name for name in os.environ if name.startswith("AWS_ENDPOINT_URL")))
            os.environ["AWS_ENDPOINT_URL"] = self.endpoint_url
            # Set, not only removed: a profile can also ask to ignore endpoint URLs.
            os.environ["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "false"

    @cached_property
    def _local(self) -> LocalStack | None:
        """The stack of `duebell local`, if it is what is named."""
        if self.chosen_name != LOCAL:
            return None
        stack = LocalStack.find()
        if stack is None or not stack.environment:
            raise NotDeployed(
                "no `duebell local` is running in this folder or above: start it, or name its state folder "
                "in DUEBELL_STATE"
            )
        return stack

    @staticmethod
    def _names() -> list[str]:
        """The names that --name finds without a region: of the stack on this machine, and of noted places."""
        stack = LocalStack.find()
        return [*([LOCAL] if stack and stack.environment else []), *known_places()]

    @cached_property
    def _place(self) -> Place | None:
        """The noted place of the scheduler that is named."""
        return known_places().get(self.chosen_name) if self.chosen_name else None

    @property
    def _profile(self) -> str | None:
        return self.profile or (self._place.profile if self._place else None)

    @property
    def _region(self) -> str | None:
        return self.region or (self._place.region if self._place else None)

    def _place_of(self, account: str) -> Place:
        """The place of the session; its profile, unless the environment has keys, which come before it."""
        credentials = self.session.get_credentials()
        by_keys = credentials is not None and credentials.method == "env"
        profile = self._profile or (None if by_keys else os.environ.get("AWS_PROFILE"))
        return Place(region=self.session.region_name, account=account, profile=profile)


def _no_region(names: Sequence[str]) -> str:
    """The way out where no region is given: a name that needs none, if there is one, or the region."""
    if not names:
        return "AWS_REGION is not set: give --region; `duebell local` starts a stack on this machine"
    first, *others = names
    also = f" ({', '.join(others)} {'is' if len(others) == 1 else 'are'} known, too)" if others else ""
    where = ", the stack of `duebell local` here" if first == LOCAL else ""
    return f"AWS_REGION is not set: give --region, or --name {first}{where}{also}"


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
