"""The distribution: built, checked, and used in empty environments. `make dist` gives it twine.

python -m tests.dist TWINE
"""

import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parents[1]
_DIST = _ROOT / "dist"
_SMOKE = _ROOT / "tests" / "smoke"

#: Says where the package is, and fails if that is not the environment's own.
_WHERE = "import duebell, sys; print(duebell.__file__); sys.exit(not duebell.__file__.startswith(sys.prefix))"


def main(twine: str) -> None:
    """Build wheel and sdist into dist/, check them, run the smoke tests with each. Raises if one fails."""
    version = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    shutil.rmtree(_DIST, ignore_errors=True)
    _run(sys.executable, "-m", "hatchling", "build", "-d", _DIST)
    made = sorted(_DIST.iterdir())
    wanted = [f"duebell-{version}-py3-none-any.whl", f"duebell-{version}.tar.gz"]
    if [file.name for file in made] != wanted:
        raise SystemExit(f"dist/ holds {[file.name for file in made]}, and should hold {wanted}")
    _run(twine, "check", "--strict", *made)
    for file in made:
        print(f"{file.name}: installing it into an empty environment", flush=True)
        with tempfile.TemporaryDirectory(prefix="duebell-dist-") as folder:
            _use(file, Path(folder))


def _use(file: Path, folder: Path) -> None:
    """Install a distribution with its extras into an empty environment, and run the smoke tests there."""
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    _run(python, "-m", "pip", "install", "--quiet", f"{file}[cli,http]", "pytest", cwd=folder)
    _run(python, "-I", "-c", _WHERE, cwd=folder)
    shutil.copytree(_SMOKE, folder / "smoke", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "pytest.ini").write_text("[pytest]\n")
    _run(python, "-I", "-m", "pytest", "-q", "smoke", cwd=folder)


def _run(*command: str | Path, cwd: Path = _ROOT) -> None:
    subprocess.run(list(map(str, command)), cwd=cwd, check=True)


if __name__ == "__main__":
    main(sys.argv[1])
