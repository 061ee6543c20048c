"""`duebell add`: one task, or all of a file."""

from typing import Annotated, Any

import typer

from duebell_editor import IfExists
from duebell_shared.tasks.fields import FIELDS

from . import options
from .add_file import Policy, add_file
from .completion import actions
from .context import Context
from .errors import WrongUsage
from .options import option, with_fields
from .program import with_json
from .tasks import print_change

__all__ = ["app"]

app = typer.Typer()

_EPILOG = """\b
Examples:
  duebell add remind --in 2d10h --payload '{"user": 7}' --id remind-7
  duebell add report --schedule '0 9 * * 1-5' --timezone Europe/Berlin
  duebell add --from tasks.jsonl --id-prefix import-3- --if-exists keep

--from: a file is read twice, and if one of its lines is wrong, nothing is added. Standard input is added as
it comes, and wrong lines are reported at the end (exit status 7). An interrupted add can be repeated with
--if-exists keep, when each line has an id, or --id-prefix makes one of its number. In a line, times are text,
and lengths of time are seconds.
"""


@app.command(epilog=_EPILOG)
@with_json()
@with_fields(*(name for name in FIELDS if name not in {"action", "rev"}))
def add(
    context: Context,
    action: Annotated[
        str | None,
        typer.Argument(metavar="ACTION", help="Name of an action of the worker.", autocompletion=actions),
    ] = None,
    *,
    from_: Annotated[
        str | None, option("--from", "FILE", "Add many: a JSON object to a line; - is stdin.")
    ] = None,
    id_prefix: Annotated[
        str | None,
        option("--id-prefix", "TEXT", "With --from: lines without an id get this and their number."),
    ] = None,
    **given: Any,
) -> None:
    """Add a task: run ACTION with a payload at a time, or by a schedule. Or add many, from a file.

    Times are ISO-8601, such as 2026-12-31T09:00+01:00. Lengths of time are such as 90s, 1h30m or 2d10h.
    """
    timezone, due, in_ = given["timezone"], given["due"], given["in_"]
    if from_ is not None:
        policy = Policy(IfExists(given["if_exists"] or "fail"), given["at_most"])
        add_file(context, from_, zone=timezone, id_prefix=id_prefix, policy=policy)
        return
    if action is None:
        raise WrongUsage("give the ACTION to run, or --from FILE")
    if id_prefix is not None:
        raise WrongUsage("--id-prefix goes with --from; give --id")
    fields = options.fields_from(given)
    if "schedule" in fields:
        if due is not None or in_ is not None:
            raise WrongUsage("give --schedule, or --due or --in, not both")
        fields["timezone"] = timezone and timezone.key
    elif due is None and in_ is None:
        raise WrongUsage("give --due, a date and time, --in, a time from now, or --schedule")
    else:
        fields["due"] = options.due_from(due, in_, timezone)
    print_change(context, context.editor().add(action, **fields), timezone)
