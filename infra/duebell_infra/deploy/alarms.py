"""The receivers of a stack's alarms, by its parameters: checks them, and names them after a deployment."""

import re
from collections.abc import Mapping

from duebell_infra.errors import InvalidDeployment
from duebell_shared.quoting import quoted

__all__ = ["check_alarms", "whom_they_tell"]

_MAIL, _TOPIC = "AlarmMail", "AlarmTopicArn"

_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
_ARN = re.compile(r"arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]+")


def check_alarms(parameters: Mapping[str, str]) -> None:
    """Raise InvalidDeployment if the alarms could not tell whom they are given."""
    mail, topic = parameters.get(_MAIL, ""), parameters.get(_TOPIC, "")
    if mail and not _ADDRESS.fullmatch(mail):
        raise InvalidDeployment(_MAIL, f"{quoted(mail)} is no address of mail, such as oncall@example.com")
    if topic and not _ARN.fullmatch(topic):
        raise InvalidDeployment(
            _TOPIC, f"{quoted(topic)} is no SNS topic, such as arn:aws:sns:eu-central-1:123456789012:oncall"
        )


def whom_they_tell(before: Mapping[str, str], parameters: Mapping[str, str]) -> str:
    """A line that says who is told when tasks fail, or that nobody is; `before` are the last parameters."""
    mail, topic = parameters.get(_MAIL, ""), parameters.get(_TOPIC, "")
    if not mail and not topic:
        return (
            "alarms: nobody is told when tasks fail or are late; --alarm-mail or --alarm-topic changes that"
        )
    is_asked = mail and mail != before.get(_MAIL)
    agree = f"; {mail} must agree first, by the link in a mail that AWS has sent there" if is_asked else ""
    return f"alarms: they tell {' and '.join(filter(None, (mail, topic)))}{agree}"
