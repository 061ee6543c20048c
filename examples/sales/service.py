"""The shop's own service. It decides what shall happen when, and leaves the waiting to duebell."""

from datetime import datetime

from duebell import Editor, Task

from .actions import put_on_sale, take_off_sale
from .payloads import Item, Sale

__all__ = ["Shop"]


class Shop:
    """Plans sales. The tasks' ids are made from the item, so that they can be found and changed later."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor

    def plan_sale(self, item: int, price: float, *, start: datetime, end: datetime) -> None:
        """Put the item on sale from `start` to `end`; a plan there was for it is replaced."""
        self._editor.add_many(
            [
                put_on_sale.using(due=start, id=f"sale-{item}-start").task(Sale(item=item, price=price)),
                take_off_sale.using(due=end, id=f"sale-{item}-end").task(Item(item=item)),
            ],
            if_exists="replace",
        )

    def prolong_sale(self, item: int, *, end: datetime) -> Task:
        """Let a sale last until another date."""
        return self._editor.move(f"sale-{item}-end", due=end)

    def call_off_sale(self, item: int) -> None:
        """Neither start nor end what was planned for the item."""
        for task in (f"sale-{item}-start", f"sale-{item}-end"):
            self._editor.cancel(task)
