"""The texts of secrets: the keys that deliveries are signed with."""

from datetime import timedelta
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from duebell_shared.deliveries.delivery import DeliverySecret
from duebell_worker.run.outcome import Undeliverable

from .faults import fault_of_call

if TYPE_CHECKING:
    from .deliverer import Deliverer

__all__ = ["secret_text"]

#: A secret that is changed counts after this time at the latest.
_KEPT = timedelta(minutes=5)


def secret_text(deliverer: "Deliverer", secret: DeliverySecret) -> str:
    """The text of this secret, read every five minutes at most. Raises Undelivered, Undeliverable."""
    now = deliverer.clock()
    if (known := deliverer.secrets.get(secret.arn)) and now - known[0] < _KEPT:
        return known[1]
    try:
        text = _read(deliverer, secret)
    except (BotoCoreError, ClientError) as error:
        raise fault_of_call(secret, error) from None
    if not text:
        raise Undeliverable(f"the secret {secret.arn} has no text: give it the key of the signature as text")
    deliverer.secrets[secret.arn] = now, text
    return text


def _read(deliverer: "Deliverer", secret: DeliverySecret) -> str:
    client = deliverer.clients.of(secret.service, secret.region)
    if secret.service == "ssm":
        parameter: str = client.get_parameter(Name=secret.arn, WithDecryption=True)["Parameter"]["Value"]
        return parameter
    return str(client.get_secret_value(SecretId=secret.arn).get("SecretString", ""))
