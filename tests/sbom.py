"""Lists of all parts, in CycloneDX, of the wheel with what it depends on and of the Lambda bundle.

`make sbom` gives it cyclonedx-py: python -m tests.sbom CYCLONEDX
"""

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parents[1]
_OUT = _ROOT / "build" / "sbom"


def main(cyclonedx: str) -> None:
    """Write both to build/sbom. Raises if a step fails."""
    _OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="duebell-sbom-") as made:
        folder = Path(made)
        wheels = folder / "wheels"
        _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheels)
        [wheel] = wheels.iterdir()
        with_pip = folder / "wheel"
        venv.create(with_pip, with_pip=True)
        _run(with_pip / "bin" / "python", "-m", "pip", "install", "--quiet", wheel)
        _run(with_pip / "bin" / "python", "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools", "pip")
        _list(cyclonedx, with_pip, "wheel")
        bundle = folder / "bundle"
        venv.create(bundle)
        duebell = Path(sys.executable).with_name("duebell")
        _run(
            duebell, "bundle", "--actions", "examples.sales.actions:worker", "--output", folder / "worker.zip"
        )
        [packages] = bundle.glob("lib/python*/site-packages")
        with zipfile.ZipFile(folder / "worker.zip") as parts:
            parts.extractall(packages)
        _list(cyclonedx, bundle, "bundle")


def _list(cyclonedx: str, environment: Path, name: str) -> None:
    python, file = environment / "bin" / "python", _OUT / f"{name}.cdx.json"
    project = ("--pyproject", _ROOT / "pyproject.toml", "--output-reproducible")
    _run(cyclonedx, "environment", *project, "--output-file", file, python)


def _run(*command: str | Path) -> None:
    subprocess.run(list(map(str, command)), cwd=_ROOT, check=True)


if __name__ == "__main__":
    main(sys.argv[1])
