"""A scheduler's name is one that everything made of it can have."""

import pytest

from duebell_infra.deploy.parameters import check_scheduler_name
from duebell_infra.errors import InvalidDeployment

#: AWS's longest names, and what of it follows the scheduler's own.
LONGEST = {
    "-worker-": 38,  # a role with what Terraform adds at the end
    "-lost-rings": 80,  # a queue
    "": 64,  # a function
}


@pytest.mark.parametrize("name", ["duebell", "abc", "Shop-2", "a" * 30, "a--"])
def test_names_that_can_be(name: str) -> None:
    assert check_scheduler_name(name) == name
    assert all(len(name + end) <= longest for end, longest in LONGEST.items())


@pytest.mark.parametrize(
    "name", ["", "ab", "a" * 31, "my_queue", "2nd-queue", "-queue", "Ünique", "a b", "duebell\n"]
)
def test_names_that_cannot_be_are_refused_before_anything_is_asked(name: str) -> None:
    with pytest.raises(InvalidDeployment, match=r"3 to 30 letters, digits and hyphens, and a letter first"):
        check_scheduler_name(name)
