"""The commands that make one change to a task, to several, or to all that a filter finds."""

from typing import Annotated

import typer

from duebell_shared.verbs import Verb

from . import at
from .changing_many import How, change_found, change_named, change_one
from .completing import ids as known_ids
from .given import instant_from, zone_from
from .options import Action, After, AsJson, Before, Prefix, StatusOption, Timezone
from .output import print_change

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)

_Ids = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ID", help="Their ids; - reads them from stdin, one to a line.", autocompletion=known_ids
    ),
]
_Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Of those found, at most so many.")]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count them; nothing is changed.")]
_Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, when a filter chooses the tasks.")]

#: Each with what it does to whom, and an example of a filter.
_COMMANDS = {
    "cancel": (
        Verb.CANCEL,
        "Never run a task; it is kept as history. It must be scheduled, running, paused, failed or expired.",
        "--action remind --before 2027-01-01 --timezone Europe/Berlin --dry-run",
    ),
    "pause": (
        Verb.PAUSE,
        "Take a task out of the queue until it is resumed. It must be scheduled.",
        "--prefix sale- --yes",
    ),
    "resume": (
        Verb.RESUME,
        "Put a paused task back in the queue; it runs at once if its due date has passed.",
        "--status paused --prefix sale- --yes",
    ),
    "retry": (
        Verb.RETRY,
        "Run a failed or expired task again, now, with all attempts to come.",
        "--status failed --action put_on_sale --limit 50 --yes",
    ),
    "run-now": (
        Verb.RUN_NOW,
        "Run a recurring task once more, now; or a task that runs once, now instead of when it is due. "
        "It must be scheduled.",
        "--prefix report- --yes",
    ),
}

_HELP = """{what}

Name one or several, or give a filter: then it asks first, or --yes must be given. Of what a filter finds,
those are taken whose status allows it."""

_EPILOG = """\b
Examples:
  duebell {name} sale-42 sale-43
  duebell {name} {example}
  duebell list --action put_on_sale --all | duebell {name} -

If some of several could not be changed, they are told and the exit status is 7.
"""


def _add(name: str, verb: Verb, what: str, example: str) -> None:
    @app.command(name, help=_HELP.format(what=what), epilog=_EPILOG.format(name=name, example=example))
    def change(
        ids: _Ids = None,
        *,
        status: StatusOption = None,
        action: Action = None,
        prefix: Prefix = "",
        after: After = None,
        before: Before = None,
        timezone: Timezone = None,
        limit: _Limit = 1000,
        dry_run: _DryRun = False,
        yes: _Yes = False,
        as_json: AsJson = False,
    ) -> None:
        has_filter = any((status, action, prefix, after, before))
        if ids and has_filter:
            raise typer.BadParameter("give ids or a filter, not both")
        if not ids and not has_filter:
            raise typer.BadParameter(
                "give an ID, several, - for ids from stdin, or a filter such as --action"
            )
        editor, how = at.editor(), How(verb, dry_run=dry_run, yes=yes, as_json=as_json)
        if not ids:
            found = editor.select(
                verb, status=status, action=action, prefix=prefix,
                after=instant_from("--after", after, zone_from(timezone)),
                before=instant_from("--before", before, zone_from(timezone)), limit=limit,
            )  # fmt: skip
            change_found(editor, found, how)
        elif ids == ["-"] or ids[1:] or dry_run:
            change_named(editor, ids, how)
        else:
            print_change(change_one(editor, verb, ids[0]), at.now(), as_json=as_json)


for _name, (_verb, _what, _example) in _COMMANDS.items():
    _add(_name, _verb, _what, _example)
