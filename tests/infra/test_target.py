"""The place that a bundle is built for: Python's version and the processor."""

import platform
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from duebell_infra.bundle.target import Architecture, Place, Target


@pytest.mark.parametrize(
    ("library", "target", "runs"),
    [
        (("glibc", "2.34"), {}, True),
        (("glibc", "2.33"), {}, False),
        (("glibc", "2.36.1"), {}, True),
        (("", ""), {}, False),
        (("glibc", "2.34"), {"python": "3.13"}, False),
        (("glibc", "2.34"), {"architecture": Architecture.ARM64}, False),
        (("", ""), {"place": Place.THIS_MACHINE}, True),
    ],
)
def test_wheels_for_lambda_run_on_a_linux_like_it(
    monkeypatch: pytest.MonkeyPatch, library: tuple[str, str], target: dict[str, Any], runs: bool
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys, "version_info", SimpleNamespace(major=3, minor=12))
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "libc_ver", lambda: library)
    like_this = {"python": "3.12", "architecture": Architecture.X86_64, **target}
    assert Target(**like_this).runs_here is runs


def test_the_default_for_a_new_stack_is_the_python_that_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", SimpleNamespace(major=3, minor=12))
    assert Target.like_here().python == "3.12"
    monkeypatch.setattr(sys, "version_info", SimpleNamespace(major=3, minor=99))
    assert Target.like_here() == Target()
