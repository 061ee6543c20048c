"""A program on a machine that looks for what is due every few seconds."""

from .design import Capabilities, Design, Platform, Source, Task
from .fixed_rate import act_for_what_is_due, due_item
from .tables import create_table, delete_table

__all__ = ["EVERY", "AlwaysOnPoller"]

#: Seconds between two looks.
EVERY = 5.0


class AlwaysOnPoller(Design):
    """One machine, one program, started again when it ends."""

    name = "poller"
    title = "An always-on poller"
    sources = (
        Source(
            "db-scheduler: persistent, cluster-friendly scheduler",
            "https://github.com/kagkarlsson/db-scheduler",
        ),
    )
    capabilities = Capabilities(
        move="update the item",
        cancel="delete the item",
        recurring="the program moves the item on",
        listing="a query of the index by time",
        fails="tried again every few seconds, without end",
        farthest=None,
        idle="a machine, and a query every 5 seconds",
        limits={
            1_000: "none",
            1_000_000: "what one program gets done; several need claims",
            100_000_000: "the index's one partition: 1,000 writes a second",
        },
    )

    def deploy(self) -> None:
        create_table(self.platform, self.name, by_due=True)
        self.platform.program(self.name, poll)

    def add(self, task: Task) -> None:
        self.platform.client("dynamodb").put_item(TableName=self.name, Item=due_item(task))

    def move(self, task: Task) -> None:
        self.add(task)

    def cancel(self, id: str) -> None:
        self.platform.client("dynamodb").delete_item(TableName=self.name, Key={"id": {"S": id}})

    def destroy(self) -> None:
        self.platform.program(self.name, _nothing)
        delete_table(self.platform, self.name)


def poll(platform: Platform) -> None:
    """Look, act, wait, for ever."""
    while True:
        act_for_what_is_due(platform, AlwaysOnPoller.name)
        platform.sleep(EVERY)


def _nothing(_: Platform) -> None:
    """Take the place of the program that ran."""
