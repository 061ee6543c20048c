"""The commands about the stack: on this machine, in a bundle, on AWS."""

import inspect
import json
from collections.abc import Callable, Mapping
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from duebell_editor.cli.context import Context, with_options
from duebell_editor.cli.errors import Exit
from duebell_editor.cli.program import examples

from .bundle.bundle import build
from .bundle.target import Architecture, Target
from .deploy.deploy import Deployment
from .deploy.deploy import deploy as deploy_stack
from .deploy.deploy import destroy as destroy_stack
from .deploy.options import (
    ACTIONS,
    Actions,
    Deliver,
    Requirements,
    actions_given,
    deliveries_given,
    pairs,
)
from .deploy.parameters import PARAMETERS, Parameter, check_scheduler_name, environment_of
from .deploy.stack import Stack, template_text
from .local.signals import ended_by_signal
from .local.worker_command import worker_here
from .verify import tell
from .verify import verify as make_checks

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)

Python = Annotated[
    str | None,
    typer.Option("--python", metavar="VERSION", help="Lambda's Python. [as before, or this machine's]"),
]
BundlePython = Annotated[
    str | None, typer.Option("--python", metavar="VERSION", help="Lambda's Python. [3.13]")
]
Processor = Annotated[
    Architecture | None, typer.Option("--architecture", help="Lambda's processor; deploy keeps it. [arm64]")
]
Import = Annotated[
    bool,
    typer.Option(
        "--import/--no-import", help="Import the bundle in a clean interpreter first, to see that it can run."
    ),
]

_VERIFY = """\
It prints the result of each check, and what to do. --json prints a document to a line, with the answers of
AWS.

The exit status is 6 if a check failed, 5 if a permission for one is missing.
"""


@app.command(epilog=examples("run --actions shop.worker:worker"))
def run(context: Context, *, actions: Actions) -> None:
    """Then it sets the rule to the next task.

    The worker's log goes to standard output, a JSON object to a line.

    The exit status is 7 if a task failed.
    """
    if worker_here(context, actions).run().failed:
        raise typer.Exit(Exit.SOME_FAILED)


@app.command(epilog=examples("bundle --actions shop.worker:worker --output worker.zip"))
def bundle(
    *,
    actions: Actions,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The zip file to write.")
    ] = Path("duebell-worker.zip"),
    requirements: Requirements = None,
    python: BundlePython = None,
    architecture: Processor = None,
    this_machine: Annotated[
        bool, typer.Option("--this-machine", help="Build for this machine's Python, not for Lambda's.")
    ] = False,
    imported: Import = True,
) -> None:
    """The same inputs give the same bytes."""
    if not output.parent.is_dir():
        raise typer.BadParameter(f"--output {output}: there is no folder {output.parent}")
    default = Target()
    chosen = Target(python=python or default.python, architecture=architecture or default.architecture)
    target = Target.this_machine() if this_machine else chosen
    built = build(
        actions_given(actions),
        target,
        requirements=requirements,
        imported=imported,
    )
    output.write_bytes(built.data)
    typer.echo(f"{output}: {built}")
    for note in built.notes:
        typer.echo(f"{output}: {note}", err=True)
    for one in built.deliveries or ():
        for needed in one.permissions:
            typer.echo(f"{output}: the delivery {one.name} needs {needed.action} on {needed.arn}")


@app.command(epilog=examples("template > duebell.yaml"))
def template() -> None:
    """It is for other tools that deploy."""
    typer.echo(template_text(), nl=False)


def _with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each parameter of the stack that has one, in place of its `**given`.

    Options that the command has itself stay as they are. See `_parameters_from`.
    """
    own = {"name", *inspect.signature(command).parameters}
    rows = {_argument(row): row for row in PARAMETERS.values() if row.option}
    return with_options(command, {name: _option(row) for name, row in rows.items() if name not in own})


def _parameters_from(given: Mapping[str, object]) -> dict[str, object]:
    """The parameters that options of `_with_parameters` give; None for one that is not given."""
    words = {True: "yes", False: "no", None: None}
    return {
        name: words[value] if isinstance(value := given[argument], bool) else value
        for name, row in PARAMETERS.items()
        if (argument := _argument(row)) in given
    }


def _argument(row: Parameter) -> str:
    return row.option.removeprefix("--").replace("-", "_")


def _option(row: Parameter) -> Any:
    """The option of a parameter, with the default of a new stack."""
    help = f"{row.means} [{row.default}]" if row.default else row.means
    if row.kind == "yes":
        return Annotated[bool | None, typer.Option(f"{row.option}/--no-{row.option[2:]}", help=help)]
    if row.kind == "number":
        return Annotated[int | None, typer.Option(row.option, metavar="N", help=help)]
    if row.values:
        choices: Any = StrEnum
        kind = choices("Choice", [(one, one) for one in row.values])
        return Annotated[kind | None, typer.Option(row.option, case_sensitive=False, help=help)]
    return Annotated[str | None, typer.Option(row.option, metavar="TEXT", help=help)]


@app.command(
    epilog=examples(
        "deploy --actions shop.worker:worker",
        "--name shop deploy --actions shop.worker:worker --alarm-mail ops@example.com",
    )
)
@_with_parameters
def deploy(
    context: Context,
    *,
    actions: Annotated[str | None, ACTIONS] = None,
    deliver: Deliver = None,
    requirements: Requirements = None,
    bucket: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The bucket to upload to. [as before, or duebell's own]"),
    ] = None,
    python: Python = None,
    architecture: Processor = None,
    imported: Import = True,
    env: Annotated[
        list[str] | None,
        typer.Option(
            "--env",
            metavar="NAME=VALUE",
            help="An environment variable for your actions. Give all of them, if any.",
        ),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", metavar="NAME=VALUE", help="Any other parameter of the template."),
    ] = None,
    **given: Any,
) -> None:
    """Options that are not given keep their values, and the rule keeps its time."""
    name = check_scheduler_name(context.chosen_name or "duebell")
    parameters = {
        **_parameters_from(given),
        "Environment": json.dumps(pairs("--env", env)) if env else None,
        **pairs("--parameter", parameter or []),
    }
    deployment = Deployment(
        name=name,
        actions=actions_given(actions),
        deliver=deliveries_given(deliver),
        requirements=requirements,
        bucket=bucket,
        python=python,
        architecture=architecture,
        imported=imported,
        parameters={key: str(value) for key, value in parameters.items() if value is not None},
    )
    session = context.account.session
    settings = deploy_stack(session, deployment, say=typer.echo, progress=typer.echo)
    needed = {"AWS_DEFAULT_REGION": session.region_name, **environment_of(settings)}
    typer.echo(f"environment of the services that add tasks: {' '.join(map('='.join, needed.items()))}")
    outputs = Stack(session.client("cloudformation"), name, progress=typer.echo).outputs()
    typer.echo(f"policy that their roles need: {outputs['EditorPolicyArn']}")
    if "IntakeUrl" in outputs:
        typer.echo(f"intake: {outputs['IntakeUrl']}, which needs sqs:SendMessage on {outputs['IntakeArn']}")


@app.command(epilog=examples("verify", "verify --no-probe --json", more=_VERIFY))
def verify(
    context: Context,
    *,
    probe: Annotated[
        bool, typer.Option("--probe/--no-probe", help="Wait for the rule to ring, some minutes.")
    ] = True,
) -> None:
    """It also lets the rule ring for a task. It is safe on a queue in use.

    It changes only tasks of its own, and deletes them when it ends.
    """

    account = context.account
    findings = make_checks(account.session, account.settings, probe=probe, progress=context.out.tell_watcher)
    with ended_by_signal(), closing(findings) as made:
        if status := tell(made, as_json=context.out.as_json):
            raise typer.Exit(status)


@app.command(epilog=examples("destroy", "--name shop destroy --delete-table --yes"))
def destroy(
    context: Context,
    *,
    delete_table: Annotated[
        bool, typer.Option("--delete-table", help="Delete the table too, with every task in it.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """The table stays unless --delete-table is given."""
    name = check_scheduler_name(context.chosen_name or "duebell")
    if not yes:
        what = "and its table, with every task in it" if delete_table else "and keep its table"
        context.confirm(f"this would delete the stack {name} {what}")
    session = context.account.session
    destroy_stack(session, name, delete_table=delete_table, say=typer.echo, progress=typer.echo)
