"""What the commands work at: an editor, and the time. Tests put their own here."""

from datetime import datetime

from duebell_editor import Editor
from duebell_shared.instants import utc_now

__all__ = ["editor", "now"]


def editor() -> Editor:
    """The editor that every command uses, as the environment says."""
    return Editor.from_env()


def now() -> datetime:
    """The wall clock."""
    return utc_now()
