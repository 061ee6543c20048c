"""AWS's answers to the calls of a session, written down as they are made."""

import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import boto3

from .finding import Answer

__all__ = ["Answers", "Call", "permission_in"]

_BEGAN, _PARAMS = "duebell_verify_began", "duebell_verify_params"

#: IAM's refusal. https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
_DENIED = re.compile(r"not authorized to perform: ?([\w:]+)")

#: Operations that are allowed by an action of another name.
_ALLOWED_BY = {
    "BatchExecuteStatement": "dynamodb:PartiQLInsert, dynamodb:PartiQLUpdate and dynamodb:PartiQLDelete",
    "Invoke": "lambda:InvokeFunction",
}


@dataclass(frozen=True)
class Call:
    """One call: its parameters, and the answer."""

    service: str
    params: Mapping[str, Any]
    parsed: Mapping[str, Any]
    answer: Answer

    @property
    def lacks(self) -> str | None:
        """The permission that was missing; None if it was not refused for that."""
        refusals = [(self.answer.code, self.answer.message)]
        refusals += [(error.get("Code"), error.get("Message")) for error in _errors(self.parsed) if error]
        for code, message in refusals:
            if code and "AccessDenied" in code:
                operation = self.answer.operation
                named = _ALLOWED_BY.get(operation, f"{self.service}:{operation}")
                return permission_in(message or "") or named
        return None

    def __str__(self) -> str:
        """The call in short: `PutItem: ConditionalCheckFailedException`."""
        answer = self.answer
        if answer.code:
            return f"{answer.operation}: {answer.code}"
        if not answer.statements:
            return answer.operation
        refused = Counter(code for code in answer.statements if code)
        made = len(answer.statements) - refused.total()
        said = [f"{made} made", *(f"{count} {code}" for code, count in refused.items())]
        return f"{answer.operation} ({', '.join(said)})"


class Answers:
    """The calls of the clients that this session creates from now on."""

    def __init__(self, session: boto3.Session) -> None:
        self.calls: list[Call] = []
        session.events.register("before-parameter-build", self._begin)
        session.events.register("after-call", self._note)
        session.events.register("after-call-error", self._note_error)

    def clear(self) -> None:
        """Drop the calls so far, so that the next ones are those of one check."""
        self.calls.clear()

    def of(self, operation: str) -> list[Call]:
        """The calls of this operation, in order."""
        return [call for call in self.calls if call.answer.operation == operation]

    def lacks(self) -> str | None:
        """The first permission that was missing."""
        return next((call.lacks for call in self.calls if call.lacks), None)

    def __str__(self) -> str:
        """The calls in short: `2 PutItem, PutItem: ConditionalCheckFailedException`."""
        counted = Counter(map(str, self.calls))
        return ", ".join(f"{count} {what}" if count > 1 else what for what, count in counted.items())

    def _begin(self, params: Mapping[str, Any], context: dict[str, Any], **_: Any) -> None:
        context[_BEGAN], context[_PARAMS] = time.monotonic(), dict(params)

    def _note(self, parsed: Mapping[str, Any], model: Any, context: Mapping[str, Any], **_: Any) -> None:
        error: Mapping[str, Any] = parsed.get("Error", {})
        answer = Answer(
            operation=model.name,
            milliseconds=_milliseconds(context),
            code=error.get("Code"),
            message=error.get("Message"),
            retries=parsed.get("ResponseMetadata", {}).get("RetryAttempts", 0),
            statements=tuple(one.get("Code") if one else None for one in _errors(parsed)),
        )
        service = model.service_model.service_name
        self.calls.append(Call(service, context.get(_PARAMS, {}), parsed, answer))

    def _note_error(
        self, exception: Exception, event_name: str, context: Mapping[str, Any], **_: Any
    ) -> None:
        """Note a call that nobody answered."""
        service, operation = event_name.split(".")[1:]
        code, milliseconds = type(exception).__name__, _milliseconds(context)
        answer = Answer(operation=operation, milliseconds=milliseconds, code=code, message=str(exception))
        self.calls.append(Call(service, context.get(_PARAMS, {}), {}, answer))


def permission_in(message: str) -> str | None:
    """The permission that AWS says is missing; None for any other message."""
    found = _DENIED.search(message)
    return found[1] if found else None


def _milliseconds(context: Mapping[str, Any]) -> float:
    now = time.monotonic()
    began: float = context.get(_BEGAN, now)
    return round((now - began) * 1000, 1)


def _errors(parsed: Mapping[str, Any]) -> list[Mapping[str, Any] | None]:
    """The error of each statement of a batch, None if it was made."""
    responses = parsed.get("Responses")
    return [each.get("Error") for each in responses] if isinstance(responses, list) else []
