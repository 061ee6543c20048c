"""The command `duebell cost`: dollars a month, without a call to AWS."""

import json
from datetime import timedelta
from enum import StrEnum
from typing import Annotated

import typer
from msgspec.structs import replace

from duebell_editor.cli.context import Context
from duebell_editor.cli.program import everywhere, with_json
from duebell_shared.settings import Precision

from .cost import MONTH, Cost, Usage, cost, measured, scheduler_cost, snapshot_dollars
from .intake_cost import Arriving, intake_cost
from .prices import PRICES

__all__ = ["app"]

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


class Recurring(StrEnum):
    """The interval at which tasks recur."""

    MINUTELY = "minutely"
    HOURLY = "hourly"
    DAILY = "daily"

    @property
    def interval(self) -> timedelta:
        """The time between two occurrences."""
        match self:
            case Recurring.MINUTELY:
                return timedelta(minutes=1)
            case Recurring.HOURLY:
                return timedelta(hours=1)
            case Recurring.DAILY:
                return timedelta(days=1)


@app.command("cost")
@with_json()
def cost_command(
    context: Context,
    *,
    tasks: Annotated[int, typer.Option(min=1, help="Tasks a month; with --recurring, tasks that recur.")],
    at_a_time: Annotated[int, typer.Option(min=1, help="How many of them are due at a time.")] = 1,
    recurring: Annotated[Recurring | None, typer.Option(help="How often each of them recurs.")] = None,
    precision: Annotated[Precision, typer.Option(help="The worker's setting.")] = Precision.MINUTE,
    size: Annotated[float, typer.Option("--size", metavar="KB", min=0.0, help="The size of a task.")] = 1.0,
    memory: Annotated[int, typer.Option(metavar="MB", min=128, help="The worker's memory.")] = 512,
    snap_start: Annotated[
        bool, typer.Option("--snap-start", help="The worker starts from a snapshot, as deployed so.")
    ] = False,
    intake: Annotated[
        int | None,
        typer.Option(
            min=1, help="Messages that come within a second, if tasks are added by the intake queue."
        ),
    ] = None,
    actions: Annotated[int, typer.Option(min=0, help="Actions with metrics in CloudWatch; 0 for none.")] = 0,
) -> None:
    """Say what tasks cost on AWS a month, in dollars of us-east-1 without free tiers. Calls nothing.

    Not in it: what the actions cost, storage, backups, alarms.
    """
    of = measured()
    occurrences = tasks * (MONTH / recurring.interval if recurring else 1.0)
    together = min(at_a_time, tasks)
    usage = Usage(
        tasks=occurrences,
        at_a_time=together,
        every=MONTH / (occurrences / together),
        recurs=recurring is not None,
        precision=precision,
        size_kb=size,
        memory_mb=memory,
        snap_start=snap_start,
    )
    metrics = of.fixed_metrics + actions * of.action_metrics if actions else 0
    ours, theirs = cost(usage, of), scheduler_cost(usage, of)
    standing = {"snapshot": snapshot_dollars(memory)} if snap_start else {}
    if intake:
        together = min(intake, tasks)
        arriving = Arriving(
            messages=0 if recurring else tasks,
            at_a_time=together,
            every=MONTH / (tasks / together),
            size_kb=size,
            memory_mb=memory,
        )
        taking = intake_cost(arriving, of)
        ours = replace(ours, function=ours.function + taking.function, log=ours.log + taking.log)
        standing["SQS"] = taking.requests
    standing["metrics"] = metrics * PRICES["metric"].dollars
    total = ours.dollars + sum(standing.values())
    if context.out.as_json:
        told = {"usd_a_month": {**_parts(ours), **standing, "total": total}}
        told["eventbridge_scheduler"] = {**_parts(theirs), "total": theirs.dollars}
        typer.echo(json.dumps({name: _rounded(each) for name, each in told.items()}))
        return
    typer.echo(
        f"{occurrences:,.0f} {'occurrences' if recurring else 'tasks'} in {usage.runs:,.0f} runs a month"
    )
    for name, dollars in {**_parts(ours), **standing, "total": total}.items():
        typer.echo(f"{name:<10} ${dollars:,.2f}")
    typer.echo(f"EventBridge Scheduler, a Lambda and a table: ${theirs.dollars:,.2f}")


def _parts(cost: Cost) -> dict[str, float]:
    parts = {"DynamoDB": cost.dynamodb, "Lambda": cost.function, "log": cost.log}
    return parts | ({"schedules": cost.others} if cost.others else {})


def _rounded(dollars: dict[str, float]) -> dict[str, float]:
    return {name: round(each, 4) for name, each in dollars.items()}


everywhere(app)
