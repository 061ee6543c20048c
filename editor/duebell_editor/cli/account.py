"""The AWS account of a command: its session, and the scheduler's settings, queue and rule.

Apart from `context`, because it needs the AWS SDK: `duebell --help` does without.
"""

import getpass
import os
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

import botocore.session
from botocore.exceptions import BotoCoreError, ClientError

from duebell_editor.cli.errors import WrongUsage
from duebell_editor.cli.schedulers import LocalStack
from duebell_editor.library.editor import Editor
from duebell_shared.audit import set_place
from duebell_shared.aws.aws_session import QuickLoader, way_out
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import RingSchedule, Rule
from duebell_shared.errors import AwsRefused, AwsUnavailable, NotDeployed
from duebell_shared.quoting import quoted
from duebell_shared.settings import LOCAL, Settings
from duebell_shared.tasks.checks import fit_changed_by

if TYPE_CHECKING:
    import boto3


def caller(by: str) -> str | None:
    """The user of this process, the machine, and the tool `by` which: `anna@laptop via cli`."""
    return fit_changed_by(f"{_user()}@{socket.gethostname()} via {by}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return f"uid {os.getuid()}"


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


@dataclass(kw_only=True)
class Account:
    """The account and the scheduler, by the options and the environment.

    name       that of --name or DUEBELL_NAME
    by_option  whether --name gave it: then the worker's settings win over the environment's
    """

    name: str | None
    by_option: bool
    profile: str | None
    region: str | None
    endpoint_url: str | None
    warn: Callable[[str], None]

    @property
    def scheduler(self) -> str:
        """The scheduler in a question: its name or its table."""
        return self.name or self.settings.table

    @cached_property
    def session(self) -> "boto3.Session":
        """The AWS session of the options as boto3's own, for the commands about the stack."""
        import boto3  # noqa: PLC0415 (commands about tasks do without: it takes a tenth of `duebell list`)

        return boto3.Session(botocore_session=self._sdk)

    @property
    def region_name(self) -> str | None:
        """The region of the options, or else the environment's or the profile's."""
        region: str | None = self._sdk.get_config_variable("region")
        return region

    @cached_property
    def _sdk(self) -> "EndpointSession":
        """The AWS SDK's session of the options; the environment decides the rest."""
        made = EndpointSession(profile=None if self._local else self.profile)
        made.endpoint_url = self.endpoint_url
        made.register_component("data_loader", QuickLoader(os.environ.get("AWS_DATA_PATH")))
        region = self.region
        if self._local:
            given = self._local.environment
            made.endpoint_url, region = given["AWS_ENDPOINT_URL"], given["AWS_REGION"]
            made.set_credentials(
                given["AWS_ACCESS_KEY_ID"], given["AWS_SECRET_ACCESS_KEY"], given["AWS_SESSION_TOKEN"]
            )
        else:
            made.get_scoped_config()  # raises ProfileNotFound
            region = region or made.get_config_variable("region") or os.environ.get("AWS_REGION")
        if region:
            made.set_config_variable("region", region)
        return made

    @cached_property
    def settings(self) -> Settings:
        """The settings of the scheduler that is named; else those of the environment.

        Its worker's Lambda is asked for them, in one call. Variables of the environment count before that
        only if the name is one of them. Raises NotDeployed, AwsError, InvalidSettings, WrongUsage.
        """
        name = self.name
        if name is None:
            return Settings.from_env()
        ours = {each: text for each, text in os.environ.items() if each.startswith("DUEBELL_")}
        ours.pop("DUEBELL_NAME", None)
        if self._local:
            own = {each: text for each, text in ours.items() if each in (*OURS, "DUEBELL_AUDIT")}
            return Settings.from_env({**own, **self._local.environment})
        if not _NAME.fullmatch(name):
            raise WrongUsage(
                f"{quoted(name)} cannot be a scheduler's name: letters, digits, hyphens and underscores, at "
                f"most 64"
            )
        if self.region_name is None:
            raise WrongUsage(_no_region())
        settings, why_not = find(self._sdk, name, {} if self.by_option else ours)
        if why_not:
            self.warn(
                f"the settings of {quoted(name)} could not be read, so the usual ones are assumed: {why_not}"
            )
        return settings

    @cached_property
    def backend(self) -> Backend:
        """The queue and the rule."""
        settings = self.settings
        if self.region_name is None:
            raise WrongUsage(_no_region())
        return Backend.connect(settings, self._sdk)

    def editor(self, *, by: str | None = "cli") -> Editor:
        """The editor of the queue.

        The author of its changes is DUEBELL_CHANGED_BY, or else this process's user with the tool `by` which;
        unknown if `by` is None.
        """
        set_place(f"cli on {socket.gethostname()}")
        return Editor(
            backend=self.backend,
            changed_by=self.backend.settings.changed_by or (None if by is None else caller(by)),
        )

    def export_account(self) -> None:
        """Put the chosen account into the environment, for a user's program that makes its own clients."""
        if self._local:
            _forget("AWS_PROFILE", *(name for name in os.environ if name.startswith("AWS_ENDPOINT_URL")))
            os.environ.update(self._local.environment)
            return
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

    @cached_property
    def _local(self) -> LocalStack | None:
        """The stack of `duebell local`, if it is what is named."""
        if self.name != LOCAL:
            return None
        stack = LocalStack.find()
        if stack is None or not stack.environment:
            raise NotDeployed(
                "no `duebell local` is running in this folder or above: start it, or name its state folder "
                "in DUEBELL_STATE"
            )
        return stack


def _no_region() -> str:
    """The way out where no region is given: the stack of this machine, if one runs, or the region."""
    if (stack := LocalStack.find()) and stack.environment:
        return f"AWS_REGION is not set: give --region, or --name {LOCAL}, the stack of `duebell local` here"
    return "AWS_REGION is not set: give --region; `duebell local` starts a stack on this machine"


def _forget(*names: str) -> None:
    for name in names:
        os.environ.pop(name, None)


class EndpointSession(botocore.session.Session):
    """Makes each client with its endpoint URL, if it has one; those of the bell when they are first used."""

    endpoint_url: str | None = None

    def create_client(self, service_name: str, *args: Any, **options: Any) -> Any:
        options["endpoint_url"] = self.endpoint_url
        make = partial(super().create_client, service_name, *args, **options)
        return _Late(make) if service_name in _BELLS else make()


#: The services of the bell, which few commands call.
_BELLS = {Rule.service, RingSchedule.service}


class _Late:
    """A client that is made when it is first used."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = cache(make)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._make(), name)


#: Variables of this process that count for a scheduler of another name as well.
OURS = ("DUEBELL_CHANGED_BY", "DUEBELL_STRICT_ACTIONS")

#: Lambda and the tagging API answer these without permission.
_REFUSED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}


def find(session: botocore.session.Session, name: str, given: Mapping[str, str]) -> tuple[Settings, str]:
    """The settings of the scheduler of this name, and why the worker's could not be read, or no text.

    Without permission to read the worker's, the parts have the names that the templates give them.

    given  variables that override the worker's

    Raises NotDeployed, AwsUnavailable, AwsRefused, InvalidSettings.
    """
    function: dict[str, Any] = {}
    why_not = ""
    try:
        lambdas: Any = session.create_client("lambda")
        function = dict(lambdas.get_function_configuration(FunctionName=name))
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code == "ResourceNotFoundException":
            raise NotDeployed(
                f"there is no scheduler {quoted(name)} in {session.get_config_variable('region')}: "
                f"give its --region and --profile"
            ) from error
        if code not in _REFUSED:
            raise AwsRefused(str(error)) from error
        why_not = str(error)
    except BotoCoreError as error:
        raise AwsUnavailable(f"{error}{way_out(error)}") from error
    environment = function.get("Environment", {})
    there: dict[str, str] = environment.get("Variables", {})
    variables = {
        "DUEBELL_NAME": name,
        **{variable: value for variable, value in there.items() if variable.startswith("DUEBELL_")},
        **{variable: os.environ[variable] for variable in OURS if variable in os.environ},
        **given,
    }
    why_not = why_not or environment.get("Error", {}).get("Message", "")
    return Settings.from_env(variables), why_not
