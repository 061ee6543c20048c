"""The SDK's descriptions of AWS's services, read quicker than the SDK reads them.

A client is made of several of them. The SDK reads these with Python's own JSON, and first looks into the
folders of all four hundred services for what they hold. That is half of the time that its clients take.
"""

import gzip
import os
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from botocore.loaders import JSONFileLoader, Loader

__all__ = ["QuickLoader"]


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
    """Reads the files with msgspec; what that refuses, as the SDK does."""

    def load_file(self, file_path: str) -> Any:
        try:
            content = _content(file_path)
            return None if content is None else msgspec.json.decode(content)
        except msgspec.MsgspecError:
            return super().load_file(file_path)


def _content(path: str) -> bytes | None:
    """The bytes of this file, compressed or not; None if there is neither."""
    if (file := Path(f"{path}.json")).is_file():
        return file.read_bytes()
    if (file := Path(f"{path}.json.gz")).is_file():
        return gzip.decompress(file.read_bytes())
    return None
