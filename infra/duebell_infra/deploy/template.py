"""The CloudFormation template, found beside this package's folder or, once installed, inside it."""

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from duebell_infra.errors import DeployFailed

_NAME = "template.yaml"

#: The column of the fields of an entry, such as the type of a resource.
_FIXED = 4


def template_file() -> Path:
    """The file of the template. Raises DeployFailed."""
    here = Path(__file__).parents[1]
    for place in (here / _NAME, here.parent / _NAME):
        if place.is_file():
            return place
    raise DeployFailed(f"{_NAME} is missing from {here}: install duebell again")


def template_text() -> str:
    """The template that `duebell deploy` applies: the file's without its comments, and indented by less.

    What is given with a call has a limit of 51,200 bytes, in other tools' calls as well.
    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
    """
    text = re.sub(r"(?m)^ *(#.*)?\n", "", template_file().read_text(encoding="utf-8"))
    return "\n".join(_with_less_indent(text.splitlines())) + "\n"


def _with_less_indent(lines: Iterable[str]) -> Iterator[str]:
    """The lines, deeper levels indented by one instead of two, and texts of several lines as a whole.

    The sections, their entries, and the entries' fields stay as they are: others look for these.
    """
    levels = [(0, 0)]  # columns, as they were and as they are
    text_at: int | None = None  # the column of the line that a text of several lines belongs to
    first: int | None = None  # that of its first line
    for line in lines:
        column = len(line) - len(line.lstrip())
        if text_at is not None and column > text_at:
            while levels[-1][0] > text_at:
                levels.pop()
            first = column if first is None else first
            yield " " * (levels[-1][1] + 1 + column - first) + line.lstrip()
            continue
        text_at = first = None
        while levels[-1][0] > column:
            levels.pop()
        if levels[-1][0] < column:
            deeper = 0 if line.lstrip().startswith("- ") else 1  # a list may be as far in as its name
            levels.append((column, column if column <= _FIXED else levels[-1][1] + deeper))
        narrowed = levels[-1][1]
        yield " " * narrowed + line.lstrip()
        if line.lstrip().startswith("- "):
            levels.append((column + 2, narrowed + 2))
        if re.search(r"(\||>-)$", line):
            text_at = column


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
