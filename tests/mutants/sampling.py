"""Mutants at random against the tests that call what they break: `make mutants ARGS="--sample 200"`.

First all tests run once, noting which functions they call; that is kept for as long as neither the product
nor the tests change. Then each mutant meets the tests that call its function, the most specific first. Tests
of the page and of the embedded stack are left out: a mutant may survive here and be caught by one of them.

A test that fails without any mutant proves nothing, and neither does one that this machine is too slow for.
What only such a test noticed is undecided, and counts as neither killed nor survived.
"""

import hashlib
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue

from .coverage_map import CoverageMap
from .lab import Lab, difference
from .random_mutants import RandomMutant
from .source import PACKAGES, ROOT

__all__ = ["check_sample"]

#: The folder of the coverage map, for one state of the source.
_KEPT = ROOT / ".mutants"

#: The folder of this module.
_OWN = Path(__file__).parent

#: Left out: what needs a browser or the emulator, and the tests of the mutants themselves.
_LEFT_OUT = ("--ignore", "tests/page", "--ignore", "tests/e2e", "--ignore", "tests/mutants", "-m", "not e2e")

_QUIET = ("-q", "-p", "no:cacheprovider")

#: Seconds of tests for one mutant, as long as they take when nothing is broken.
_LIMIT = 60.0

#: pytest's exit codes for tests that failed, that could not be collected, and for a broken conftest.py.
_NOTICED = {1, 2, 3, 4}

#: What pytest says of a test that is not there.
_NOT_FOUND = "ERROR: not found: "


class _Fate(StrEnum):
    KILLED = "killed"
    SURVIVED = "SURVIVED"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class _Verdict:
    mutant: RandomMutant
    fate: _Fate
    said: str
    #: The test that failed, if its name is known.
    by: str | None = None


def check_sample(mutants: list[RandomMutant], jobs: int) -> int:
    """Try these mutants; print those not killed with their diffs, to be read. The exit status is 0."""
    started = time.monotonic()
    calls = _coverage_map(jobs)
    labs: SimpleQueue[Lab] = SimpleQueue()

    def verdict_on(mutant: RandomMutant) -> _Verdict:
        lab = labs.get()
        try:
            verdict = _verdict(lab, mutant, calls)
        finally:
            labs.put(lab)
        _print(verdict)
        return verdict

    with ThreadPoolExecutor(jobs) as pool:
        for lab in [Lab() for _ in range(jobs)]:
            labs.put(lab.__enter__())
        try:
            found = list(pool.map(verdict_on, mutants))
        finally:
            while not labs.empty():
                labs.get().__exit__()
    with Lab() as lab:
        verdicts = _without_doubtful(lab, found, calls)
    count = {fate: sum(verdict.fate is fate for verdict in verdicts) for fate in _Fate}
    seconds = time.monotonic() - started
    print(
        f"\n{len(verdicts)} mutants, {count[_Fate.KILLED]} killed, {count[_Fate.SURVIVED]} survived, "
        f"{count[_Fate.UNDECIDED]} undecided, {seconds:.0f} seconds"
    )
    return 0


def _print(verdict: _Verdict) -> None:
    """Print a verdict when it is found: what survives can be read while the others are tried."""
    text = f"{verdict.mutant.name}: {verdict.fate}, {verdict.said}"
    if verdict.fate is not _Fate.KILLED:
        text += f"\n{difference(verdict.mutant.module, verdict.mutant.source)}\n"
    print(text, flush=True)


def _verdict(lab: Lab, mutant: RandomMutant, calls: CoverageMap) -> _Verdict:
    tests, in_all = calls.tests_of(mutant.module.name, mutant.function, _LIMIT)
    if not tests:
        return _Verdict(mutant, _Fate.SURVIVED, "no test calls it")
    try:
        with lab.broken(mutant.module, mutant.source):
            done = _run(lab, tests, calls)
            if _NOT_FOUND in done.stderr:  # a test's name has its parameters in it, and one is of the mutant
                done = _run(lab, _without_parameters(tests), calls)
    except subprocess.TimeoutExpired:
        return _judged_slow(lab, mutant, tests, calls)
    if _NOT_FOUND in done.stderr:
        return _Verdict(mutant, _Fate.UNDECIDED, done.stderr.strip()[-150:])
    if done.returncode not in _NOTICED:
        return _Verdict(mutant, _Fate.SURVIVED, f"{len(tests)} of the {in_all} tests that call it")
    failed = _failures(done)
    names = [test for test in tests if failed and _is_of(failed[0], test)]
    said = (failed or ["no test could run"])[0][:150]
    return _Verdict(mutant, _Fate.KILLED, said, max(names, key=len, default=None))


def _failures(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stdout.splitlines() if line.startswith(("FAILED tests/", "ERROR tests/"))]


def _is_of(failure: str, test: str) -> bool:
    """Tell whether a line of pytest's summary is of this test: its name, and the message if there is room."""
    named = failure.partition(" ")[2]
    return named == test or named.startswith(f"{test} - ")


def _run(lab: Lab, tests: list[str], calls: CoverageMap, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the tests here. Raises subprocess.TimeoutExpired after five times as long as they take."""
    (lab.root / "tests-to-run").write_text("\n".join(tests))
    limit = 60 + 5 * sum(calls.seconds.get(test, 0) for test in tests)
    return lab.run(
        "-m", "pytest", *_QUIET, "-p", "no:xdist", *(options or ["-x"]), "@tests-to-run", limit=limit
    )


def _without_parameters(tests: list[str]) -> list[str]:
    return list(dict.fromkeys(test.partition("[")[0] for test in tests))


def _judged_slow(lab: Lab, mutant: RandomMutant, tests: list[str], calls: CoverageMap) -> _Verdict:
    """Killed if the tests end in time without the mutant; else it is this machine that is slow."""
    try:
        _run(lab, tests, calls)
    except subprocess.TimeoutExpired:
        return _Verdict(mutant, _Fate.UNDECIDED, "the tests take too long without it, too")
    return _Verdict(mutant, _Fate.KILLED, "the tests went on for ever")


def _without_doubtful(lab: Lab, verdicts: list[_Verdict], calls: CoverageMap) -> list[_Verdict]:
    """Run each test that killed a mutant once more, without any; where it fails, the mutant is undecided."""
    killers = list(dict.fromkeys(verdict.by for verdict in verdicts if verdict.by))
    if not killers:
        return verdicts
    done = _run(lab, killers, calls, "--maxfail=0")
    doubtful = {test for test in killers for line in _failures(done) if _is_of(line, test)}
    found = [
        replace(verdict, fate=_Fate.UNDECIDED, said=f"fails without it, too: {verdict.by}")
        if verdict.by in doubtful
        else verdict
        for verdict in verdicts
    ]
    for verdict in found:
        if verdict.by in doubtful:
            _print(verdict)
    return found


def _coverage_map(jobs: int) -> CoverageMap:
    folder = _KEPT / _state()
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for part in folder.iterdir():
            part.unlink()
        print("running all tests once, to see what they call", flush=True)
        with Lab() as lab:
            done = lab.run(
                *("-m", "pytest", "-p", "tests.mutants.coverage_map", *_QUIET, *_LEFT_OUT),
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
    """A name for the product and the tests as they are. The mutants are no part of what the map shows."""
    digest = hashlib.sha256()
    for package in (*PACKAGES, "tests"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if path.is_relative_to(_OWN) and path.name != "coverage_map.py":
                continue
            digest.update(f"{path.relative_to(ROOT)}{os.linesep}".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
