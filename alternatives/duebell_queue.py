"""duebell by its own code, as one design among the others."""

from abc import abstractmethod
from datetime import timedelta

from duebell import Editor

from .design import Capabilities, Design, Source, Task

__all__ = ["DuebellQueue"]


class DuebellQueue(Design):
    """The product's editor; who runs the worker is the platform's affair."""

    name = "duebell"
    title = "duebell"
    sources = (Source("How duebell works", "how-it-works.md"),)
    capabilities = Capabilities(
        move="one conditional write, also to earlier; undo, and the whole history",
        cancel="one conditional write; the rule may ring once for nothing",
        recurring="rate and cron expressions in time zones, with a policy for what was missed",
        listing="by time, status, action and id; a page",
        fails="tried again with back-off, then kept as failed with its traceback, to be retried by a click",
        farthest=None,
        idle="nothing; alarms and a dashboard if wanted, $3.80 a month",
        limits={
            1_000: "none",
            1_000_000: "none; 3,000 single adds a second",
            100_000_000: "10 GB and 500 adds a second for each lane: 64 lanes at most",
        },
    )

    @property
    @abstractmethod
    def editor(self) -> Editor:
        """An editor of the queue."""

    def add(self, task: Task) -> None:
        payload = {"id": task.id, "payload": task.payload}
        if task.every:
            minutes = task.every // timedelta(minutes=1)
            schedule = f"rate({minutes} minute{'s' if minutes > 1 else ''})"
            self.editor.add("act", schedule=schedule, start=task.due, payload=payload, id=task.id)
        else:
            self.editor.add("act", due=task.due, payload=payload, id=task.id)

    def move(self, task: Task) -> None:
        self.editor.move(task.id, due=task.due)

    def cancel(self, id: str) -> None:
        self.editor.cancel(id)
