"""The worker's bundle: everything that the Lambda function runs, in one zip."""

import hashlib
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from .archive import pack
from .bundle_version import with_version
from .dependencies import IN_RUNTIME, install
from .errors import BundleFailed
from .sources import actions_files, own_files
from .target import Target

__all__ = ["Bundle", "build"]

#: The most that a function may have unpacked, in bytes.
#: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
_UNPACKED_LIMIT = 250 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """A zip for Lambda.

    data      the zip's bytes
    actions   the `module:attribute` of the Worker in it; empty if it has no actions
    target    what it was built for
    files     how many files are in it
    unpacked  how large they are, in bytes
    """

    data: bytes
    actions: str
    target: Target
    files: int
    unpacked: int

    @property
    def hash(self) -> str:
        """The hash of the contents, which is the same for the same inputs."""
        return hashlib.sha256(self.data).hexdigest()[:32]

    def __str__(self) -> str:
        packed, unpacked = (f"{size / 1e6:.1f} MB" for size in (len(self.data), self.unpacked))
        return f"{packed} ({unpacked} unpacked, {self.files} files) for {self.target}"


def build(
    actions: str | None,
    target: Target,
    *,
    requirements: Path | None = None,
    folder: Path | None = None,
    leave_out: Collection[str] = IN_RUNTIME,
) -> Bundle:
    """Build the bundle of the core, its libraries, the user's actions and their requirements.

    actions       `module:attribute` of the user's Worker; None makes a worker that knows no action
    requirements  a requirements file or a pyproject.toml, with what the actions need besides
    folder        where the actions are looked for first; the current one if not given
    leave_out     libraries that are there where the bundle runs

    The same inputs give the same bytes. Raises BundleFailed.
    """
    users = actions_files(actions, folder=folder) if actions else {}
    with tempfile.TemporaryDirectory(prefix="duebell-bundle-") as made:
        libraries = install(Path(made, "libraries"), target, requirements=requirements, leave_out=leave_out)
        files = with_version({**libraries, **users, **own_files()}, Path(made))
        unpacked = sum(file.stat().st_size for file in files.values())
        if unpacked > _UNPACKED_LIMIT:
            raise BundleFailed(
                f"the bundle is {unpacked / 1e6:.0f} MB unpacked, and Lambda takes at most "
                f"{_UNPACKED_LIMIT / 1e6:.0f} MB: require less, or keep large files in S3"
            )
        data = pack(files)
    return Bundle(data=data, actions=actions or "", target=target, files=len(files), unpacked=unpacked)
