"""Compare the designs and write docs/compare.md: `make compare`."""

import argparse
import time

from alternatives.comparison.emulate import emulate
from alternatives.comparison.page import PAGE, render
from alternatives.comparison.pictures import draw
from alternatives.comparison.results import load, save, where
from alternatives.comparison.simulate import idle, simulate


def main() -> None:
    """Play, run, keep the results, draw and write."""
    parser = argparse.ArgumentParser(prog="alternatives", description="Compare ways to schedule on AWS.")
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="part",
        help="simulated, emulated or page; the first two if not given. What is not run anew is kept",
    )
    parts = parser.parse_args().parts or ["simulated", "emulated"]
    if unknown := set(parts) - {"simulated", "emulated", "page"}:
        parser.error(f"there is no {', '.join(unknown)}; the parts are simulated, emulated and page")
    results = load()
    begin = time.monotonic()
    if "simulated" in parts:
        results.simulated, results.idle = simulate(), idle()
        save(results)
        print(f"simulated, {time.monotonic() - begin:.0f} s")
    if "emulated" in parts:
        results.emulated, results.emulated_on = emulate(print), where()
        save(results)
        print(f"emulated, {time.monotonic() - begin:.0f} s")
    results = load()
    draw(results)
    PAGE.write_text(render(results), encoding="utf-8")
    print(f"written: {PAGE.relative_to(PAGE.parents[1])} and what it shows")


if __name__ == "__main__":
    main()
