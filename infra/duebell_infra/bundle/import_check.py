"""Imports the bundle as Lambda would import it, before it is uploaded."""

import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from duebell_infra.errors import BundleFailed
from duebell_shared.deliveries.delivery import Delivery, delivery_of
from duebell_shared.quoting import quoted

from .dependencies import IN_RUNTIME
from .sources import SKIPPED_FILES, SKIPPED_FOLDERS
from .target import Place, Target

_CHILD = Path(__file__).with_name("import_check_child.py")

#: Seconds for the import. Lambda allows ten, and for a second try the time of a run. A machine may be busy.
_LIMIT = 60.0

#: The variables of our environment that the interpreter gets: those that Python needs to start.
_INHERITED = ("LANG", "LC_ALL", "PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "TZ")

#: With these, the SDK reads no file with credentials, and asks no address of the network for credentials.
_NO_CREDENTIALS = {
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_REGION": "us-east-1",
}


class Imported(NamedTuple):
    """The outcome of an import.

    note        what could not be tried, or ""
    deliveries  the deliveries that the code declares, with what permissions need; None if not known
    """

    note: str = ""
    deliveries: tuple[Delivery, ...] | None = None


class _Outcome(msgspec.Struct, frozen=True):
    """The outcome that the child writes; without an error, the Worker was loaded.

    error       the error and its place
    is_outside  True for an error of the network or of AWS, which the bundle may reach where it runs
    module      the module that is missing
    """

    error: str = ""
    is_outside: bool = False
    module: str | None = None
    deliveries: dict[str, dict[str, Any]] = {}


def check_import(
    data: bytes,
    actions: str,
    target: Target,
    path: Sequence[str],
    *,
    environment: Mapping[str, str],
    has_layers: bool,
) -> Imported:
    """Import the Worker of a bundle in a clean interpreter.

    data         the zip, with libraries that run on this machine
    path         where a module that is missing in it is looked for, to say how to add it
    environment  the variables that the actions find
    has_layers   True if layers bring modules as well

    Its path has the bundle and the libraries that Lambda brings. For a bundle that runs here, it has the
    libraries installed here. It has no credentials. Raises BundleFailed if the bundle cannot run.
    """
    with tempfile.TemporaryDirectory(prefix="duebell-import-") as folder:
        outcome = _tried(data, actions, target, environment, Path(folder).resolve())
    if isinstance(outcome, str):
        return Imported(outcome)
    if not outcome.error:
        declared = [delivery_of({**given, "name": name}) for name, given in outcome.deliveries.items()]
        return Imported(deliveries=tuple(declared))
    if outcome.is_outside:
        return Imported(f"not imported to the end here ({outcome.error}): it needs the network or AWS")
    if outcome.module and has_layers:
        return Imported(f"not imported to the end here ({outcome.error}): a layer may have it")
    skip = "" if target.place is Place.THIS_MACHINE else ". --no-import skips the import"
    raise BundleFailed(f"the bundle cannot be imported: {outcome.error}{_way_out(outcome, path)}{skip}")


def _tried(
    data: bytes, actions: str, target: Target, environment: Mapping[str, str], folder: Path
) -> _Outcome | str:
    """The outcome of the import; a note if it took too long. Raises BundleFailed if the child wrote none."""
    bundle, written = folder / "bundle", folder / "outcome.json"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(bundle)
    is_here = target.place is Place.THIS_MACHINE
    asked = {
        "bundle": str(bundle),
        "beside": {} if is_here else _runtime_modules(),
        "actions": actions,
        "outcome": str(written),
    }
    alone = ["-I"] if is_here else ["-I", "-S"]
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    told = folder / "stderr"  # a file, as a process that the module starts would hold a pipe open
    try:
        with told.open("wb") as stderr:
            done = subprocess.run(  # noqa: S603
                [sys.executable, *alone, str(_CHILD), json.dumps(asked)],
                cwd=bundle,
                env={**inherited, **_NO_CREDENTIALS, **environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                timeout=_LIMIT,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return f"not imported to the end here: it took longer than {_LIMIT:.0f} seconds"
    if not written.is_file():
        said = told.read_text(errors="replace").strip().splitlines()
        last = f": {said[-1]}" if said else ""
        raise BundleFailed(
            f"importing {actions} ends the interpreter with status {done.returncode}{last}; as a Lambda it "
            f"would never run"
        )
    return msgspec.json.decode(written.read_bytes(), type=_Outcome)


def _way_out(outcome: _Outcome, path: Sequence[str]) -> str:
    if outcome.module is None:
        return ""
    top = outcome.module.partition(".")[0]
    for name in metadata.packages_distributions().get(top, []):
        return f"; it is installed here with {name}: name {name} among the requirements (--requirements FILE)"
    *folders, file = outcome.module.split(".")
    if SKIPPED_FILES.fullmatch(f"{file}.py") or not SKIPPED_FOLDERS.isdisjoint([*folders, file]):
        return f"; {outcome.module} is named like a test, and tests are left out of the bundle: rename it"
    if any(Path(place, name).exists() for place in path for name in (top, f"{top}.py")):
        return f"; it is imported by a computed name: write `import {top}` in a module that is in the bundle"
    return f"; there is no {quoted(top)} in {path[0]}, and none is installed here"


def _runtime_modules() -> dict[str, str]:
    """The modules that Lambda's runtime brings, each with the folder where it is installed here."""
    found = {}
    for name in IN_RUNTIME:
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        for top in {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
            place = Path(str(distribution.locate_file(top)))
            if place.suffix in {"", ".py"} and place.exists():
                found[place.stem] = str(place.parent)
    return found
