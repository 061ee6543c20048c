"""Tells refusals that another attempt may not meet from those that are final, with the way out."""

import re
from enum import Enum, auto

from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.aws.endpoint import way_out
from duebell_shared.deliveries.delivery import DeliverySecret, DeliveryTarget
from duebell_shared.deliveries.kinds import Answer
from duebell_worker.run.outcome import Undeliverable, Undelivered

__all__ = ["concerns_all", "fault_of", "fault_of_call"]

#: Statuses of HTTP.
_FORBIDDEN, _NOT_FOUND, _TOO_LARGE, _TOO_MANY, _SERVER_ERROR = 403, 404, 413, 429, 500


class _Why(Enum):
    """Why a message is refused for good."""

    KEY = auto()
    DENIED = auto()
    ABSENT = auto()
    LARGE = auto()
    INVALID = auto()


#: Codes of what mends: throttling, limits of what goes on at a time, failures of AWS, credentials that are
#: about to be renewed. Compared without dots, and without regard to case.
_MENDS = re.compile(
    "throttl|toomany|slowdown|limitexceeded|overlimit|requestlimit|timeout|timedout|expired|internal"
    "|unavailable|serviceexception|conflict|notready|clienttoken|signature|incompleterecord",
)
_LASTS = {
    _Why.KEY: re.compile("^kms"),
    _Why.DENIED: re.compile("accessdenied|authorizationerror|notauthorized|unauthorized|forbidden"),
    _Why.ABSENT: re.compile("nonexistent|notfound|notexist|nosuch"),
    _Why.LARGE: re.compile("toolong|toolarge"),
    _Why.INVALID: re.compile(
        "^invalid|^validation|malformed|^missing|^unsupported|redactionfailure|parametervalueinvalid"
    ),
}

#: SQS, SNS and EventBridge say in words alone that a message is too large.
_LARGE_WORDS = re.compile("shorter than|too long|too large|over the limit|exceed", re.IGNORECASE)

_BY_STATUS = {_FORBIDDEN: _Why.DENIED, _NOT_FOUND: _Why.ABSENT, _TOO_LARGE: _Why.LARGE}


def fault_of_call(target: DeliveryTarget | DeliverySecret, error: Exception) -> Exception:
    """The error of an attempt whose call raised this error."""
    if isinstance(error, ClientError):
        told = error.response.get("Error", {})
        status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        return fault_of(target, Answer(told.get("Code", ""), told.get("Message", ""), status))
    if isinstance(error, BotoCoreError):
        return Undelivered(f"{target.shown} did not answer: {error}{way_out(error)}")
    return error


def fault_of(target: DeliveryTarget | DeliverySecret, answer: Answer) -> Exception:
    """The error of an attempt that AWS answered so: Undeliverable if another attempt does not help."""
    why = _why(answer)
    said = f"({answer.code}: {answer.message})" if answer.message else f"({answer.code})"
    if why is None:
        return Undelivered(f"{target.shown} did not accept it {said}")
    told = f"{_words(why, target)} {said}"
    # IAM takes a while to apply a policy, and the target's own may come a minute later: it is tried again.
    if why is _Why.DENIED or (why is _Why.KEY and "denied" in answer.code.lower()):
        return Undelivered(told)
    return Undeliverable(told, of_target=why in {_Why.KEY, _Why.ABSENT})


def concerns_all(error: Exception) -> bool:
    """Tell whether a call that failed so would fail for each of its messages alone."""
    return not isinstance(error, Undeliverable) or error.of_target


def _why(answer: Answer) -> _Why | None:
    """Why the message is refused for good; None if it may be accepted later."""
    code = re.sub("[^a-z]", "", answer.code.lower())
    code = code.removeprefix("awssimplequeueservice")
    if answer.status == _TOO_MANY or answer.status >= _SERVER_ERROR or _MENDS.search(code):
        return None
    found = next((why for why, pattern in _LASTS.items() if pattern.search(code)), None)
    if found is _Why.INVALID and _LARGE_WORDS.search(answer.message):
        return _Why.LARGE
    if found or answer.status in _BY_STATUS:
        return found or _BY_STATUS[answer.status]
    return _Why.INVALID if answer.is_senders else None


def _words(why: _Why, target: DeliveryTarget | DeliverySecret) -> str:
    shown = target.shown
    match why:
        case _Why.KEY:
            needed = "kms:GenerateDataKey and kms:Decrypt"
            return (
                f"the key that encrypts {shown} cannot be used: the worker's role needs {needed} on the key"
            )
        case _Why.DENIED:
            needed = target.kind.sends if isinstance(target, DeliveryTarget) else target.reads
            return (
                f"access denied to {shown}: the worker's role needs {needed} on it, and if it "
                f"belongs to another account, its own policy must allow that, too"
            )
        case _Why.ABSENT:
            what = target.kind if isinstance(target, DeliveryTarget) else "secret"
            return f"there is no {what} {shown}: create it, or deploy the delivery with another target"
        case _Why.LARGE:
            return f"too large for {shown}: keep the data elsewhere, in S3, and put its key into the payload"
        case _Why.INVALID:
            return f"{shown} refused the message"
