"""Loads the Worker of an unpacked bundle, and writes how that ended: a script for a clean interpreter.

Of duebell, it imports only what is in the bundle.
"""

import json
import os
import socket
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

#: The packages of duebell in a bundle.
OWN = ("duebell", "duebell_editor", "duebell_shared", "duebell_worker")


class BesideTheBundle:
    """Finds the libraries that Lambda brings, where they are installed here, and no other modules."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """The module's spec, as the import system asks for it."""
        place = self._places.get(name)
        return None if place is None else PathFinder.find_spec(name, [place])


def loaded(bundle: Path, actions: str) -> dict[str, Any]:
    """The outcome of loading the Worker: its deliveries, or the error that was raised and its place."""
    try:
        import msgspec  # noqa: PLC0415 (it is in the bundle)

        from duebell_worker.entry import load  # noqa: PLC0415

        worker = load(actions)
    except BaseException as error:  # noqa: BLE001 (of anybody's code, `SystemExit` too)
        message = " ".join(str(error).replace(f"{bundle}{os.sep}", "").split())
        return {
            "error": ": ".join(filter(None, (_where(error, bundle), type(error).__name__, message))),
            "is_outside": _is_outside(error),
            "module": error.name if isinstance(error, ModuleNotFoundError) else None,
        }
    return {
        "deliveries": {
            one.name: {"to": one.to, "secret": one.secret, "run": msgspec.to_builtins(one.run)}
            for one in worker.deliveries
        }
    }


def _is_outside(error: BaseException | None) -> bool:
    """Return True for an error of the network or of the SDK, and one that such an error led to."""
    while error is not None:
        if any(one.__module__ == "botocore.exceptions" for one in type(error).__mro__):
            return True
        if isinstance(error, ConnectionError | TimeoutError | socket.gaierror):
            return True
        error = error.__cause__ or error.__context__
    return False


def _where(error: BaseException, bundle: Path) -> str:
    """The last line of the traceback that is in the bundle; lines of duebell's own files do not count."""
    frames = [(one.filename, one.lineno) for one in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append((error.filename, error.lineno))
    for name, line in reversed(frames):
        file = Path(name)
        if file.is_relative_to(bundle) and file.relative_to(bundle).parts[0] not in OWN:
            return f"{file.relative_to(bundle).as_posix()}, line {line}"
    return ""


def main() -> None:
    """Load the Worker that the JSON document in the first argument names."""
    asked = json.loads(sys.argv[1])
    sys.dont_write_bytecode = True
    sys.path.insert(0, asked["bundle"])
    sys.meta_path.append(BesideTheBundle(asked["beside"]))
    outcome = loaded(Path(asked["bundle"]), asked["actions"])
    Path(asked["outcome"]).write_text(json.dumps(outcome), encoding="utf-8")
    os._exit(0)  # without waiting for threads that the module started


if __name__ == "__main__":
    main()
