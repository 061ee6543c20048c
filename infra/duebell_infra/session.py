"""An AWS session whose clients talk to one endpoint on this machine, whatever the environment says."""

from typing import Any

import boto3
import botocore.session
from botocore.client import BaseClient
from botocore.config import Config

__all__ = ["REGION", "embedded_environment", "embedded_session"]

#: The embedded stack keeps its things apart by region, as AWS does; it uses this one.
REGION = "us-east-1"

#: Anything does, as long as everyone uses the same: the key names the account.
_KEY = "test"


class _EndpointSession(botocore.session.Session):
    """Gives its endpoint to every client that is not given one.

    Set here rather than in the environment, so that a process can talk to an embedded stack and to AWS, or to
    two stacks, and so that a variable the user has set does not win.
    """

    def __init__(self, endpoint_url: str) -> None:
        # A profile that the environment names need not exist here, and must not matter.
        super().__init__(session_vars={"profile": (None, None, None, None)})
        self._endpoint_url = endpoint_url
        self.set_config_variable("region", REGION)
        self.set_config_variable("config_file", "")
        self.set_config_variable("credentials_file", "")
        self.set_credentials(_KEY, _KEY)
        self.set_default_client_config(Config(proxies={}))

    def create_client(self, *args: Any, **options: Any) -> BaseClient:
        if options.get("endpoint_url") is None:
            options["endpoint_url"] = self._endpoint_url
        return super().create_client(*args, **options)


def embedded_session(endpoint_url: str) -> boto3.Session:
    """A session for the stack at this endpoint, with its region and credentials."""
    return boto3.Session(botocore_session=_EndpointSession(endpoint_url))


def embedded_environment(endpoint_url: str) -> dict[str, str]:
    """What another process must have in its environment to talk to the stack at this endpoint."""
    return {
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": _KEY,
        "AWS_SECRET_ACCESS_KEY": _KEY,
    }
