"""The user's worker, loaded into the process of a command, for the scheduler that its options name."""

import os
import sys
from pathlib import Path

import typer

from duebell_editor.cli.context import Context
from duebell_infra.deploy.delivery_options import without_none
from duebell_infra.deploy.editors import environment_of
from duebell_shared.errors import DuebellError
from duebell_worker import Worker

__all__ = ["worker_here"]


def worker_here(context: Context, actions: str) -> Worker:
    """The worker that --actions names. Its log goes to standard output, a JSON object to a line.

    Raises BadParameter, a usage error, if it cannot be imported, and InvalidSettings.
    """
    if context.chosen_name:
        os.environ.update(environment_of(context.settings))
    context.export_account()
    sys.path.insert(0, str(Path.cwd()))  # as python -m does
    from duebell_worker.entry import load  # noqa: PLC0415
    from duebell_worker.log import LogFormat, to_stdout  # noqa: PLC0415

    to_stdout(LogFormat.JSON)
    try:
        return load(without_none(actions) or "")
    except DuebellError:
        raise
    except Exception as error:
        raise typer.BadParameter(
            f"--actions {actions} cannot be imported: {type(error).__name__}: {error}"
        ) from error
