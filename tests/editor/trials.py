"""The transaction of most tests: a trial in a table of the user, and the task that ends it."""

from datetime import timedelta

from duebell import Editor

__all__ = ["start_trial"]


def start_trial(editor: Editor, id: str = "one") -> None:
    """A transaction of a put and an added task."""
    with editor.transaction() as tx:
        tx.put(table="trials", item={"id": id}, condition="attribute_not_exists(id)")
        tx.add("expire", due=timedelta(hours=1), id=id)
