"""What the commands work at: an editor, and the time. Tests put their own here."""

from datetime import datetime

from duebell_editor import Editor
from duebell_shared.instants import utc_now

from ..caller import caller

__all__ = ["editor", "now"]


def editor(*, by: str | None = "cli") -> Editor:
    """The editor that every command uses, as the environment says.

    Its changes are by whom the environment says, else by this process's user, with what is used; or by nobody
    known if that is None.
    """
    editor = Editor.from_env()
    return editor if editor.changed_by or by is None else editor.acting_as(caller(by))


def now() -> datetime:
    """The wall clock."""
    return utc_now()
