"""The Python that a bundle is built for: one of Lambda's, or the one that is running."""

import platform
import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from duebell_infra.errors import InvalidDeployment

#: The newest C library that wheels may need, by the system that Lambda runs a Python on: Amazon Linux 2 up
#: to Python 3.11, Amazon Linux 2023 since. https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtimes.html
_GLIBC_MINOR = {"3.11": 26}
_GLIBC_MINOR_SINCE = 34

#: Lambda's versions of Python that duebell supports.
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


class Architecture(StrEnum):
    """The processor, in Lambda's words."""

    ARM64 = "arm64"
    X86_64 = "x86_64"

    @property
    def machine(self) -> str:
        """The same in the words of wheels."""
        return "aarch64" if self is Architecture.ARM64 else "x86_64"


class Place(StrEnum):
    """The place where the bundle runs."""

    LAMBDA = "lambda"
    THIS_MACHINE = "this machine"


@dataclass(frozen=True, kw_only=True)
class Target:
    """A Python version, such as `3.13`, on a processor, in a place. Others raise InvalidDeployment."""

    python: str = "3.13"
    architecture: Architecture = Architecture.ARM64
    place: Place = Place.LAMBDA

    def __post_init__(self) -> None:
        if self.python not in PYTHONS:
            raise InvalidDeployment(
                "python", f"the worker runs on Python {', '.join(PYTHONS)}, not on {self.python}"
            )

    @classmethod
    def like_here(cls) -> Self:
        """A Lambda with the Python that is running now, which can compile for it; else the default."""
        running = f"3.{sys.version_info.minor}"
        return cls(python=running) if running in PYTHONS else cls()

    @classmethod
    def this_machine(cls) -> Self:
        """The interpreter that is running now; the embedded stack runs its functions with it."""
        running = f"3.{sys.version_info.minor}"
        is_arm = platform.machine().lower() in {"aarch64", "arm64"}
        return cls(
            python=running if running in PYTHONS else PYTHONS[-1],
            architecture=Architecture.ARM64 if is_arm else Architecture.X86_64,
            place=Place.THIS_MACHINE,
        )

    @property
    def runs_here(self) -> bool:
        """True if its wheels can be imported by the interpreter that is running now."""
        if self.place is Place.THIS_MACHINE:
            return True
        library, version = platform.libc_ver()
        here = Target.this_machine()
        return (
            (sys.platform, library) == ("linux", "glibc")
            and int(version.split(".")[1]) >= self._glibc_minor
            and (self.python, self.architecture) == (f"3.{sys.version_info.minor}", here.architecture)
        )

    @property
    def runtime(self) -> str:
        """The name of Lambda's runtime."""
        return f"python{self.python}"

    @property
    def wheel_platforms(self) -> list[str]:
        """The platform tags of the wheels that run on Lambda, the most demanding first."""
        tags = [
            f"manylinux_2_{minor}_{self.architecture.machine}" for minor in range(self._glibc_minor, 16, -1)
        ]
        return [*tags, f"manylinux2014_{self.architecture.machine}"]

    @property
    def _glibc_minor(self) -> int:
        return _GLIBC_MINOR.get(self.python, _GLIBC_MINOR_SINCE)

    def __str__(self) -> str:
        return f"Python {self.python} on {self.architecture}, {self.place}"
