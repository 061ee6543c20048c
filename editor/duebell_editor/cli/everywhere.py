"""The options that every command has: where AWS is, and how much to say. Before the command or after it."""

import inspect
from collections.abc import Callable
from functools import wraps
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer

from .account import choose_account
from .completing import profiles
from .running import say_more

__all__ = ["EndpointUrl", "Profile", "Region", "Verbose", "Version", "everywhere", "go_by"]

Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="The AWS profile, whatever the environment says.",
        autocompletion=profiles,
    ),
]
Region = Annotated[
    str | None,
    typer.Option("--region", metavar="REGION", help="The AWS region, whatever the environment says."),
]
EndpointUrl = Annotated[
    str | None,
    typer.Option("--endpoint-url", metavar="URL", help="Where AWS is, whatever the environment says."),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Say more about errors, and where they came from.")
]


def _show_version(is_asked: bool) -> None:
    if not is_asked:
        return
    try:
        print(f"duebell {version('duebell')}")
    except PackageNotFoundError:  # run from its sources
        print("duebell, not installed as a package")
    raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Say the version, and end.")
]

_OPTIONS = {"profile": Profile, "region": Region, "endpoint_url": EndpointUrl, "verbose": Verbose}


def go_by(*, verbose: bool = False, **account: str | None) -> None:
    """Do as these options say; what is not given stays as it was."""
    choose_account(**account)
    if verbose:
        say_more()


def everywhere(app: typer.Typer) -> typer.Typer:
    """Have each command of this app take the options as well, which otherwise stand before it only."""
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _with_options(command.callback)
    return app


def _with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(command)
    def with_options(**given: Any) -> Any:
        go_by(**{name: given.pop(name) for name in _OPTIONS})
        return command(**given)

    signature = inspect.signature(command, eval_str=True)
    more = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=annotation,
            default=False if name == "verbose" else None,
        )
        for name, annotation in _OPTIONS.items()
    ]
    vars(with_options)["__signature__"] = signature.replace(
        parameters=[*signature.parameters.values(), *more]
    )
    return with_options
