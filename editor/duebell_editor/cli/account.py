"""The AWS account of a command: its session, and the scheduler's settings, queue and rule.

It is not part of `context` because it imports the AWS SDK, which `duebell --help` does not need.
"""

import getpass
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

import botocore.session
from botocore.exceptions import BotoCoreError, ClientError

from duebell_editor.cli.errors import WrongUsage
from duebell_editor.cli.local_note import LocalNote
from duebell_editor.library.editor import Editor
from duebell_shared.audit import set_place
from duebell_shared.aws.aws_session import QuickLoader
from duebell_shared.aws.aws_session import way_out as way_out_of
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import RingSchedule, Rule
from duebell_shared.errors import AwsRefused, AwsUnavailable, NotDeployed
from duebell_shared.quoting import quoted
from duebell_shared.settings import LOCAL, Settings
from duebell_shared.tasks.checks import fit_changed_by

if TYPE_CHECKING:
    import boto3


def caller(by: str) -> str | None:
    """The user of this process, the machine, and the tool `by`, as an author: `anna@laptop via cli`."""
    return fit_changed_by(f"{_user()}@{socket.gethostname()} via {by}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return f"uid {os.getuid()}"


@dataclass(kw_only=True)
class Account:
    """The account and the scheduler, by the options and the environment."""

    name: str | None = None
    profile: str | None = None
    region: str | None = None
    endpoint_url: str | None = None

    @property
    def scheduler(self) -> str:
        """The scheduler in a question: its name or its table."""
        return self.name or self.settings.table

    @cached_property
    def session(self) -> "boto3.Session":
        """The AWS session of the options as a session of boto3, for the commands about the stack."""
        import boto3  # noqa: PLC0415 (commands about tasks do without: it takes a tenth of `duebell list`)

        return boto3.Session(botocore_session=self._sdk)

    @cached_property
    def _sdk(self) -> "EndpointSession":
        """The AWS SDK's session of the options; the environment decides the rest. Raises WrongUsage."""
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
        if not region:
            raise WrongUsage(
                f"AWS_REGION is not set: give --region, or --name {LOCAL} for the stack of `duebell local`"
            )
        made.set_config_variable("region", region)
        return made

    @cached_property
    def settings(self) -> Settings:
        """The settings of the named scheduler; without a name, those of the environment.

        The named scheduler's are read from its worker's Lambda, in one call. Raises NotDeployed, AwsError,
        InvalidSettings, WrongUsage.
        """
        if self.name is None:
            return Settings.from_env()
        if self._local:
            there, ours = self._local.environment, [*_OURS, "DUEBELL_AUDIT"]
        else:
            there, ours = variables_of(self.name, self._sdk), _OURS
        own = {name: os.environ[name] for name in ours if name in os.environ}
        return Settings.from_env({**there, **own})

    @cached_property
    def backend(self) -> Backend:
        """The queue and the rule."""
        return Backend.connect(self.settings, self._sdk)

    def editor(self, *, by: str | None = "cli") -> Editor:
        """The editor of the queue.

        The author of its changes is DUEBELL_CHANGED_BY, or else the user of this process with the tool `by`.
        The author is unknown if `by` is None.
        """
        set_place(f"cli on {socket.gethostname()}")
        return Editor(
            backend=self.backend,
            changed_by=self.backend.settings.changed_by or (None if by is None else caller(by)),
        )

    def export(self) -> None:
        """Put the chosen account into the environment, for a user's program that makes its own clients."""
        chosen = {
            "AWS_PROFILE": self.profile,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ENDPOINT_URL": self.endpoint_url,
        }
        if self._local:
            os.environ.pop("AWS_PROFILE", None)
            chosen = dict(self._local.environment)
        elif self.profile and "AWS_ACCESS_KEY_ID" in os.environ:
            raise WrongUsage(
                "unset AWS_ACCESS_KEY_ID: for the clients of your actions it wins over --profile"
            )
        os.environ.update({name: value for name, value in chosen.items() if value})

    @cached_property
    def _local(self) -> LocalNote | None:
        """The stack of `duebell local`, if the given name is `local`."""
        if self.name != LOCAL:
            return None
        stack = LocalNote.find()
        if stack is None or not stack.environment:
            raise NotDeployed(
                "no `duebell local` is running in this folder or above: start it, or name its state folder "
                "in DUEBELL_STATE"
            )
        return stack


class EndpointSession(botocore.session.Session):
    """Makes each client with the endpoint URL, if there is one; clients of the bell only when first used."""

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


#: Variables of this process that override those of a named scheduler.
_OURS = ["DUEBELL_CHANGED_BY", "DUEBELL_STRICT_ACTIONS"]


def variables_of(name: str, session: botocore.session.Session) -> dict[str, str]:
    """The variables of the worker of this scheduler. Raises NotDeployed, AwsUnavailable, AwsRefused."""
    way_out = "without this right, set the variables that `duebell deploy` prints, and give no name"
    try:
        lambdas: Any = session.create_client("lambda")
        function = lambdas.get_function_configuration(FunctionName=name)
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code == "ResourceNotFoundException":
            raise NotDeployed(
                f"there is no scheduler {quoted(name)} in {session.get_config_variable('region')}: "
                f"give its --region and --profile"
            ) from error
        raise AwsRefused(f"{error}: {way_out}" if code.startswith("AccessDenied") else str(error)) from error
    except BotoCoreError as error:
        raise AwsUnavailable(f"{error}{way_out_of(error)}") from error
    environment = function.get("Environment", {})
    if "Error" in environment:  # such as a KMS key that this user may not use
        raise AwsRefused(f"{environment['Error'].get('Message')}: {way_out}")
    return {**environment.get("Variables", {}), "DUEBELL_NAME": name}
