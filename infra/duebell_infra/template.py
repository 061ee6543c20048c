"""The CloudFormation template, found beside this package's folder or, once installed, inside it."""

import re
from pathlib import Path

from .errors import DeployFailed

__all__ = ["parameter_names", "template_text"]

_NAME = "template.yaml"


def template_text() -> str:
    """The template that `duebell deploy` applies."""
    here = Path(__file__).parent
    for place in (here / _NAME, here.parent / _NAME):
        if place.is_file():
            return place.read_text(encoding="utf-8")
    raise DeployFailed(f"{_NAME} is missing from {here}: install duebell again")


def parameter_names(template: str) -> set[str]:
    """The names of the template's parameters, read off its layout (which is ours) without a YAML parser."""
    section = template.partition("\nParameters:\n")[2].partition("\nResources:\n")[0]
    return set(re.findall(r"^  (\w+):$", section, flags=re.MULTILINE))
