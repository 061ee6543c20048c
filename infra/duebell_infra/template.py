"""The CloudFormation template, found beside this package's folder or, once installed, inside it."""

import re
from collections.abc import Collection
from pathlib import Path

from .errors import DeployFailed

__all__ = ["parameter_names", "template_file", "template_text", "unknown_types", "without_types"]

_NAME = "template.yaml"


def template_file() -> Path:
    """The file of the template. Raises DeployFailed."""
    here = Path(__file__).parent
    for place in (here / _NAME, here.parent / _NAME):
        if place.is_file():
            return place
    raise DeployFailed(f"{_NAME} is missing from {here}: install duebell again")


def template_text() -> str:
    """The template that `duebell deploy` applies: the file's without its comments.

    What is given with a call has a limit of 51,200 bytes, in other tools' calls as well.
    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
    """
    return re.sub(r"(?m)^ *#.*\n", "", template_file().read_text(encoding="utf-8"))


def parameter_names(template: str) -> set[str]:
    """The names of the template's parameters, read off its layout (which is ours) without a YAML parser."""
    section, *_ = re.split(r"\n(?=\w)", template.partition("\nParameters:\n")[2])
    return set(re.findall(r"^  (\w+):$", section, flags=re.MULTILINE))


def unknown_types(message: str) -> set[str]:
    """The types of resources that CloudFormation does not know, by its message; some regions lack some."""
    found = re.search(r"Unrecognized resource types: \[([^\]]*)\]", message)
    return set(re.findall(r"[\w:]+", found[1])) if found else set()


def without_types(template: str, types: Collection[str]) -> str:
    """The template without the resources of these types; nothing in it may refer to them."""
    head, marker, rest = template.partition("\nResources:\n")
    resources, outputs, tail = rest.partition("\nOutputs:\n")
    blocks = re.split(r"(?m)^(?=  \w+:$)", resources)
    kept = [block for block in blocks if not any(f"\n    Type: {name}\n" in block for name in types)]
    return f"{head}{marker}{''.join(kept)}{outputs}{tail}"
