"""The doctor's look at what lets the rule wake the worker, and its repair."""

from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind
from duebell_shared.bell.wiring import is_permitted, put_back
from duebell_shared.errors import AwsRefused, DuebellError
from duebell_shared.quoting import in_brief, quoted

from .health import Problem, ProblemKind

__all__ = ["REWIRED", "permission_problem", "restore"]

#: The problems that `restore` solves.
REWIRED = {ProblemKind.RULE, ProblemKind.NO_TARGET, ProblemKind.NO_PERMISSION}


def permission_problem(backend: Backend) -> Problem | None:
    """The problem of a rule that may not invoke the worker's function.

    None as well if the function is not known, or may not be looked at.
    """
    if not backend.settings.function or backend.client is None or backend.rule.kind is not BellKind.RULE:
        return None
    functions = backend.client("lambda")
    try:
        function = functions.get_function_configuration(FunctionName=backend.settings.function)
        if is_permitted(functions, function["FunctionArn"], backend.rule.read().arn):
            return None
    except (ClientError, BotoCoreError, DuebellError):
        return None
    return Problem(
        kind=ProblemKind.NO_PERMISSION,
        what=f"rule {quoted(backend.rule.name)} may not invoke the worker's function, so nothing runs",
        way_out="`duebell doctor --fix` or `duebell deploy` gives the permission",
        mendable=True,
    )


def restore(backend: Backend) -> tuple[str, ...]:
    """Put back what somebody deleted of the bell; returns the names of these parts.

    Nothing is made for a function that does not exist: then the name may be wrong. Raises AwsRefused.
    """
    if backend.client is None:
        return ()
    bell, client = backend.rule, backend.client
    function = backend.settings.function or bell.name
    try:
        client("lambda").get_function_configuration(FunctionName=function)
        return tuple(put_back(client, bell.kind, bell.name, function))
    except (ClientError, BotoCoreError, LookupError) as error:
        parts = ", its target or its permission" if bell.kind is BellKind.RULE else ""
        raise AwsRefused(
            f"{bell.kind} {quoted(bell.name)}{parts} cannot be put back: {in_brief(error)}. Let someone run "
            f"`duebell deploy` who may change the stack"
        ) from error
