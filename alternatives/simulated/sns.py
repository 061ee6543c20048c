"""SNS: topics that invoke functions."""

from typing import TYPE_CHECKING, Any

from .refusals import refusal

if TYPE_CHECKING:
    from .account import Account

__all__ = ["Sns"]


class Sns:
    """Topics by ARN, with the functions that are subscribed."""

    def __init__(self, account: "Account") -> None:
        self._account = account
        self._topics: dict[str, set[str]] = {}

    def create_topic(self, Name: str) -> dict[str, Any]:
        arn = f"arn:aws:sns:us-east-1:000000000000:{Name}"
        self._topics.setdefault(arn, set())
        return {"TopicArn": arn}

    def subscribe(self, TopicArn: str, Protocol: str, Endpoint: str) -> dict[str, Any]:
        if Protocol != "lambda":
            raise refusal("InvalidParameter", f"only functions are subscribed here, not {Protocol}")
        self._topics[TopicArn].add(Endpoint)
        return {}

    def list_topics(self) -> dict[str, Any]:
        return {"Topics": [{"TopicArn": arn} for arn in self._topics]}

    def delete_topic(self, TopicArn: str) -> dict[str, Any]:
        self._topics.pop(TopicArn, None)
        return {}

    def publish(self, TopicArn: str, Message: str) -> dict[str, Any]:
        self._account.billed["publish"] += 1
        for endpoint in self._topics.get(TopicArn, ()):
            event = {"Records": [{"Sns": {"Message": Message}}]}
            self._account.functions.invoke_async(endpoint.rpartition(":")[2], event)
        return {}
