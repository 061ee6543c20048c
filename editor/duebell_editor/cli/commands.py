"""The program itself with its options, and the commands that look at a task or at the scheduler."""

import sys
from typing import Annotated

import typer

from duebell_editor import make_schedule

from . import at
from .everywhere import EndpointUrl, Profile, Region, Verbose, Version, go_by
from .exits import HELP, Exit
from .given import instant_from, zone_from
from .options import Action, AsJson, End, Id, Prefix, Start, StatusOption, Timezone
from .output import (
    print_json,
    show_diagnosis,
    show_preview,
    show_status,
    show_task,
    status_json,
    task_json,
)
from .watching import Watched
from .watching import watch as watch_scheduler

__all__ = ["app", "looking"]

app = typer.Typer(
    name="duebell",
    help="Run things later on AWS: look at the queue of tasks and change it.",
    epilog=HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

looking = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


@app.callback()
def options(
    context: typer.Context,
    *,
    profile: Profile = None,
    region: Region = None,
    endpoint_url: EndpointUrl = None,
    verbose: Verbose = False,
    version: Version = False,
) -> None:
    """Run things later on AWS: look at the queue of tasks and change it."""
    go_by(profile=profile, region=region, endpoint_url=endpoint_url, verbose=verbose)
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(Exit.USAGE)


@looking.command()
def show(id: Id, *, as_json: AsJson = False) -> None:
    """Show all there is to know of a task."""
    task = at.editor().get(id)
    if as_json:
        print_json(task_json(task))
    else:
        show_task(task, at.now())


@looking.command(
    epilog="\b\nExamples:\n  duebell preview 'rate(90 minutes)' --start 2026-12-31T09:00Z\n"
    "  duebell preview '0 9 * * 1-5' --timezone Europe/Berlin --count 3"
)
def preview(
    schedule: Annotated[str, typer.Argument(metavar="EXPRESSION", help="As given to add --schedule.")],
    *,
    timezone: Timezone = None,
    start: Start = None,
    end: End = None,
    count: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="How many times to list, up to 1000.")
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """Say what a schedule means, in words, and the times that come next. Nothing is stored."""
    zone, now = zone_from(timezone), at.now()
    meant = make_schedule(
        schedule,
        timezone=timezone,
        start=instant_from("--start", start, zone),
        end=instant_from("--end", end, zone),
        now=now,
    )
    occurrences = meant.preview(count, now)
    if as_json:
        print_json({"words": meant.describe(), "occurrences": occurrences})
    else:
        show_preview(meant, occurrences, now)


@looking.command()
def status(*, as_json: AsJson = False) -> None:
    """Say how the scheduler stands.

    The exit status is 6 if something is wrong.
    """
    found = at.editor().status()
    if as_json:
        print_json(status_json(found))
    else:
        show_status(found, at.now())
    if not found.healthy:
        raise typer.Exit(Exit.WRONG)


@looking.command(epilog="\b\nExample:\n  duebell watch --prefix sale- --status failed --every 10")
def watch(
    *,
    every: Annotated[float, typer.Option(min=0.5, metavar="SECONDS", help="How often to look.")] = 2.0,
    status: StatusOption = None,
    action: Action = None,
    prefix: Prefix = "",
) -> None:
    """Show how the scheduler stands and what comes next, kept up to date, until Ctrl-C.

    A look costs a dozen reads. In a pipe it is a line for every change, with a tab between the time, when
    the rule rings, the next task's id and when it is looked at, and whether all is well.
    """
    watched = Watched(status=status or None, action=action, prefix=prefix)
    watch_scheduler(at.editor(), watched, every=every, clock=at.now)


@looking.command()
def doctor(
    *,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended, and say what it was.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what is wrong with the scheduler, and mend it.

    Looks for failed tasks too, and for recurring ones that fail. The exit status is 6 if something is wrong
    (still).
    """
    chosen = at.editor()
    before = chosen.status().problems if fix else ()
    if fix:
        chosen.ensure_armed()
    found = chosen.status(thorough=True)
    still = {problem.kind for problem in found.problems}
    mended = [problem for problem in before if problem.mendable and problem.kind not in still]
    if as_json:
        print_json(
            {**status_json(found), "mended": [problem.what for problem in mended]}
            if fix
            else status_json(found)
        )
    else:
        show_diagnosis(found, mended)
    if not found.healthy:
        raise typer.Exit(Exit.WRONG)
