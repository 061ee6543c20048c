"""Deliveries: the messages that are made of tasks, and the services that they are sent to.

Loaded when a worker has a delivery, and each service's module when something is sent to it: a worker without
them starts no later for it.
"""

from .deliverer import Deliverer
from .message import Message, message_of

__all__ = ["Deliverer", "Message", "message_of"]
