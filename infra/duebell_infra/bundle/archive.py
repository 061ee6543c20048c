"""A zip file whose bytes depend on nothing but the names and contents of the files in it."""

import io
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["Files", "pack"]

#: A file: its place in the archive, with slashes, and its path on this machine.
Files = Mapping[str, Path]

#: The earliest time that a zip file can hold.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX = 3


def pack(files: Files) -> bytes:
    """The files as a zip: in order of name, without times, readable for everyone as Lambda needs it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(_entry(name, files[name]), files[name].read_bytes())
    return buffer.getvalue()


def _entry(name: str, file: Path) -> zipfile.ZipInfo:
    is_executable = file.stat().st_mode & stat.S_IXUSR
    entry = zipfile.ZipInfo(name, date_time=_NO_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = _UNIX
    entry.external_attr = (stat.S_IFREG | (0o755 if is_executable else 0o644)) << 16
    return entry
