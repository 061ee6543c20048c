"""What the comparisons of the template and the Terraform module share."""

import re
from typing import Any

__all__ = ["properties", "snake"]


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def properties(template: Any, name: str) -> Any:
    return template["Resources"][name]["Properties"]
