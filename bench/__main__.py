"""Run the measurements: `make bench`. The exit status is 1 if one is beyond its limit."""

import argparse
import logging
import sys
import time

from bench.costs import save_units
from bench.document import PAGE, render
from bench.figures import load, save, where
from bench.parts import EMULATED, LONG, PARTS, beyond
from bench.pictures import draw
from bench.stack import emulated_aws


def main() -> int:
    """Measure, write the figures, the pictures and the page, say what is beyond its limit."""
    options = _options()
    logging.getLogger("duebell").addHandler(logging.NullHandler())  # what fails here fails on purpose
    for part in options.parts:
        print(f"{part} ...", end=" ", flush=True)
        begin = time.monotonic()
        measured = _measure(part, options.precision)
        figures = load()
        setattr(figures, part, measured)
        figures.measured[part] = where()
        save(figures)  # part by part: what comes next may be broken off
        print(f"{time.monotonic() - begin:.0f} s")
    figures = load()
    save_units(figures)
    draw(figures)
    PAGE.write_text(render(figures), encoding="utf-8")
    print(f"written: {PAGE.relative_to(PAGE.parents[1])} and what it shows")
    lines = beyond(figures, options.parts)
    print("\n".join(lines), file=sys.stderr, end="\n" if lines else "")
    return bool(lines)


def _options() -> argparse.Namespace:
    default = [part for part in PARTS if part != LONG]
    parser = argparse.ArgumentParser(prog="bench", description="What duebell costs.")
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="part",
        help=f"{', '.join(default)}, or {LONG}; all but the last if not given. What is not measured is kept",
    )
    parser.add_argument(
        "--precision", default="minute", choices=["minute", "second"], help=f"of the stack of {LONG}"
    )
    options = parser.parse_args()
    if unknown := set(options.parts) - PARTS.keys():
        parser.error(f"there is no {', '.join(unknown)}; the parts are {', '.join(PARTS)}")
    options.parts = options.parts or default
    return options


def _measure(part: str, precision: str) -> object:
    measure = PARTS[part].measure
    if part == LONG:
        late = measure(precision)
        return [*(each for each in load().lateness or () if each.what != late.what), late]
    if part not in EMULATED:
        return measure()
    with emulated_aws() as session:
        return measure(session)


sys.exit(main())
