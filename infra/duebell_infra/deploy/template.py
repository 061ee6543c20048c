"""The CloudFormation template, found beside this package's folder or, once installed, inside it."""

import re
from collections.abc import Collection
from pathlib import Path

from duebell_infra.errors import DeployFailed

_NAME = "template.yaml"


def template_file() -> Path:
    """The file of the template. Raises DeployFailed."""
    here = Path(__file__).parents[1]
    for place in (here / _NAME, here.parent / _NAME):
        if place.is_file():
            return place
    raise DeployFailed(f"{_NAME} is missing from {here}: install duebell again")


def template_text() -> str:
    """The template without its comments, as `duebell deploy` sends it.

    CloudFormation takes at most 51,200 bytes with a call.
    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
    """
    return re.sub(r"(?m)^ *(#.*)?\n", "", template_file().read_text(encoding="utf-8"))


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
