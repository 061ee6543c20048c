"""The name of a scheduler: every AWS name is made of it, the stack's own included."""

import re

from duebell_infra.errors import InvalidDeployment
from duebell_shared.quoting import quoted
from duebell_shared.settings import LOCAL

__all__ = ["NAME", "check_scheduler_name"]

#: CloudFormation takes neither underscores nor a digit in front. The shortest limit is that of the worker's
#: role in Terraform: 38 characters before what Terraform adds, eight of which are `-worker-`.
#: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
NAME = "[a-zA-Z][a-zA-Z0-9-]{2,29}"


def check_scheduler_name(name: str) -> str:
    """Return `name` if a scheduler can be called so. Raises InvalidDeployment."""
    if name == LOCAL:
        raise InvalidDeployment("name", "`local` is the stack of `duebell local`: choose another name")
    if re.fullmatch(NAME, name):
        return name
    raise InvalidDeployment(
        "name",
        f"a scheduler cannot be named {quoted(name)}: 3 to 30 letters, digits and hyphens, and a letter "
        f"first",
    )
