"""The worker's bundle: everything that the Lambda function runs, in one zip.

A zip's bytes depend on nothing but the names and contents of the files in it. The sources are compiled here:
Lambda's copy of a bundle is read-only, so each cold start would compile all that it imports.
"""

import hashlib
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from duebell_infra.errors import BundleFailed
from duebell_shared.deliveries.delivery import Delivery
from duebell_worker.actions.registration import BUNDLE_FILE, duebell_release

from .dependencies import install
from .import_check import Imported, check_import
from .sources import Files, actions_files, own_files, search_path
from .target import Target

#: The most bytes that a function may have when it is unpacked.
#: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
_UNPACKED_LIMIT = 250 * 1024 * 1024

#: Lambda unpacks bundles there. Tracebacks show these paths.
#: https://docs.aws.amazon.com/lambda/latest/dg/python-package.html
_ROOT = "/var/task"

#: The earliest time that a zip file can hold.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_UNIX = 3


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """A zip for Lambda.

    data        the zip's bytes
    actions     the `module:attribute` of the Worker in it; empty if it has no actions
    target      what it was built for
    files       how many files are in it
    unpacked    how large they are, in bytes
    notes       what could not be tried here, and what would make it start faster
    deliveries  the deliveries that its code declares; None if it was not imported, so they are not known
    """

    data: bytes
    actions: str
    target: Target
    files: int
    unpacked: int
    notes: tuple[str, ...] = ()
    deliveries: tuple[Delivery, ...] | None = ()

    @property
    def hash(self) -> str:
        """The hash of the contents, which is the same for the same inputs."""
        return hashlib.sha256(self.data).hexdigest()[:32]

    def __str__(self) -> str:
        packed, unpacked = (f"{size / 1e6:.1f} MB" for size in (len(self.data), self.unpacked))
        return f"{packed} ({unpacked} unpacked, {self.files} files) for {self.target}"


def build(
    actions: str | None,
    target: Target,
    *,
    requirements: Path | None = None,
    folder: Path | None = None,
    imported: bool = True,
    environment: Mapping[str, str] | None = None,
    has_layers: bool = False,
) -> Bundle:
    """Build the bundle of the core, its libraries, the user's actions and their requirements, and import it.

    It has the sources, and compiled files too if this machine has the target's Python.

    actions       `module:attribute` of the user's Worker; None makes a worker without code of yours
    requirements  a requirements file or a pyproject.toml, with the libraries of the actions
    folder        where the actions are looked for first; the current one if not given
    imported      False: it is not imported here
    environment   the variables that the actions will find
    has_layers    True if layers bring modules as well

    The same inputs give the same bytes. Raises BundleFailed, also for a bundle that could not run.
    """
    users = actions_files(actions, folder=folder) if actions else {}
    ours = {**users, **own_files()}
    with tempfile.TemporaryDirectory(prefix="duebell-bundle-") as made:
        libraries = install(Path(made, "there"), target, requirements=requirements)
        files = _with_version({**libraries, **ours}, Path(made))
        compiled = compiled_files(files, target, Path(made, "compiled"))
        files = {**files, **compiled}
        unpacked = sum(file.stat().st_size for file in files.values())
        if unpacked > _UNPACKED_LIMIT:
            raise BundleFailed(
                f"the bundle is {unpacked / 1e6:.0f} MB unpacked, and Lambda takes at most "
                f"{_UNPACKED_LIMIT / 1e6:.0f} MB: require less, or keep large files in S3"
            )
        data = pack(files)
    outcome = Imported(deliveries=None if actions else ())
    if actions and imported:
        try:
            tried, note = _importable(data, ours, target, requirements=requirements)
        except BundleFailed as error:
            outcome = Imported(f"not imported, for there are no libraries to import it with here: {error}")
        else:
            outcome = check_import(
                tried,
                actions,
                target,
                search_path(folder),
                environment=environment or {},
                has_layers=has_layers,
            )
            outcome = outcome._replace(note=outcome.note or note)
    hint = "" if compiled else _no_compiler(target)
    return Bundle(
        data=data,
        actions=actions or "",
        target=target,
        files=len(files),
        unpacked=unpacked,
        notes=tuple(filter(None, (outcome.note, hint))),
        deliveries=outcome.deliveries,
    )


def _importable(data: bytes, ours: Files, target: Target, *, requirements: Path | None) -> tuple[bytes, str]:
    """The bundle as this machine can import it, and a note on what differs from the one for the target.

    Raises BundleFailed if there are no libraries for this machine.
    """
    if target.runs_here:
        return data, ""
    here = Target.this_machine()
    with tempfile.TemporaryDirectory(prefix="duebell-bundle-") as made:
        libraries = install(Path(made, "here"), here, requirements=requirements)
        note = f"imported with libraries for {here}; those for {target} were not tried"
        return pack({**libraries, **ours}), note if requirements else ""


def _no_compiler(target: Target) -> str:
    return (
        f"without compiled files, so a cold start takes a third longer: there is no Python {target.python} "
        f"on this machine; install it, or choose --python {Target.this_machine().python}"
    )


def pack(files: Files) -> bytes:
    """The files as a zip: in order of name, without times, readable for everyone as Lambda needs it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(_entry(name, files[name]), files[name].read_bytes())
    return buffer.getvalue()


def _entry(name: str, file: Path) -> zipfile.ZipInfo:
    is_executable = file.stat().st_mode & stat.S_IXUSR
    entry = zipfile.ZipInfo(name, date_time=_NO_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = _UNIX
    entry.external_attr = (stat.S_IFREG | (0o755 if is_executable else 0o644)) << 16
    return entry


def python_for(target: Target) -> str | None:
    """The interpreter on this machine that compiles for the target's Python; None if there is none."""
    if sys.implementation.name == "cpython" and target.python == f"3.{sys.version_info.minor}":
        return sys.executable
    return shutil.which(f"python{target.python}")


def compiled_files(files: Files, target: Target, folder: Path) -> Files:
    """The compiled files of these sources, for the target's Python, made in this folder.

    A source that this Python cannot compile has none. Without this Python on this machine, there are none. On
    Lambda, Python does not compare them with their sources, which nobody changes. The same sources give the
    same bytes. The state of a process affects the bytes, so they are compiled in a new process.
    """
    python = python_for(target)
    if python is None:
        return {}
    for name, file in files.items():
        if name.endswith(".py") and file.stat().st_size:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, folder / name)
    options = ["-q", "-q", "-f", "-d", _ROOT, "--invalidation-mode", "unchecked-hash", str(folder)]
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    subprocess.run(  # noqa: S603
        [python, "-P", "-s", "-S", "-W", "ignore", "-m", "compileall", *options],
        env={**kept, "PYTHONHASHSEED": "0"},  # the order of sets decides on the bytes
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,  # it fails if it cannot compile one of them
    )
    # If another Python has that name, its files have another name and are left out.
    compiled = folder.rglob(f"*.cpython-{target.python.replace('.', '')}.pyc")
    return {file.relative_to(folder).as_posix(): file for file in compiled}


def _with_version(files: Files, folder: Path) -> Files:
    """These files and the one with their version, which is written to this folder."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0".encode() + hashlib.sha256(files[name].read_bytes()).digest())
    file = folder / BUNDLE_FILE
    told = {"version": digest.hexdigest()[:12], "duebell": duebell_release()}
    file.write_text(json.dumps(told), encoding="utf-8")
    return {**files, BUNDLE_FILE: file}
