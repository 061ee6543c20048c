"""The HTTP editor, to be run or mounted in an application of yours. It needs `duebell[http]`."""

from duebell_editor.http import create_app, serve

__all__ = ["create_app", "serve"]
