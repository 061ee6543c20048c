"""The payloads of the shop's tasks: written by the service, read by the actions, checked on the way."""

from dataclasses import dataclass

__all__ = ["Item", "Sale"]


@dataclass(frozen=True, kw_only=True)
class Item:
    """An item of the shop's, by its number."""

    item: int


@dataclass(frozen=True, kw_only=True)
class Sale(Item):
    """An item that goes on sale, and the price it goes for."""

    price: float
