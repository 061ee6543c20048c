"""Writes docs/compare.md from the results."""

from collections.abc import Iterator
from pathlib import Path

from bench.monthly import waits

from alternatives.design import Design
from alternatives.duebell_queue import DuebellQueue
from alternatives.simulated.manners import ASSUMED as ASSUMPTIONS
from alternatives.simulated.manners import PUBLISHED
from alternatives.ttl_stream import DelegatingTtlStream
from duebell_editor.simulation.cost import measured

from . import words
from .cells import cell, in_words
from .costs import WITH_TABLE, costs, priced, prices
from .emulate import DESIGNS
from .outcome import Outcome
from .results import Results
from .simulate import ROWS, Row

__all__ = ["PAGE", "render"]

PAGE = Path(__file__).parents[2] / "docs" / "compare.md"

_TITLES = {DuebellQueue.name: DuebellQueue.title, **{design.name: design.title for design in DESIGNS}}


def render(results: Results) -> str:
    """Return the page."""
    lines = [
        *_guide(results),
        *_glance(results),
        *_duebell_loses(results),
        *_outcomes(results),
        *_emulated(results),
        *_costs(results),
        *_limits(),
        *_offers(),
        *_given(),
        *_sources(),
        words.AGAIN,
    ]
    return "\n".join(lines).rstrip() + "\n"


def _guide(results: Results) -> Iterator[str]:
    yield words.INTRODUCTION.format(steps=_dollars(costs(results, "step-functions").alone))


def _glance(results: Results) -> Iterator[str]:
    yield words.AT_A_GLANCE
    for row, name in priced():
        outcome, cost = results.simulated[row.name]["seconds"].outcome, costs(results, name)
        late = outcome.late
        is_seen = outcome.done > outcome.lost
        half, most = (in_words(late.p50), in_words(late.p99)) if late and is_seen else ("never", "never")
        figures = (half, most, _wrong(results, row), _dollars(cost.alone), _dollars(cost.idle))
        yield f"| {_bold(row)} | {' | '.join(figures)} |"
    yield ""


def _wrong(results: Results, row: Row) -> str:
    """Sum up what was lost, refused, done twice and early in all scenes."""
    played = [each for each in results.simulated[row.name].values() if each.offers]
    sums = {
        "lost": sum(each.outcome.lost for each in played),
        "refused": sum(each.outcome.refused for each in played),
        "twice": sum(each.outcome.doubled for each in played),
    }
    absent = [
        words.SCENE_TITLES[name] for name, each in results.simulated[row.name].items() if not each.offers
    ]
    parts = [f"{number:,} {what}" for what, number in sums.items() if number]
    if absent:
        parts.append(f"not offered: {'; '.join(absent)}")
    return ", ".join(parts) or "nothing"


def _duebell_loses(results: Results) -> Iterator[str]:
    ours, scheduler = costs(results, "duebell"), costs(results, "eventbridge-scheduler")
    with_table = costs(results, f"eventbridge-scheduler{WITH_TABLE}")
    crash, usual = (results.simulated["duebell"][scene].outcome for scene in ("crash", "seconds"))
    yield words.DUEBELL_LOSES.format(
        ours=_dollars(ours.alone),
        scheduler=_dollars(scheduler.alone),
        ours_burst=_dollars(ours.burst),
        scheduler_burst=_dollars(scheduler.burst),
        with_table=_dollars(with_table.alone),
        with_table_burst=_dollars(with_table.burst),
        second=max(wait.dollars for wait in waits(measured().waiting)),
        crash=in_words(crash.late.worst if crash.late else 0),
        twice=crash.doubled,
        half=in_words(usual.late.p50 if usual.late else 0),
    )


def _outcomes(results: Results) -> Iterator[str]:
    yield words.OUTCOMES
    for scene, title in words.SCENE_TITLES.items():
        yield f"| {title} | {words.SCENES[scene]} |"
    yield ""
    yield f"| | {' | '.join(words.SCENE_TITLES.values())} |"
    yield f"|---{'|---' * len(words.SCENE_TITLES)}|"
    for row in ROWS:
        played = results.simulated[row.name]
        cells = [cell(played[scene], played["seconds"]) for scene in words.SCENE_TITLES]
        yield f"| {_bold(row)} | {' | '.join(cells)} |"
    yield words.FAULTS.format(
        doubled=results.simulated["fixed-rate"]["burst"].outcome.doubled,
        tried_rate=results.simulated["fixed-rate"]["failing"].outcome.tried,
        tried_poller=f"{results.simulated['poller']['failing'].outcome.tried:,}",
    )


def _emulated(results: Results) -> Iterator[str]:
    yield words.EMULATED.format(on=results.emulated_on)
    for name, title in _TITLES.items():
        if not (emulated := results.emulated.get(name)):
            continue
        outcome = emulated.outcome
        late = outcome.late
        times = (in_words(late.p50), in_words(late.worst)) if late else ("", "")
        absent = [*emulated.not_offered, *(["recurring"] if outcome.refused else [])]
        figures = (
            _of(outcome),
            f"{outcome.lost} (emulator)" if outcome.lost and _loses_nothing(results, name) else outcome.lost,
            outcome.doubled,
            outcome.early,
            *times,
            ", ".join(absent) or "nothing",
        )
        yield f"| {title} | {' | '.join(map(str, figures))} |"


def _loses_nothing(results: Results, name: str) -> bool:
    """Tell whether the design did all that it was asked for in the simulated scenes that the emulator has."""
    scenes = (results.simulated[name][scene] for scene in ("seconds", "edits", "failing", "recurring"))
    return not any(scene.outcome.lost for scene in scenes if scene.offers)


def _of(outcome: Outcome) -> str:
    return f"{outcome.done} of {outcome.expected - outcome.refused}"


def _costs(results: Results) -> Iterator[str]:
    yield words.COSTS
    for row, name in priced():
        if row.name == "ttl-stream-promised":
            continue
        cost = costs(results, name)
        dollars = [_dollars(each) for each in (cost.alone, cost.burst, cost.idle)]
        idle = _design(row).capabilities.idle
        yield f"| {_bold(row)} | {' | '.join(dollars)} | {cost.calls:.0f} | {idle} |"
    yield words.PRICES
    for price in prices().values():
        yield f"| {price.of} | ${price.dollars:g} | {price.source} | {price.dated} |"


def _limits() -> Iterator[str]:
    yield words.LIMITS
    for design in _designs():
        limits = design.capabilities.limits
        yield f"| {design.title} | {limits[1_000]} | {limits[1_000_000]} | {limits[100_000_000]} |"


def _offers() -> Iterator[str]:
    yield words.OFFERS
    for design in _designs():
        can = design.capabilities
        offers = (can.move, can.cancel, can.recurring, can.listing, can.fails)
        yield f"| {design.title} | {' | '.join(each or 'no' for each in offers)} |"


def _given() -> Iterator[str]:
    yield words.GIVEN
    for figure in PUBLISHED:
        yield f"| {figure.of} | {figure.value} | {figure.source} |"
    yield words.ASSUMED
    for each in ASSUMPTIONS:
        yield f"- {each}"
    yield words.ASSUMED_OF_EACH
    for row in ROWS:
        yield f"| {row.title} | {words.ASSUMED_OF[row.name]} |"


def _sources() -> Iterator[str]:
    yield words.SOURCES
    shown: list[type[Design]] = [*_designs(), DelegatingTtlStream]
    for design in shown:
        links = ", ".join(f"[{source.title}]({source.url})" for source in design.sources)
        yield f"| {design.title} | {links} |"


def _designs() -> Iterator[type[Design]]:
    """Each design once, in the order of the rows."""
    seen: set[str] = set()
    for row in ROWS:
        design = DuebellQueue if row.name.startswith("duebell") else _design(row)
        if design.name not in seen:
            seen.add(design.name)
            yield design


def _design(row: Row) -> type[Design]:
    if not isinstance(row.design, type):
        raise TypeError(f"{row.design!r} is no design")
    return row.design


def _bold(row: Row) -> str:
    return f"**{row.title}**" if row.name.startswith("duebell") else row.title


def _dollars(dollars: float) -> str:
    return f"${dollars:,.2f}" if dollars < 100 else f"${dollars:,.0f}"  # noqa: PLR2004 (cents say nothing there)
