"""A check of a verify, AWS's answers to its calls, and its finding, whatever it raises."""

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import boto3
import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.errors import DuebellError, IndexNotReady, NotDeployed

if TYPE_CHECKING:
    from .scene import Scene

_REPORT = "duebell relies on this: report it, with the output of --json"

#: IAM's refusal. https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
_DENIED = re.compile(r"not authorized to perform: ?([\w:]+)")

#: Operations that are allowed by an action of another name.
_ALLOWED_BY = {
    "BatchExecuteStatement": "dynamodb:PartiQLInsert, dynamodb:PartiQLUpdate and dynamodb:PartiQLDelete",
    "TransactWriteItems": "dynamodb:UpdateItem",
    "Invoke": "lambda:InvokeFunction",
}


class Result(StrEnum):
    """The result of a check."""

    OK = "ok"
    SLOWER = "slower path"
    FAILED = "failed"
    SKIPPED = "skipped"


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """AWS's answer to one call.

    operation     such as PutItem
    milliseconds  how long it took, with the SDK's retries
    code          the error's code; None if the call was made
    message       AWS's text of the error
    retries       how often the SDK tried again
    statements    of a batch, the error's code of each statement, None if it was made
    """

    operation: str
    milliseconds: float
    code: str | None = None
    message: str | None = None
    retries: int = 0
    statements: tuple[str | None, ...] = ()

    def __str__(self) -> str:
        """The call in short: `PutItem: ConditionalCheckFailedException`."""
        if self.code:
            return f"{self.operation}: {self.code}"
        if not self.statements:
            return self.operation
        counts = Counter(code or "made" for code in self.statements)
        made = counts.pop("made", 0)
        said = [f"{made} made", *(f"{count} {code}" for code, count in counts.items())]
        return f"{self.operation} ({', '.join(said)})"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one check.

    check    its name, which does not change between versions
    result   how it ended
    found    what was found, or why the check was not made
    way_out  what to do, if it is not ok
    lacks    the permission that its caller lacks
    figures  numbers that were measured, by name
    answers  AWS's answers, in order
    """

    check: str
    result: Result
    found: str
    way_out: str | None = None
    lacks: str | None = None
    figures: Mapping[str, float] = {}
    answers: tuple[Answer, ...] = ()


class Found(NamedTuple):
    """The outcome that a check returns; without a text, the calls that were made are its text."""

    text: str = ""
    result: Result = Result.OK
    way_out: str | None = None
    figures: Mapping[str, float] = {}


class Wrong(Exception):
    """AWS, or the scheduler, does not do what duebell relies on."""

    result = Result.FAILED

    def __init__(self, why: str, way_out: str | None = None) -> None:
        super().__init__(why)
        self.way_out = way_out


class NotMade(Wrong):
    """The check cannot be made."""

    result = Result.SKIPPED


def expect(is_so: object, otherwise: str) -> None:
    """Raise Wrong with these words unless it is so."""
    if not is_so:
        raise Wrong(otherwise)


class Check(NamedTuple):
    """A row of the table: its name, the function that makes the calls, what to do if it fails.

    The function returns nothing if all is well and the calls say enough. `waits`: left out with --no-probe.
    """

    name: str
    make: "Callable[[Scene], Found | None]"
    way_out: str = _REPORT
    waits: bool = False

    def finding(self, scene: "Scene") -> Finding:
        """Make the check; the finding, whatever it raises."""
        answers = scene.answers
        answers.calls.clear()
        is_aws_error = False
        try:
            found = self.make(scene) or Found()
            found = found._replace(text=found.text or str(answers))
        except Wrong as wrong:
            way_out = None if isinstance(wrong, NotMade) else self.way_out
            found = Found(str(wrong), wrong.result, wrong.way_out or way_out)
        except NotDeployed as error:
            result = Result.SKIPPED if isinstance(error, IndexNotReady) else Result.FAILED
            what, _, way_out = str(error).partition(": ")
            found = Found(what, result, way_out or self.way_out)
        except (DuebellError, BotoCoreError, ClientError) as error:
            is_aws_error = True
            found = Found(str(error), Result.FAILED, self.way_out)
        except Exception as error:  # noqa: BLE001 (a bug of ours; the other checks are still made)
            found = Found(f"unexpected, {type(error).__name__}: {error}", Result.FAILED)
        lacks = answers.lacks() or _permission_in(found.text)
        if lacks and (is_aws_error or found.result is not Result.FAILED):
            more = "" if is_aws_error else f"; {found.text}"
            way_out = "give this user or role the permissions in docs/security.md, then verify again"
            found = Found(f"{lacks} is not allowed to this user or role{more}", Result.SKIPPED, way_out)
        return Finding(
            check=self.name,
            result=found.result,
            found=found.text,
            way_out=found.way_out,
            lacks=lacks,
            figures=found.figures,
            answers=tuple(call.answer for call in answers.calls),
        )


class Call(NamedTuple):
    """One call: the service, the parameters, the parsed answer, and what is said of it."""

    service: str
    params: Mapping[str, Any]
    parsed: Mapping[str, Any]
    answer: Answer

    @property
    def lacks(self) -> str | None:
        """The permission that was missing; None if it was not refused for that."""
        refusals = [{"Code": self.answer.code, "Message": self.answer.message}, *_errors(self.parsed)]
        for error in refusals:
            if "AccessDenied" in (error.get("Code") or ""):
                operation = self.answer.operation
                named = _ALLOWED_BY.get(operation, f"{self.service}:{operation}")
                return _permission_in(error.get("Message") or "") or named
        return None


class Answers:
    """The calls of the clients that this session creates from now on."""

    def __init__(self, session: boto3.Session) -> None:
        self.calls: list[Call] = []
        session.events.register("before-parameter-build", self._begin)
        session.events.register("after-call", self._note)
        session.events.register("after-call-error", self._note_error)

    def of(self, operation: str) -> list[Call]:
        """The calls of this operation, in order."""
        return [call for call in self.calls if call.answer.operation == operation]

    def lacks(self) -> str | None:
        """The first permission that was missing."""
        return next((call.lacks for call in self.calls if call.lacks), None)

    def __str__(self) -> str:
        """The calls in short: `2 PutItem, PutItem: ConditionalCheckFailedException`."""
        counted = Counter(str(call.answer) for call in self.calls)
        return ", ".join(f"{count} {what}" if count > 1 else what for what, count in counted.items())

    def _begin(self, params: Mapping[str, Any], context: dict[str, Any], **_: Any) -> None:
        context["duebell_verify"] = time.monotonic(), dict(params)

    def _note(self, parsed: Mapping[str, Any], model: Any, context: Mapping[str, Any], **_: Any) -> None:
        error: Mapping[str, Any] = parsed.get("Error", {})
        self._add(
            model.service_model.service_name,
            context,
            parsed,
            operation=model.name,
            code=error.get("Code"),
            message=error.get("Message"),
            retries=parsed.get("ResponseMetadata", {}).get("RetryAttempts", 0),
            statements=tuple(one.get("Code") for one in _errors(parsed)),
        )

    def _note_error(
        self, exception: Exception, event_name: str, context: Mapping[str, Any], **_: Any
    ) -> None:
        """Note a call that nobody answered."""
        service, operation = event_name.split(".")[1:]
        code = type(exception).__name__
        self._add(service, context, {}, operation=operation, code=code, message=str(exception))

    def _add(
        self, service: str, context: Mapping[str, Any], parsed: Mapping[str, Any], **answer: Any
    ) -> None:
        began, params = context.get("duebell_verify", (time.monotonic(), {}))
        milliseconds = round((time.monotonic() - began) * 1000, 1)
        self.calls.append(Call(service, params, parsed, Answer(milliseconds=milliseconds, **answer)))


def _permission_in(message: str) -> str | None:
    """The permission that AWS says is missing; None for any other message."""
    found = _DENIED.search(message)
    return found[1] if found else None


def _errors(parsed: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The error of each statement of a batch, empty if it was made."""
    responses = parsed.get("Responses")
    return [each.get("Error") or {} for each in responses] if isinstance(responses, list) else []
