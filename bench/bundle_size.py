"""How large the Lambda bundle is, without anyone's actions: the one that `duebell deploy` would send to AWS
for a new stack."""

import msgspec

from duebell_infra.bundle import build
from duebell_infra.target import Target

__all__ = ["BundleSize", "measure"]


class BundleSize(msgspec.Struct, frozen=True, kw_only=True):
    """In bytes; and for what it is."""

    packed: int
    unpacked: int
    files: int
    target: str


def measure() -> BundleSize:
    """Build it."""
    bundle = build(None, Target.like_here())
    return BundleSize(
        packed=len(bundle.data), unpacked=bundle.unpacked, files=bundle.files, target=str(bundle.target)
    )
