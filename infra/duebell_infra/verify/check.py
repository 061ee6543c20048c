"""A check: a function with a name, and the finding that comes of calling it, whatever it raises."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.errors import DuebellError

from .answers import permission_in
from .finding import Finding, Result

if TYPE_CHECKING:
    from .scene import Scene

__all__ = ["LOOK_INTO_THE_LOG", "Check", "Found", "NotMade", "When", "Wrong", "check", "expect"]

LOOK_INTO_THE_LOG = "`duebell doctor`; look into the worker's log"

_REPORT = "duebell relies on this: report it, with the output of --json"


class When(StrEnum):
    """The condition for a check: made always, when waiting is allowed, when a dead letter is asked for."""

    ALWAYS = "always"
    PROBING = "probing"
    DEAD_LETTER = "dead letter"


class Found(NamedTuple):
    """The outcome that a check returns; without a text, the calls that were made are its text."""

    text: str = ""
    result: Result = Result.OK
    way_out: str | None = None
    figures: Mapping[str, float] = {}


class _Ended(Exception):
    """The check ended early, for this reason."""

    result: Result

    def __init__(self, why: str, way_out: str | None = None) -> None:
        super().__init__(why)
        self.way_out = way_out


class Wrong(_Ended):
    """AWS, or the scheduler, does not do what duebell relies on."""

    result = Result.FAILED


class NotMade(_Ended):
    """The check cannot be made."""

    result = Result.SKIPPED


def expect(is_so: object, otherwise: str) -> None:
    """Raise Wrong with these words unless it is so."""
    if not is_so:
        raise Wrong(otherwise)


@dataclass(frozen=True)
class Check:
    """A check: the function that makes it, and what to do if it fails and does not say that itself.

    The function's docstring says what is checked. It returns nothing if all is well and the calls say enough.
    """

    make: Callable[["Scene"], Found | None]
    way_out: str = _REPORT
    when: When = When.ALWAYS

    @property
    def name(self) -> str:
        """The function's name, with hyphens."""
        return self.make.__name__.replace("_", "-")

    def finding(self, scene: "Scene") -> Finding:
        """Make the check; the finding, whatever it raises."""
        scene.answers.clear()
        is_aws_error = False
        try:
            found = self.make(scene) or Found()
            found = found._replace(text=found.text or str(scene.answers))
        except _Ended as ended:
            way_out = self.way_out if isinstance(ended, Wrong) else None
            found = Found(str(ended), ended.result, ended.way_out or way_out)
        except (DuebellError, BotoCoreError, ClientError) as error:
            is_aws_error = True
            found = Found(str(error), Result.FAILED, self.way_out)
        except Exception as error:  # noqa: BLE001 (a bug of ours; the other checks are still made)
            found = Found(f"unexpected, {type(error).__name__}: {error}", Result.FAILED)
        lacks = scene.answers.lacks() or permission_in(found.text)
        if lacks and (is_aws_error or found.result is not Result.FAILED):
            more = "" if is_aws_error else f"; {found.text}"
            found = found._replace(
                text=f"{lacks} is not allowed to whoever runs this{more}",
                result=Result.SKIPPED,
                way_out="give whoever runs this the permissions in docs/security.md, then verify again",
            )
        return Finding(
            check=self.name,
            result=found.result,
            found=found.text,
            way_out=found.way_out,
            lacks=lacks,
            figures=found.figures,
            answers=tuple(call.answer for call in scene.answers.calls),
        )


def check(
    way_out: str = _REPORT, *, when: When = When.ALWAYS
) -> Callable[[Callable[["Scene"], Found | None]], Check]:
    """Make a check of a function."""
    return lambda make: Check(make, way_out, when)
