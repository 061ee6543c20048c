"""Numbers as people list them: `1, 3 and 5 to 9`. What schedules in words are made of."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

__all__ = ["listed", "ordinal", "runs", "spans", "step_of"]

#: A run or a progression of fewer numbers is listed one by one.
_FEW = 3


def listed(parts: Iterable[str], word: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    *others, last = parts
    return f"{', '.join(others)} {word} {last}" if others else last


def runs(numbers: Iterable[int], period: int = 0) -> list[tuple[int, int]]:
    """The first and last of each run of numbers that follow on each other.

    period  the number after which they begin again: a long run may go around the end, from 11 to 2
    """
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    goes_around = len(found) > 1 and found[0][0] + period == found[-1][1] + 1
    if goes_around and found[0][1] + period - found[-1][0] >= _FEW - 1:
        found = [*found[1:-1], (found[-1][0], found[0][1])]
    return found


def spans(numbers: Iterable[int], name: Callable[[int], str], period: int = 0) -> list[str]:
    """Each long run by its ends, `5 to 9`; the other numbers one by one."""
    parts = []
    for first, last in runs(numbers, period):
        if last < first or last - first >= _FEW - 1:
            parts.append(f"{name(first)} to {name(last)}")
        else:
            parts += [name(number) for number in range(first, last + 1)]
    return parts


def step_of(numbers: Sequence[int]) -> int | None:
    """The step between these numbers, more than three in order; None if it varies."""
    steps = {after - before for before, after in pairwise(numbers)}
    return steps.pop() if len(numbers) > _FEW and len(steps) == 1 else None


def ordinal(number: int) -> str:
    """`1st`, `22nd`, `13th`."""
    ending = "th" if 11 <= number % 100 <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")  # noqa: PLR2004
    return f"{number}{ending}"
