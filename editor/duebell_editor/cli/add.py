"""`duebell add`: one task, or all of a file."""

from typing import Annotated

import typer
from msgspec import UNSET

from duebell_editor import IfExists

from . import options
from .add_file import Policy, add_file
from .completion import actions
from .context import Context
from .errors import WrongUsage
from .options import option
from .parsing import payload_from
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
and in, spread and expires_after are seconds.
"""


@app.command(epilog=_EPILOG)
@with_json()
def add(
    context: Context,
    action: Annotated[
        str | None,
        typer.Argument(metavar="ACTION", help="Name of an action of the worker.", autocompletion=actions),
    ] = None,
    *,
    due: options.Due = None,
    in_: options.In = None,
    timezone: options.Timezone = None,
    schedule: options.ScheduleOption = None,
    start: options.Start = None,
    end: options.End = None,
    missed: options.MissedOption = None,
    max_runs: options.MaxRuns = None,
    spread: options.Spread = None,
    expires_after: options.ExpiresAfter = None,
    priority: options.Priority = None,
    on_failed: options.OnFailed = None,
    then: options.ThenOption = None,
    then_payload: options.ThenPayload = None,
    then_after: options.ThenAfter = None,
    payload: options.Payload = None,
    payload_file: options.PayloadFile = None,
    id: Annotated[str | None, option("--id", "ID", "1 to 256 characters. [generated]")] = None,
    if_exists: Annotated[
        IfExists, typer.Option("--if-exists", help="What to do when the id is taken.")
    ] = IfExists.FAIL,
    at_most: options.AtMost = None,
    from_: Annotated[
        str | None, option("--from", "FILE", "Add many: a JSON object to a line; - is stdin.")
    ] = None,
    id_prefix: Annotated[
        str | None,
        option("--id-prefix", "TEXT", "With --from: lines without an id get this and their number."),
    ] = None,
) -> None:
    """Add a task: run ACTION with a payload at a time, or by a schedule. Or add many, from a file.

    A due date that has passed means at once.
    """
    if from_ is not None:
        policy = Policy(if_exists, at_most)
        add_file(context, from_, zone=timezone, id_prefix=id_prefix, policy=policy)
        return
    if action is None:
        raise WrongUsage("give the ACTION to run, or --from FILE")
    if id_prefix is not None:
        raise WrongUsage("--id-prefix goes with --from; give --id")
    if schedule is None and due is None and in_ is None:
        raise WrongUsage("give --due, a date and time, --in, a time from now, or --schedule")
    if schedule is not None and (due is not None or in_ is not None):
        raise WrongUsage("give --schedule, or --due or --in, not both")
    value = payload_from(payload, payload_file)
    task = context.editor().add(
        action,
        due=options.due_from(due, in_, timezone) if schedule is None else None,
        schedule=schedule,
        timezone=timezone.key if schedule is not None and timezone else None,
        start=start,
        end=end,
        missed=missed,
        max_runs=max_runs,
        spread=spread,
        expires_after=expires_after,
        priority=priority,
        on_failed=on_failed,
        then=options.then_from(then, then_payload, then_after),
        payload=None if value is UNSET else value,
        id=id,
        if_exists=if_exists,
        at_most=at_most,
    )
    print_change(context, task, timezone)
