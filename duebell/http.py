"""The HTTP editor, to run or to mount in your own application. Needs `duebell[http]`."""

from duebell_editor.http import create_app, serve

__all__ = ["create_app", "serve"]
