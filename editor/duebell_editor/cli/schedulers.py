"""Schedulers by name: their places and settings, and the note of the stack of `duebell local`."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

import boto3
import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.aws.aws_session import is_here, way_out
from duebell_shared.errors import AwsRefused, AwsUnavailable, NotDeployed
from duebell_shared.quoting import quoted
from duebell_shared.settings import Settings


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The place of one scheduler; `profile` is None where the environment's credentials were used."""

    region: str
    account: str
    profile: str | None = None


def known_places() -> dict[str, Place]:
    """The places by name; none if the file is missing or cannot be read."""
    try:
        return msgspec.json.decode(_file().read_bytes(), type=dict[str, Place])
    except (OSError, msgspec.MsgspecError):
        return {}


def note_place(name: str, place: Place) -> None:
    """Note the place of this scheduler. A file that cannot be written is no error: it is found again."""
    known = known_places()
    if known.get(name) != place:
        _write({**known, name: place})


def forget_place(name: str) -> None:
    """Drop the note of this scheduler."""
    known = known_places()
    if known.pop(name, None):
        _write(known)


def _write(places: dict[str, Place]) -> None:
    file = _file()
    new = file.with_name(f"{file.name}.{os.getpid()}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        new.write_bytes(msgspec.json.format(msgspec.json.encode(places)))
        new.replace(file)


def _file() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    folder = Path(state) if state and Path(state).is_absolute() else Path.home() / ".local" / "state"
    return folder / "duebell" / "environments.json"


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


#: The state folder, unless the variable names another.
STATE = Path(".duebell")
STATE_VARIABLE = "DUEBELL_STATE"

_FILE = "local.json"


class LocalStack(msgspec.Struct, frozen=True, kw_only=True):
    """A stack that `duebell local` started.

    pid          the number of the process
    editor       address of the HTTP editor; empty until everything is ready
    environment  variables with which other processes reach the stack
    synced       lines that tell what its start changed of the recurring tasks
    """

    pid: int
    editor: str = ""
    environment: dict[str, str] = {}
    synced: tuple[str, ...] = ()

    @classmethod
    def read(cls, state: Path) -> Self | None:
        """The note in this state folder; None if there is none. A folder of another user is not believed."""
        try:
            if hasattr(os, "geteuid") and state.stat().st_uid != os.geteuid():
                return None
            return msgspec.json.decode((state / _FILE).read_bytes(), type=cls)
        except (OSError, msgspec.MsgspecError):
            return None

    @classmethod
    def find(cls) -> Self | None:
        """The stack of the state folder that DUEBELL_STATE names, or of this folder or the nearest above."""
        if named := os.environ.get(STATE_VARIABLE):
            return cls.read(Path(named))
        here = Path.cwd()
        found = (cls.read(folder / STATE) for folder in (here, *here.parents))
        return next((one for one in found if one), None)

    def write(self, state: Path) -> None:
        """Keep this note in the state folder, in place of one that is there."""
        new = state / f"{_FILE}.new"
        new.write_bytes(msgspec.json.encode(self))
        new.replace(state / _FILE)

    @staticmethod
    def delete(state: Path) -> None:
        """Delete the note."""
        (state / _FILE).unlink(missing_ok=True)
