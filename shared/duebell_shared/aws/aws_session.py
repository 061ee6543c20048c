"""Sessions of the AWS SDK: what makes its clients, by settings that the SDK finds in the environment."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import botocore.session

from .service_models import QuickLoader

if TYPE_CHECKING:
    import boto3

__all__ = ["client_maker", "default_session"]


def client_maker(session: "boto3.Session | None") -> Callable[..., Any]:
    """The function that makes clients, by the name of a service: the session's, or the environment's own.

    The environment's own session is botocore's. boto3 makes the same clients of it, and what it adds takes a
    cold start a tenth longer to import. Raises the SDK's ProfileNotFound.
    """
    return _environments_session().create_client if session is None else session.client


def default_session(**chosen: Any) -> "boto3.Session":
    """A boto3 session with these arguments; the environment gives the others.

    boto3 reads AWS_DEFAULT_REGION only; AWS_REGION counts too.
    """
    import boto3  # noqa: PLC0415 (a worker does without)

    session = boto3.Session(**chosen)
    if not session.region_name and (region := os.environ.get("AWS_REGION")):
        return boto3.Session(**{**chosen, "region_name": region})
    return session


def _environments_session() -> botocore.session.Session:
    session = botocore.session.get_session()
    session.register_component("data_loader", QuickLoader(session.get_config_variable("data_path")))
    if not session.get_config_variable("region") and (region := os.environ.get("AWS_REGION")):
        session.set_config_variable("region", region)
    return session
