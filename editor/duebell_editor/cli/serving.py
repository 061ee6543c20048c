"""`duebell editor`: the HTTP editor, from the command line."""

from collections.abc import Callable
from typing import Annotated

import typer

from duebell_shared.errors import DuebellError

from . import at

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def editor(
    *,
    port: Annotated[int, typer.Option(help="Port to serve on; 0 is any.")] = 8125,
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Address of this machine; one that others reach needs a token."),
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN",
            envvar="DUEBELL_EDITOR_TOKEN",
            help="What requests must carry, 16 characters or more. Others on this machine see what stands "
            "on a command line: better set the variable.",
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another name it answers to, such as a proxy's; may be repeated."),
    ] = None,
) -> None:
    """Serve the HTTP editor and its page, until Ctrl-C; on this machine only, unless told otherwise."""
    serve = _http_serve()

    def started(url: str) -> None:
        asking = "" if token is None else ", and asks for the token"
        print(f"duebell is at {url}{asking} (Ctrl-C ends it)", flush=True)

    serve(at.editor(), host=host, port=port, token=token, allowed_hosts=allowed_host or (), started=started)


def _http_serve() -> Callable[..., None]:
    try:
        from duebell_editor.http import serve  # noqa: PLC0415 - an extra, and slow to import
    except ModuleNotFoundError as error:
        if error.name not in {"fastapi", "starlette", "pydantic", "uvicorn"}:
            raise
        raise DuebellError(
            f"the HTTP editor needs {error.name}, which is not installed: pip install 'duebell[http]'"
        ) from error
    return serve
