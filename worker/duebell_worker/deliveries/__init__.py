"""Deliveries: the messages that are made of tasks are sent to their targets.

Loaded when a worker has a delivery: a worker without them starts no later for it.
"""

from .deliverer import Deliverer

__all__ = ["Deliverer"]
