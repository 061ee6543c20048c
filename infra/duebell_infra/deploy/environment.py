"""The name of a scheduler, and the environment of its editors."""

import re
from datetime import timedelta

from duebell_infra.errors import InvalidDeployment
from duebell_shared.quoting import quoted
from duebell_shared.settings import LOCAL, SETTINGS, Settings

from .parameters import PARAMETERS


def check_scheduler_name(name: str) -> str:
    """Return `name` if a scheduler can be called so. Raises InvalidDeployment."""
    if name == LOCAL:
        raise InvalidDeployment("name", "`local` is the stack of `duebell local`: choose another name")
    row = PARAMETERS["Name"]
    if re.fullmatch(row.pattern, name):
        return name
    raise InvalidDeployment("name", f"a scheduler cannot be named {quoted(name)}: {row.says}")


#: What editors have in common with the worker.
_SHARED = ("retention", "history", "kept_payload", "label", "color", "bell", "intake")


def environment_of(settings: Settings) -> dict[str, str]:
    """The variables of this scheduler for its editors.

    Settings of the history, the label, the bell and the intake are in it only if they are not the defaults.
    An editor needs the history's as well as the worker: it ends the tasks that it cancels.
    """
    default = Settings()
    kept = {
        SETTINGS[field].variable: value.days if isinstance(value, timedelta) else value
        for field in _SHARED
        if (value := getattr(settings, field)) != getattr(default, field)
    }
    return {
        "DUEBELL_TABLE": settings.table,
        "DUEBELL_RULE": settings.rule,
        "DUEBELL_FUNCTION": settings.function or "",
        **{variable: str(value) for variable, value in kept.items()},
    }
