"""The name of a scheduler, and the environment of its editors."""

import re
from datetime import timedelta

from duebell_infra.errors import InvalidDeployment
from duebell_shared.quoting import quoted
from duebell_shared.settings import LOCAL, SETTINGS, Settings

#: CloudFormation takes neither underscores nor a digit in front. The shortest limit is that of the worker's
#: role in Terraform: 38 characters before what Terraform adds, eight of which are `-worker-`.
#: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
NAME = "[a-zA-Z][a-zA-Z0-9-]{2,29}"


def check_scheduler_name(name: str) -> str:
    """Return `name` if a scheduler can be called so. Raises InvalidDeployment."""
    if name == LOCAL:
        raise InvalidDeployment("name", "`local` is the stack of `duebell local`: choose another name")
    if re.fullmatch(NAME, name):
        return name
    raise InvalidDeployment(
        "name",
        f"a scheduler cannot be named {quoted(name)}: 3 to 30 letters, digits and hyphens, and a letter "
        f"first",
    )


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
