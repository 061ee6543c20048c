"""The command `simulate`: a forecast of the queue, as it is and with changes."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Annotated, Any, TypeVar
from zoneinfo import ZoneInfo

import typer
from rich.text import Text

from duebell_editor.library.json_fields import plain_values
from duebell_shared.errors import InvalidQuery, InvalidTask
from duebell_shared.quoting import quoted
from duebell_shared.settings import Precision
from duebell_shared.tasks.fields import NewTask

from .add import read_tasks
from .context import Context, flag, option
from .errors import WrongUsage
from .options import Timezone, duration, instant, opened
from .output import console, in_words, short, table, title_of
from .program import examples

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
def simulate(
    context: Context,
    *,
    until: Annotated[
        str, option("--until", "TIME", "A time, a length of time from now, or tomorrow: in 24 hours.")
    ],
    timezone: Timezone = None,
    add: Annotated[
        str | None, option("--add", "FILE", "With these tasks too, as in add --from; - is stdin.")
    ] = None,
    limit: Annotated[
        list[str] | None, option("--limit", "ACTION=N", "With N attempts at a time; N/s: N starts a second.")
    ] = None,
    pause: Annotated[list[str] | None, option("--pause", "ACTION", "With this action paused.")] = None,
    spread: Annotated[
        list[str] | None, option("--spread", "ID=DURATION", "With another spread of a recurring task.")
    ] = None,
    precision: Annotated[Precision | None, typer.Option(help="With another precision.")] = None,
    flatten: Annotated[
        bool, flag("--flatten", "Find spreads of recurring tasks that halve the peak.")
    ] = False,
) -> None:
    """It plays a copy of the queue in memory, and writes nothing. Nothing fails in it.

    Attempts take as long as past ones of their action. The second column has the changes that are given.
    """
    try:
        found = context.editor().simulate(
            _until(until, timezone),
            add=_tasks(add, context) if add else (),
            limits=_limits(limit or ()),
            pause=pause or (),
            spread=dict(_pair(one, "--spread", duration) for one in spread or ()),
            precision=precision,
            flatten=flatten,
        )
    except ValueError as error:
        if isinstance(error, InvalidQuery | InvalidTask):
            raise
        raise WrongUsage(str(error)) from error
    answer = plain_values(found)
    if context.out.as_json:
        context.answer(answer)
        return
    now, out = context.now(), console()
    forecasts = {"as it is": answer["today"], "with the changes": answer["changed"]}
    forecasts = {heading: forecast for heading, forecast in forecasts.items() if forecast}
    names = [name for name, value in answer["today"].items() if not isinstance(value, list | tuple)]
    rows = [
        {f"until {short(found.until)}": title_of(name)}
        | {heading: in_words(name, one[name], now) for heading, one in forecasts.items()}
        for name in names
    ]
    out.print(table(rows, now))
    for heading, forecast in forecasts.items():
        if forecast["actions"]:
            context.answer({heading: forecast["actions"]})
    for each in found.flatten:
        out.print(Text(each.command), soft_wrap=True)
    if flatten and not found.flatten:
        out.print("no spread of a recurring task halves the peak")


def _until(text: str, zone: ZoneInfo | None) -> datetime | timedelta:
    if text == "tomorrow":
        return timedelta(days=1)
    try:
        return duration(text)
    except ValueError:
        return instant(text, zone)


def _pair(text: str, option: str, read: Callable[[str], _T]) -> tuple[str, _T]:
    name, equals, value = text.rpartition("=")
    if not equals:
        example = "report=15m" if option == "--spread" else "mail=5"
        raise WrongUsage(f"{option} {quoted(text)} has no =, as in {option} {example}")
    try:
        return name, read(value)
    except ValueError as error:
        raise WrongUsage(f"{option} {quoted(text)}: {error}") from None


def _limits(given: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The limits by action; an action may have one of attempts at a time and one a second."""
    limits: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for text in given:
        action, limit = _pair(text, "--limit", _limit)
        if limit.keys() & limits[action].keys():
            raise WrongUsage(f"--limit of {quoted(action)} is given twice")
        limits[action] |= limit
    return limits


def _limit(text: str) -> dict[str, Any]:
    try:
        is_rate = text.endswith("/s")
        return {"per_second": float(text[:-2])} if is_rate else {"at_most": int(text)}
    except ValueError:
        raise ValueError(f"{quoted(text)} is no limit: give a number, or a number and /s") from None


def _tasks(file: str, context: Context) -> Iterable[NewTask]:
    with opened(file) as lines:
        tasks, wrong = read_tasks(lines, context.now())
    if wrong:
        first = min(wrong)
        raise WrongUsage(f"line {first}: {wrong[first]}")
    return tasks.values()
