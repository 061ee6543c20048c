"""What the user's actions need: from a requirements file, or from the pyproject.toml of their project."""

import re
import tomllib
from pathlib import Path
from typing import Any

from .errors import BundleFailed

__all__ = ["pip_arguments"]

_PROJECT = "pyproject.toml"

#: In the bundle anyway, as it is installed here.
_OURS = re.compile(r"duebell(?![\w.-])", re.IGNORECASE)


def pip_arguments(requirements: Path | None) -> list[str]:
    """What pip is to install for them. A folder stands for the pyproject.toml in it. Raises BundleFailed."""
    if requirements is None:
        return []
    file = requirements / _PROJECT if requirements.is_dir() else requirements
    if not file.is_file():
        what = "pyproject.toml" if file.name == _PROJECT else "requirements file"
        raise BundleFailed(f"there is no {what} {file}")
    return _dependencies(file) if file.name == _PROJECT else ["--requirement", str(file)]


def _dependencies(file: Path) -> list[str]:
    """The project's own dependencies, without its extras."""
    try:
        project: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BundleFailed(f"{file} cannot be read: {error}") from None
    if "dependencies" not in project:
        raise BundleFailed(
            f"{file} lists no dependencies under [project]: list them there (an empty list will do), or give "
            f"a requirements file"
        )
    return [line for line in project["dependencies"] if not _OURS.match(line)]
