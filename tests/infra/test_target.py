"""What a bundle is built for."""

import sys
from types import SimpleNamespace

import pytest

from duebell_infra.errors import InvalidDeployment
from duebell_infra.target import Architecture, Place, Target
from duebell_infra.template import template_text


def test_lambda_on_arm_is_the_default() -> None:
    target = Target()
    assert (target.runtime, target.architecture, target.place) == ("python3.13", "arm64", Place.LAMBDA)


def test_the_most_demanding_wheels_come_first() -> None:
    platforms = Target(architecture=Architecture.X86_64).wheel_platforms
    assert platforms[0] == "manylinux_2_34_x86_64"
    assert platforms[-2:] == ["manylinux_2_17_x86_64", "manylinux2014_x86_64"]


def test_python_3_11_runs_on_an_older_system() -> None:
    assert Target(python="3.11").wheel_platforms[0] == "manylinux_2_26_aarch64"


def test_other_pythons_are_refused() -> None:
    with pytest.raises(InvalidDeployment, match=r"3\.13, 3\.14, not on 3\.9"):
        Target(python="3.9")


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_the_template_allows_what_can_be_built(python: str) -> None:
    assert Target(python=python).runtime in template_text()


def test_the_default_for_a_new_stack_is_the_python_that_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", SimpleNamespace(major=3, minor=12))
    assert Target.like_here().python == "3.12"
    monkeypatch.setattr(sys, "version_info", SimpleNamespace(major=3, minor=99))
    assert Target.like_here() == Target()
