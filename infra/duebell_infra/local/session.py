"""An AWS session whose clients talk to one endpoint on this machine, whatever the environment says.

The stack's key is the access key, and the session token too: functions on the stack have it as their token,
and MiniStack wants the same token from all.
"""

from typing import Any

import boto3
import botocore.session
from botocore.client import BaseClient
from botocore.config import Config

#: The embedded stack keeps resources apart by region, as AWS does; everything is in this one.
REGION = "us-east-1"

#: The secret that signs requests. It is no secret: the access key is what lets a caller use the stack.
_SECRET = "not-secret"  # noqa: S105


class _EndpointSession(botocore.session.Session):
    """Gives its endpoint to every client that is not given one.

    Set here rather than in the environment, so that a process can talk to an embedded stack and to AWS, or to
    two stacks, and so that a variable the user has set does not win.
    """

    def __init__(self, endpoint_url: str, key: str) -> None:
        # A profile that the environment names need not exist here, and must not matter.
        super().__init__(session_vars={"profile": (None, None, None, None)})
        self._endpoint_url = endpoint_url
        self.set_config_variable("region", REGION)
        self.set_config_variable("config_file", "")
        self.set_config_variable("credentials_file", "")
        self.set_credentials(key, _SECRET, key)
        self.set_default_client_config(Config(proxies={}))

    def create_client(self, *args: Any, **options: Any) -> BaseClient:
        if options.get("endpoint_url") is None:
            options["endpoint_url"] = self._endpoint_url
        return super().create_client(*args, **options)


def embedded_session(endpoint_url: str, key: str) -> boto3.Session:
    """A session for the stack at this endpoint, with its region and its access key."""
    return boto3.Session(botocore_session=_EndpointSession(endpoint_url, key))


def embedded_environment(endpoint_url: str, key: str) -> dict[str, str]:
    """The environment that another process needs to talk to the stack at this endpoint."""
    return {
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": _SECRET,
        "AWS_SESSION_TOKEN": key,
    }
