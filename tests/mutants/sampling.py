"""Mutants at random against the tests that call what they break: `make mutants ARGS="--sample 200"`.

First all tests run once, noting which functions they call; that is kept for as long as neither the product
nor the tests change. Then each mutant meets the tests that call its function, the most specific first. Tests
of the page and of the embedded stack are left out: a mutant may survive here and be caught by one of them.
"""

import hashlib
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue

from .coverage_map import CoverageMap
from .lab import Lab, difference
from .random_mutants import RandomMutant
from .source import PACKAGES, ROOT

__all__ = ["check_sample"]

#: The folder of the coverage map, for one state of the source.
_KEPT = ROOT / ".mutants"

#: Left out: what needs a browser or the emulator, and the tests of the mutants themselves.
_LEFT_OUT = ("--ignore", "tests/page", "--ignore", "tests/e2e", "--ignore", "tests/mutants", "-m", "not e2e")

_QUIET = ("-q", "-p", "no:cacheprovider")

#: Seconds of tests for one mutant, as long as they take when nothing is broken.
_LIMIT = 60.0

#: pytest's exit codes for tests that failed, that could not be collected, and for a broken conftest.py.
_NOTICED = {1, 2, 3, 4}


@dataclass(frozen=True)
class _Verdict:
    mutant: RandomMutant
    is_killed: bool
    said: str


def check_sample(mutants: list[RandomMutant], jobs: int) -> int:
    """Try these mutants; print those that survive with their diffs, to be read. The exit status is 0."""
    started = time.monotonic()
    calls = _coverage_map(jobs)
    labs: SimpleQueue[Lab] = SimpleQueue()

    def verdict_on(mutant: RandomMutant) -> _Verdict:
        lab = labs.get()
        try:
            verdict = _verdict(lab, mutant, calls)
        finally:
            labs.put(lab)
        print(f"{mutant.name}: {'killed' if verdict.is_killed else 'SURVIVED'}, {verdict.said}", flush=True)
        return verdict

    with ThreadPoolExecutor(jobs) as pool:
        for lab in [Lab() for _ in range(jobs)]:
            labs.put(lab.__enter__())
        try:
            verdicts = list(pool.map(verdict_on, mutants))
        finally:
            while not labs.empty():
                labs.get().__exit__()
    survivors = [verdict for verdict in verdicts if not verdict.is_killed]
    for verdict in survivors:
        print(f"\nSURVIVED: {verdict.mutant.name}, {verdict.said}")
        print(difference(verdict.mutant.module, verdict.mutant.source))
    killed = len(verdicts) - len(survivors)
    seconds = time.monotonic() - started
    print(f"\n{len(verdicts)} mutants, {killed} killed, {len(survivors)} survived, {seconds:.0f} seconds")
    return 0


def _verdict(lab: Lab, mutant: RandomMutant, calls: CoverageMap) -> _Verdict:
    tests, in_all = calls.tests_of(mutant.module.name, mutant.function, _LIMIT)
    if not tests:
        return _Verdict(mutant, False, "no test calls it")
    listed = lab.root / "tests-to-run"
    listed.write_text("\n".join(tests))
    seconds = sum(calls.seconds[test] for test in tests)
    with lab.broken(mutant.module, mutant.source):
        try:
            done = lab.run(
                "-m", "pytest", "-x", *_QUIET, "-p", "no:xdist", "@tests-to-run", limit=60 + 5 * seconds
            )
        except subprocess.TimeoutExpired:
            return _Verdict(mutant, True, "the tests went on for ever")
    if "ERROR: not found: " in done.stderr:
        raise RuntimeError(done.stderr)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    ran = f"{len(tests)} of the {in_all} tests that call it"
    is_killed = done.returncode in _NOTICED
    return _Verdict(mutant, is_killed, (failed or ["no test could run"])[0][:150] if is_killed else ran)


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
        (folder / "complete").touch()
    return CoverageMap.read(folder)


def _state() -> str:
    """A name for the product and the tests as they are."""
    digest = hashlib.sha256()
    for package in (*PACKAGES, "tests"):
        for path in sorted((ROOT / package).rglob("*.py")):
            digest.update(f"{path.relative_to(ROOT)}{os.linesep}".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
