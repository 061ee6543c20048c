"""The version of a bundle, in a file of its own: the worker knows it before it imports anything else."""

import hashlib
import json
from pathlib import Path

from duebell_worker.actions.version import BUNDLE_FILE, duebell_release

from .archive import Files

__all__ = ["with_version"]


def with_version(files: Files, folder: Path) -> Files:
    """These files and the one with their version, which is written to this folder."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0".encode() + hashlib.sha256(files[name].read_bytes()).digest())
    file = folder / BUNDLE_FILE
    told = {"version": digest.hexdigest()[:12], "duebell": duebell_release()}
    file.write_text(json.dumps(told), encoding="utf-8")
    return {**files, BUNDLE_FILE: file}
