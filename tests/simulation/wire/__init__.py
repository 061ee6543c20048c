"""AWS below the SDK: simulated histories of the real table code, over botocore's own clients and retries."""

from .clients import backend_over
from .network import Network

__all__ = ["Network", "backend_over"]
