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
    """Put back the rule, its target and the permission, where they are missing. Returns what was missing.

    Nothing is made for a function that does not exist: then the name may be wrong. A schedule is left as it
    is, since its target and role are part of it. Raises AwsRefused.
    """
    if backend.client is None or backend.rule.kind is not BellKind.RULE:
        return ()
    name, client = backend.rule.name, backend.client
    function = backend.settings.function or name
    try:
        client("lambda").get_function_configuration(FunctionName=function)
        return tuple(put_back(client, name, function))
    except (ClientError, BotoCoreError) as error:
        raise AwsRefused(
            f"rule {quoted(name)}, its target or its permission cannot be put back: {in_brief(error)}. Let "
            f"someone run `duebell deploy` who may change the stack"
        ) from error
