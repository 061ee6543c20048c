"""`duebell editor`: the HTTP editor and its page."""

import logging
from typing import Annotated

import typer

from duebell_shared.errors import DuebellError
from duebell_shared.log_lines import to_stdout

from .context import Context
from .options import flag, option

__all__ = ["app"]

app = typer.Typer()

_HOST = "Address of this machine; one that others reach needs a token."
_PROOF = (
    "What requests must carry, 16 characters or more. Others on this machine can see a command line: better "
    "set the variable."
)
_ALLOWED_HOST = "Another name it answers to, such as a proxy's; may be repeated."
_IDENTITY_HEADER = (
    "Header in which the proxy before it names the visitor, such as X-Forwarded-User: kept on the tasks that "
    "they change. Only where nobody can reach it without the proxy."
)


@app.command()
def editor(
    context: Context,
    *,
    port: Annotated[int, typer.Option(help="Port to serve on; 0 is any.")] = 8125,
    host: Annotated[str, option("--host", "ADDRESS", _HOST)] = "127.0.0.1",
    token: Annotated[str | None, option("--token", "TOKEN", _PROOF, envvar="DUEBELL_EDITOR_TOKEN")] = None,
    allowed_host: Annotated[list[str] | None, option("--allowed-host", "NAME", _ALLOWED_HOST)] = None,
    read_only: Annotated[
        bool, flag("--read-only", "Show the queue only: nobody can change anything.")
    ] = False,
    identity_header: Annotated[str | None, option("--identity-header", "NAME", _IDENTITY_HEADER)] = None,
    access_log: Annotated[
        bool | None,
        typer.Option(help="A line of JSON for each request and each change. [on with a token]"),
    ] = None,
) -> None:
    """Serve the HTTP editor and its page, until Ctrl-C; on this machine only, unless told otherwise."""
    try:
        from duebell_editor.http import serve  # noqa: PLC0415 - an extra, and slow to import
    except ModuleNotFoundError as error:
        if error.name not in {"fastapi", "starlette", "pydantic", "uvicorn"}:
            raise
        raise DuebellError(
            f"the HTTP editor needs {error.name}, which is not installed: pip install 'duebell[http]'"
        ) from error
    if (token is not None) if access_log is None else access_log:
        to_stdout(*map(logging.getLogger, ("duebell.http", "duebell.editor")))

    def started(url: str) -> None:
        asking = "" if token is None else ", and asks for the token"
        print(f"duebell is at {url}{asking} (Ctrl-C ends it)", flush=True)

    serve(
        # Without a token, only the users of this machine can reach it.
        context.editor(by="http" if token is None else None),
        host=host,
        port=port,
        token=token,
        allowed_hosts=allowed_host or (),
        read_only=read_only,
        identity_header=identity_header,
        started=started,
    )
