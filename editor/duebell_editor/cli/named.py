"""A scheduler by its name: the settings that its worker runs with, read off the worker's Lambda.

The worker is asked, not its stack: Terraform and others make no stack, and the worker's environment is what
counts.
"""

import os
from collections.abc import Iterator, Mapping

import boto3
import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.aws.endpoint import is_here, way_out
from duebell_shared.errors import AwsRefused, AwsUnavailable, NotDeployed
from duebell_shared.quoting import quoted
from duebell_shared.settings import Settings

__all__ = ["OURS", "Found", "deployed_names", "find", "is_embedded"]

#: Variables of this process that count for a scheduler of another name as well.
OURS = ("DUEBELL_CHANGED_BY", "DUEBELL_STRICT_ACTIONS")

#: Lambda and the tagging API answer these without permission.
_REFUSED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A scheduler that was found.

    settings  those of its worker; if they may not be read, what the templates name its parts by
    account   the account that it is in; empty if that is unknown
    why_not   why the settings could not be read; empty if they could
    """

    settings: Settings
    account: str = ""
    why_not: str = ""


def find(session: boto3.Session, name: str, given: Mapping[str, str]) -> Found:
    """The scheduler of this name in the session's account and region.

    given  variables that count before the worker's

    Raises NotDeployed, AwsUnavailable, AwsRefused, InvalidSettings.
    """
    own = {variable: os.environ[variable] for variable in OURS if variable in os.environ}
    by_name = {"DUEBELL_NAME": name}
    try:
        function = session.client("lambda").get_function_configuration(FunctionName=name)
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if code == "ResourceNotFoundException":
            raise NotDeployed(
                f"there is no scheduler {quoted(name)} in {session.region_name}: give its --region and "
                f"--profile once, and they are noted; `duebell environments` lists those here"
            ) from error
        if code not in _REFUSED:
            raise AwsRefused(str(error)) from error
        settings = Settings.from_env({**by_name, **own, **given})
        return Found(settings=settings, account=_account(session), why_not=str(error))
    except BotoCoreError as error:
        raise AwsUnavailable(f"{error}{way_out(error)}") from error
    environment = function.get("Environment", {})
    unreadable = environment.get("Error", {}).get("Message", "")
    variables = {
        variable: value
        for variable, value in environment.get("Variables", {}).items()
        if variable.startswith("DUEBELL_")
    }
    return Found(
        settings=Settings.from_env({**by_name, **variables, **own, **given}),
        account=function["FunctionArn"].split(":")[4],
        why_not=unreadable,
    )


def deployed_names(session: boto3.Session) -> Iterator[str]:
    """The names of the schedulers in the session's account and region, by the tag that all templates set."""
    pages = session.client("resourcegroupstaggingapi").get_paginator("get_resources")
    for page in pages.paginate(TagFilters=[{"Key": "duebell"}], ResourceTypeFilters=["lambda:function"]):
        for resource in page["ResourceTagMappingList"]:
            yield resource["ResourceARN"].rpartition(":")[2]


def is_embedded(session: boto3.Session) -> bool:
    """Tell whether the session's AWS is an emulator on this machine, whose place is not worth a note."""
    return is_here(session.client("lambda").meta.endpoint_url)


def _account(session: boto3.Session) -> str:
    """The account of the session's credentials: everybody may ask for that."""
    try:
        return session.client("sts").get_caller_identity()["Account"]
    except (ClientError, BotoCoreError):
        return ""
