"""The actions that run when a task is due. This goes into the Lambda, and the service adds tasks by it."""

from duebell import Abort, Retry, Task, Worker

from .payloads import Item, Sale

__all__ = ["put_on_sale", "restock", "take_off_sale", "worker"]

worker = Worker.from_env()

_BUSY_ATTEMPTS = 1


@worker.action("put_on_sale", attempts=5)
def put_on_sale(sale: Sale, task: Task) -> None:
    """Set the item's price. Setting it twice does no harm, so it does not matter if the task runs twice."""
    if sale.price <= 0:
        raise Abort(f"item {sale.item} cannot go on sale for {sale.price}")
    print(f"item {sale.item} is on sale for {sale.price:.2f} (task {task.id}, attempt {task.attempt})")


@worker.action("take_off_sale")
def take_off_sale(item: Item) -> None:
    """Give the item its usual price back."""
    print(f"item {item.item} is off sale again")


@worker.action("restock", attempts=3)
def restock(item: Item, task: Task) -> None:
    """Order more of the item. The warehouse is busy at first, so it asks for another attempt in a minute."""
    if task.attempt <= _BUSY_ATTEMPTS:
        raise Retry("the warehouse is busy", after=60)
    print(f"more of item {item.item} is on its way")
