"""The HTTP editor: the library as JSON over HTTP, and a page that shows the queue.

Needs FastAPI and uvicorn (`pip install 'duebell[http]'`).
"""

from .app import create_app
from .server import serve

__all__ = ["create_app", "serve"]
