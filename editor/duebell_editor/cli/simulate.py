"""The command `simulate`: a forecast of the queue, as it is and with changes."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Annotated, Any, TypeVar

import typer
from rich.table import Table
from rich.text import Text

from duebell_editor.library.json_fields import plain_values
from duebell_editor.simulation.simulate import Forecast, Simulation
from duebell_editor.status.why import seconds
from duebell_shared.errors import InvalidQuery, InvalidTask
from duebell_shared.quoting import quoted
from duebell_shared.settings import Precision
from duebell_shared.tasks.fields import NewTask

from .add import Reader
from .context import Context, flag, option
from .errors import WrongUsage
from .options import duration, instant, opened
from .output import console, facts_table, plain, short, when
from .program import examples, with_json

app = typer.Typer()

_T = TypeVar("_T")


@app.command(
    epilog=examples(
        "simulate --until tomorrow",
        "simulate --until 12h --limit mail=5 --limit sms=2/s --pause report",
        "simulate --until 2026-12-31T09:00Z --add tasks.jsonl --json",
        "simulate --until tomorrow --flatten",
    )
)
@with_json()
def simulate(
    context: Context,
    *,
    until: Annotated[
        str, option("--until", "TIME", "A time, a length of time from now, or tomorrow: in 24 hours.")
    ],
    add: Annotated[
        str | None, option("--add", "FILE", "With these tasks too, as in add --from; - is stdin.")
    ] = None,
    limit: Annotated[
        list[str] | None, option("--limit", "ACTION=N", "With N attempts at a time, or N/s a second.")
    ] = None,
    pause: Annotated[list[str] | None, option("--pause", "ACTION", "With this action paused.")] = None,
    spread: Annotated[
        list[str] | None, option("--spread", "ID=DURATION", "With another spread of a recurring task.")
    ] = None,
    precision: Annotated[Precision | None, typer.Option(help="With another precision.")] = None,
    flatten: Annotated[
        bool, flag("--flatten", "Find spreads of recurring tasks that halve the peak.")
    ] = False,
    concurrency: Annotated[
        int, option("--concurrency", "N", "Actions that a run has at a time.", min=1)
    ] = 16,
    memory: Annotated[int, option("--memory", "MB", "The worker's memory, for the cost.", min=128)] = 512,
) -> None:
    """It plays a copy of the queue in memory, and writes nothing. Nothing fails in it.

    Attempts take as long as past ones of their action. The second column is with the changes that are given.
    """
    try:
        found = context.editor().simulate(
            _until(until, context),
            add=_tasks(add, context) if add else (),
            limits=dict(_pair(one, "--limit", _limit) for one in limit or ()),
            pause=pause or (),
            spread=dict(_pair(one, "--spread", duration) for one in spread or ()),
            precision=precision,
            flatten=flatten,
            concurrency=concurrency,
            memory=memory,
        )
    except ValueError as error:
        if isinstance(error, InvalidQuery | InvalidTask):
            raise
        raise WrongUsage(str(error)) from error
    if context.out.as_json:
        context.out.print_json(plain_values(found))
        return
    out = console()
    out.print(_columns(found, context.now()))
    for one in found.flatten:
        out.print(Text(plain(one.command)), soft_wrap=True)
    if flatten and not found.flatten:
        out.print("no spread of a recurring task halves the peak")


def _until(text: str, context: Context) -> datetime | timedelta:
    if text == "tomorrow":
        return timedelta(days=1)
    try:
        return duration(text)
    except ValueError:
        return instant(text, None, context.out.warn)


def _pair(text: str, option: str, read: Callable[[str], _T]) -> tuple[str, _T]:
    name, equals, value = text.rpartition("=")
    if not equals:
        raise WrongUsage(f"{option} {quoted(text)} has no =, as in {option} mail=5")
    return name, read(value)


def _limit(text: str) -> dict[str, Any]:
    try:
        is_rate = text.endswith("/s")
        return {"per_second": float(text[:-2])} if is_rate else {"at_most": int(text)}
    except ValueError:
        raise WrongUsage(f"--limit {quoted(text)} is no limit: give a number, or a number and /s") from None


def _tasks(file: str, context: Context) -> Iterator[NewTask]:
    with opened(file) as lines:
        for line in Reader(None, None, context.now, warn=context.out.warn).read(lines):
            if isinstance(line.task, InvalidTask):
                raise WrongUsage(f"line {line.number}: {line.task}")
            yield line.task


def _columns(found: Simulation, now: datetime) -> Table:
    """The forecasts side by side: all tasks together, then each action."""
    forecasts = list(filter(None, (found.today, found.changed)))
    titles = (f"until {short(found.until)}", "as it is", "with the changes")[: len(forecasts) + 1]
    rows = [(name, *(tell(one, now) for one in forecasts)) for name, tell in _ROWS.items()]
    actions = dict.fromkeys(one.action for each in forecasts for one in each.actions)
    rows += [(name, *(_action(each, name) for each in forecasts)) for name in actions]
    return facts_table([titles, *rows])


def _late(one: Forecast) -> Iterable[int]:
    return one.lateness_p50_ms, one.lateness_p90_ms, one.lateness_p99_ms, one.lateness_max_ms


_ROWS: dict[str, Callable[[Forecast, datetime], str]] = {
    "starts": lambda one, _: f"{one.starts:,}",
    "late": lambda one, _: f"{one.late:,}",
    "not started": lambda one, _: f"{one.waiting:,}",
    "expired": lambda one, _: f"{one.expired:,}",
    "lateness": lambda one, _: ", ".join(map(seconds, _late(one))) + " (p50, p90, p99, most)",
    "at a time": lambda one, _: f"{one.at_once:,}",
    "peak": lambda one, now: f"{one.peak:,} due at {when(one.peak_at, now)}" if one.peak_at else "none",
    "rings": lambda one, _: f"{one.rings:,}",
    "runs": lambda one, _: f"{one.runs:,}",
    "cost": lambda one, _: f"${one.dollars:,.4f}",
}


def _action(forecast: Forecast, action: str) -> str:
    one = next((one for one in forecast.actions if one.action == action), None)
    if one is None:
        return "none"
    of = f"{one.measured:,} measured" if one.measured else "assumed"
    late = f", up to {seconds(one.lateness_max_ms)} late"
    return f"{one.starts:,} starts{late}; each takes {seconds(one.duration_ms)} ({of})"
