"""Sessions of the AWS SDK. They make clients with the settings that the SDK finds in the environment.

The SDK reads the descriptions of AWS's services with Python's own JSON, and searches four hundred folders.
This takes half of the time to make its clients, so a loader of our own reads the descriptions. The endpoints
of all services are 1.2 MB: the loader decodes only endpoints that the SDK asks for.
"""

import gzip
import ipaddress
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import botocore.session
import msgspec
from botocore.exceptions import BotoCoreError, NoCredentialsError
from botocore.loaders import JSONFileLoader, Loader

if TYPE_CHECKING:
    import boto3


def client_maker(session: "boto3.Session | botocore.session.Session | None") -> Callable[..., Any]:
    """The function that makes a client for a named service: of this session, or of one from the environment.

    The session from the environment is botocore's: to import boto3 makes a cold start a tenth longer. Raises
    the SDK's ProfileNotFound.
    """
    if session is None:
        session = _environments_session()
    return session.create_client if isinstance(session, botocore.session.Session) else session.client


def _environments_session() -> botocore.session.Session:
    session = botocore.session.get_session()
    session.register_component("data_loader", QuickLoader(session.get_config_variable("data_path")))
    if not session.get_config_variable("region") and (region := os.environ.get("AWS_REGION")):
        session.set_config_variable("region", region)
    return session


class QuickLoader(Loader):
    """Finds the same descriptions as the SDK's loader, in the same folders, with the same contents.

    data_path  folders to look into first, as AWS_DATA_PATH has them; None for none
    """

    def __init__(self, data_path: str | None = None) -> None:
        folders = data_path.split(os.pathsep) if data_path else []
        super().__init__(
            extra_search_paths=[str(Path(os.path.expandvars(folder)).expanduser()) for folder in folders],
            file_loader=_QuickFileLoader(),
        )

    def list_available_services(self, type_name: str) -> list[str]:
        """The services that have a folder; the caller finds out whether it holds this type of description."""
        return self._folders

    @cached_property
    def _folders(self) -> list[str]:
        places = (Path(place) for place in self.search_paths)
        return sorted({folder.name for place in places if place.is_dir() for folder in place.iterdir()})


class _QuickFileLoader(JSONFileLoader):
    """Reads the files with msgspec. Reads a file that msgspec refuses as the SDK does."""

    def load_file(self, file_path: str) -> Any:
        try:
            if (content := _content(file_path)) is None:
                return None
            decode = _endpoints if Path(file_path).name == "endpoints" else msgspec.json.decode
            return decode(content)
        except msgspec.MsgspecError:
            return super().load_file(file_path)


#: The form of the file `endpoints`: a partition has texts, and objects such as `services`, whose values are
#: left encoded.
_PARTITIONS = dict[str, int | list[dict[str, str | dict[str, msgspec.Raw]]]]


class _Lazy(Mapping[str, Any]):
    """A JSON object whose values are decoded when they are asked for."""

    def __init__(self, encoded: Mapping[str, msgspec.Raw]) -> None:
        self._encoded = encoded

    def __getitem__(self, name: str) -> Any:
        return msgspec.json.decode(self._encoded[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._encoded)

    def __len__(self) -> int:
        return len(self._encoded)


def _endpoints(content: bytes) -> dict[str, Any]:
    """The endpoints of all services, decoded when they are looked up: the SDK needs few of them."""
    found: dict[str, Any] = msgspec.json.decode(content, type=_PARTITIONS)
    for partition in found["partitions"]:
        for name, value in partition.items():
            if isinstance(value, dict):
                partition[name] = _Lazy(value)
    return found


def _content(path: str) -> bytes | None:
    """The bytes of this file, compressed or not; None if there is neither."""
    if (file := Path(f"{path}.json")).is_file():
        return file.read_bytes()
    if (file := Path(f"{path}.json.gz")).is_file():
        return gzip.decompress(file.read_bytes())
    return None


def way_out(failure: object) -> str:
    """A hint to append to an SDK error, if credentials are missing or the call went to this machine."""
    if isinstance(failure, NoCredentialsError):
        return ": set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    url = failure.kwargs.get("endpoint_url") if isinstance(failure, BotoCoreError) else None
    return "; is `duebell local` running?" if url and is_here(str(url)) else ""


def is_here(url: str) -> bool:
    """Tell whether this URL's host is this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
