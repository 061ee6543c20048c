"""An emulated AWS for measurements: a table as the stack has it, a rule, and nobody who runs anything."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
from tests.support import create_rule, create_table

from duebell_infra.local.ministack import MiniStack, embedded_session, free_port
from duebell_infra.local.state import StateFolder

__all__ = ["emulated_aws"]


@contextmanager
def emulated_aws() -> Iterator[boto3.Session]:
    """A session on a MiniStack of its own, gone when the context is left."""
    with tempfile.TemporaryDirectory(prefix="duebell-bench-") as folder, StateFolder(Path(folder)) as state:
        ministack = MiniStack(state, free_port())
        ministack.start()
        try:
            session = embedded_session(ministack.endpoint_url, state.key)
            create_table(session)
            create_rule(session)
            yield session
        finally:
            ministack.stop()
