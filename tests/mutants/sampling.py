"""Mutants at random against the tests that call what they break: `make mutants ARGS="--sample 200"`.

First all tests run once, noting which functions they call; that is kept for as long as neither the product
nor the tests change. Then each mutant meets the tests that call its function, the most specific first; if
these pass, it meets all the others that call it. The map leaves out the tests of the page and of the embedded
stack. They are the last that a mutant meets, if it is in what they alone can run.

A test that fails without the mutant, too, or that this machine is too slow for, proves nothing. What only
such a test noticed is undecided.
"""

import hashlib
import math
import os
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from queue import SimpleQueue

from .coverage_map import CoverageMap
from .lab import Lab, failures
from .random_mutants import RandomMutant
from .source import PACKAGES, ROOT

#: The folder of the coverage map, for one state of the source.
_KEPT = ROOT / ".mutants"

#: Left out: what needs a browser or the emulator, and tests that break the product themselves.
_BREAKING = ("tests/mutants", "tests/protocol/test_broken.py")
_LEFT_OUT = (*(f"--ignore={path}" for path in ("tests/page", "tests/e2e", *_BREAKING)), "-m", "not e2e")

#: Quick tests of what the docs say of any module: options and their help, names, numbers, settings.
_DOCUMENTED = (
    "tests/test_public_names.py",
    "tests/test_documented_names.py",
    "tests/test_documented_numbers.py",
    "tests/infra/test_parameters.py",
)

#: The tests that the map leaves out, by the modules that they run as a user does.
_OUTER = {
    "infra/duebell_infra/local/": "tests/e2e/test_local_command.py",
    "editor/duebell_editor/http/": "tests/page",
}

#: Seconds of each of them, about.
_OUTER_SECONDS = 200.0

_QUIET = ("-q", "-p", "no:cacheprovider")

#: Seconds of the first tests of a mutant, by the map: noting the calls makes tests several times slower.
_LIMIT = 60.0

KILLED, SURVIVED, UNDECIDED = "killed", "SURVIVED", "undecided"


def check_sample(mutants: list[RandomMutant], jobs: int) -> int:
    """Try these mutants; print those not killed with their diffs, to be read. The exit status is 0."""
    started = time.monotonic()
    calls = _coverage_map(jobs)
    labs: SimpleQueue[Lab] = SimpleQueue()

    def fate_of(mutant: RandomMutant) -> str:
        lab = labs.get()
        try:
            fate, said = _fate(lab, mutant, calls)
        finally:
            labs.put(lab)
        difference = "" if fate == KILLED else f"\n{mutant.place.difference(mutant.source)}\n"
        print(f"{mutant.name}: {fate}, {said}{difference}", flush=True)  # to be read while others are tried
        return fate

    with ExitStack() as open_labs, ThreadPoolExecutor(jobs) as pool:
        for _ in range(jobs):
            labs.put(open_labs.enter_context(Lab()))
        count = Counter(pool.map(fate_of, mutants))
    print(
        f"\n{len(mutants)} mutants, {count[KILLED]} killed, {count[SURVIVED]} survived, "
        f"{count[UNDECIDED]} undecided, {time.monotonic() - started:.0f} seconds"
    )
    return 0


def _fate(lab: Lab, mutant: RandomMutant, calls: CoverageMap) -> tuple[str, str]:
    module, function = mutant.place.module, mutant.place.function
    some, in_all = calls.tests_of(module, function, _LIMIT)
    every = calls.tests_of(module, function, math.inf)[0] if len(some) < in_all else []
    outer = [tests for part, tests in _OUTER.items() if module.startswith(part)]
    said: str | None = None
    tests: Sequence[str] = some
    with lab.broken(module, mutant.source):
        for tests in filter(None, (some, every, _DOCUMENTED, outer)):
            if said := _failure(lab, tests, calls):
                break
    if said is None:
        passes = f"passes all {in_all} tests that call it" if in_all else "no test calls it"
        return SURVIVED, ", and those of ".join([passes, *outer])
    failed = [test for test in tests if test in said] or tests
    is_doubtful = _failure(lab, failed, calls) is not None
    return (UNDECIDED, f"fails without it, too: {said}") if is_doubtful else (KILLED, said)


def _failure(lab: Lab, tests: Sequence[str], calls: CoverageMap) -> str | None:
    """The first failure of these tests here; None if they pass. They may take five times as long as usual."""
    # A test's name has its parameters in it, which the mutant may change: then all of them are run
    for names in (tests, list(dict.fromkeys(test.partition("[")[0] for test in tests))):
        (lab.root / "tests-to-run").write_text("\n".join(names))
        limit = 60 + 5 * sum(calls.seconds.get(test, _OUTER_SECONDS) for test in tests)
        try:
            done = lab.run("pytest", *_QUIET, "-p", "no:xdist", "-x", "@tests-to-run", limit=limit)
        except subprocess.TimeoutExpired:
            return "the tests went on for ever"
        if "ERROR: not found: " not in done.stderr:
            break
    return (failures(done) or ["no test could run"])[0][:150] if done.returncode else None


def _coverage_map(jobs: int) -> CoverageMap:
    folder = _KEPT / _state()
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for part in folder.iterdir():
            part.unlink()
        print("running all tests once, to see what they call", flush=True)
        with Lab() as lab:
            done = lab.run(
                *("pytest", "-p", "tests.mutants.coverage_map", *_QUIET, *_LEFT_OUT),
                *("-n", str(jobs), "--dist", "worksteal"),
                limit=4 * 3600,
                DUEBELL_COVERAGE_MAP=str(folder),
            )
        print("\n".join(done.stdout.splitlines()[-20:]), flush=True)
        if not any(folder.glob("*.jsonl")):  # with such a map, every mutant would survive
            raise RuntimeError(f"no test could run: {done.stderr.strip()[-300:]}")
        (folder / "complete").touch()
    return CoverageMap.read(folder)


def _state() -> str:
    digest = hashlib.sha256()
    for package in (*PACKAGES, "tests"):
        for path in sorted((ROOT / package).rglob("*.py")):
            digest.update(f"{path.relative_to(ROOT)}{os.linesep}".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
