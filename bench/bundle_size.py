"""The size of the Lambda bundle that `duebell deploy` sends to AWS for a new stack, without actions."""

import msgspec

from duebell_infra.bundle.bundle import build
from duebell_infra.bundle.target import Target

__all__ = ["BundleSize", "measure"]


class BundleSize(msgspec.Struct, frozen=True, kw_only=True):
    """The size in bytes, the number of files, and the Python and architecture that it is for."""

    packed: int
    unpacked: int
    files: int
    target: str


def measure() -> BundleSize:
    """Build the bundle, and return its size."""
    bundle = build(None, Target.like_here())
    return BundleSize(
        packed=len(bundle.data), unpacked=bundle.unpacked, files=bundle.files, target=str(bundle.target)
    )
