"""The CloudFormation template, found beside this package's folder or, once installed, inside it."""

import re
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
