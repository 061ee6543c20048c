"""Run the measurements: `make bench`. The exit status is 1 if one is beyond its limit."""

import argparse
import sys
from pathlib import Path

import msgspec

from bench import schedules


def main() -> int:
    """Measure, print, write the figures as JSON."""
    parser = argparse.ArgumentParser(description="What duebell costs.")
    parser.add_argument("--output", type=Path, default=Path("dist/bench.json"), help="where the figures go")
    options = parser.parse_args()
    timed = schedules.measure()
    for each in timed:
        print(f"{each.median_us:10.1f} µs  (best {each.best_us:.1f}, worst {each.worst_us:.1f})  {each.name}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_bytes(msgspec.json.format(msgspec.json.encode({"schedules": timed})))
    too_slow = [
        each for each in timed if each.name.startswith("read and") and each.median_us > schedules.LIMIT_US
    ]
    for each in too_slow:
        print(f"beyond {schedules.LIMIT_US} µs: {each.name}", file=sys.stderr)
    return bool(too_slow)


sys.exit(main())
