"""`duebell environments`: the schedulers that --name can mean."""

from collections.abc import Iterator

import msgspec
import typer
from botocore.exceptions import BotoCoreError, ClientError
from rich.table import Table
from rich.text import Text

from duebell_shared.errors import DuebellError
from duebell_shared.settings import LOCAL, Color

from .context import Context
from .local_stack import LocalStack
from .named import deployed_names, find, is_embedded
from .output import console, plain
from .places import known_places
from .program import with_json
from .tables import COLORS

__all__ = ["app"]

app = typer.Typer()


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """A scheduler that a command can name.

    where  `here`, in the account and region that were asked; `noted`, where it was when it was last named; or
           `this machine`
    """

    name: str
    label: str = ""
    color: Color | None = None
    region: str = ""
    account: str = ""
    profile: str | None = None
    where: str


@app.command()
@with_json("JSON for programs, one environment to a line.")
def environments(context: Context) -> None:
    """List the schedulers that --name finds: here, on this machine, and where they were last found.

    Here is the account and the region of the options, or else of the environment. A scheduler is noted with
    its region and profile whenever it is deployed, or found by its name.
    """
    if context.out.as_json:
        for one in _all(context):
            context.out.print_json(msgspec.to_builtins(one))
        return
    found = list(_all(context))
    if not found:
        context.out.note("none: `duebell local` starts one on this machine, `duebell deploy` one on AWS")
        return
    console().print(_table(found))


def _all(context: Context) -> Iterator[Environment]:
    """List each environment once; `here` before `noted`."""
    if (stack := LocalStack.find()) and stack.environment:
        label = stack.environment.get("DUEBELL_LABEL", "")
        yield Environment(name=LOCAL, label=label, where="this machine")
    seen = set()
    try:
        for one in _here(context):
            seen.add(one.name)
            yield one
    except (BotoCoreError, ClientError, DuebellError) as error:
        context.out.warn(f"AWS could not be asked: {error}")
    for name, place in known_places().items():
        if name not in seen:
            yield Environment(
                name=name, region=place.region, account=place.account, profile=place.profile, where="noted"
            )


def _here(context: Context) -> Iterator[Environment]:
    session = context.session
    if is_embedded(session):
        return
    known = known_places()
    for name in sorted(deployed_names(session)):
        found = find(session, name, {})
        place = known.get(name)
        yield Environment(
            name=name,
            label=found.settings.label,
            color=found.settings.color,
            region=session.region_name,
            account=found.account,
            profile=context.profile or (place.profile if place else None),
            where="here",
        )


def _table(found: list[Environment]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("NAME", "LABEL", "REGION", "ACCOUNT", "PROFILE", "WHERE"):
        table.add_column(column, no_wrap=True)
    for one in found:
        label = Text(plain(one.label), style=COLORS[one.color] if one.color else "")
        table.add_row(plain(one.name), label, one.region, one.account, plain(one.profile or ""), one.where)
    return table
