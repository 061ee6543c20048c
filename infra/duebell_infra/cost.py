"""The command `cost`: what tasks cost in a month on AWS. duebell_editor/simulation/cost.py has the prices."""

import json
from datetime import timedelta
from enum import StrEnum
from typing import Annotated

import typer

from duebell_editor.cli.context import Context
from duebell_editor.cli.program import examples
from duebell_editor.simulation.cost import MONTH, Usage, cost, measured
from duebell_shared.settings import Precision

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


class Recurring(StrEnum):
    """The interval at which tasks recur."""

    MINUTELY = "minutely"
    HOURLY = "hourly"
    DAILY = "daily"


_INTERVALS = {
    Recurring.MINUTELY: timedelta(minutes=1),
    Recurring.HOURLY: timedelta(hours=1),
    Recurring.DAILY: timedelta(days=1),
}


@app.command("cost", epilog=examples("cost --tasks 1000000", "cost --tasks 200 --recurring hourly"))
def cost_command(
    context: Context,
    *,
    tasks: Annotated[int, typer.Option(min=1, help="Tasks a month; with --recurring, tasks that recur.")],
    at_a_time: Annotated[int, typer.Option(min=1, help="How many of them are due at a time.")] = 1,
    recurring: Annotated[Recurring | None, typer.Option(help="How often each of them recurs.")] = None,
    precision: Annotated[Precision, typer.Option(help="The worker's setting.")] = Precision.MINUTE,
    memory: Annotated[int, typer.Option(metavar="MB", min=128, help="The worker's memory.")] = 512,
) -> None:
    """Prices are those of us-east-1 without free tiers. It calls nothing.

    The actions themselves, storage, backups and fixed monthly costs are not included.
    """
    occurrences = tasks * (MONTH / _INTERVALS[recurring] if recurring else 1.0)
    together = min(at_a_time, tasks)
    usage = Usage(
        tasks=occurrences,
        at_a_time=together,
        every=MONTH / (occurrences / together),
        recurs=recurring is not None,
        precision=precision,
        memory_mb=memory,
    )
    computed = cost(usage, measured())
    parts = {"DynamoDB": computed.dynamodb, "Lambda": computed.function, "log": computed.log}
    parts["total"] = computed.dollars
    if context.out.as_json:
        typer.echo(json.dumps({"usd_a_month": {name: round(each, 4) for name, each in parts.items()}}))
        return
    what = "occurrences" if recurring else "tasks"
    typer.echo(f"{what} a month: {occurrences:,.0f}, runs a month: {usage.runs:,.0f}")
    for name, dollars in parts.items():
        typer.echo(f"{name:<14} ${dollars:,.2f}")
