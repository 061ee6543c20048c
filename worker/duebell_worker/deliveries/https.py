"""Delivery to an HTTPS endpoint: a POST, signed if there is a secret."""

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import quote, urlsplit

import urllib3

from duebell_shared.deliveries.delivery import Delivery
from duebell_worker.run.outcome import Retry, Undeliverable, Undelivered

from .connections import TIMEOUT, connections
from .deliverer import Deliverer
from .message import Message
from .secret import secret_text

__all__ = ["send", "signature"]

#: Bytes of an answer that are read; it says nothing but whether the message was accepted.
_MOST_READ, _MOST_SHOWN = 64 * 1024, 200

#: Statuses that do not mend: the endpoint understood, and does not want it, or is not there. Others, such as
#: 401, 409, 429 and 5xx, may: EventBridge's API destinations draw the line alike.
#: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-api-destinations.html
_LASTS = {*range(300, 400), 400, 403, 404, 405, 406, 410, 411, 413, 414, 415, 422, 431, 501}

_MOST_PAUSE = 24 * 60 * 60


def send(deliverer: Deliverer, delivery: Delivery, messages: Sequence[Message]) -> list[Exception | None]:
    """Post this message. Any status of 2xx accepts it."""
    [message] = messages
    body = message.body.encode()
    headers = _headers(message)
    if delivery.key:
        key = secret_text(deliverer, delivery.key)
        headers["Duebell-Signature"] = signature(key, message.key, body, deliverer.clock())
    try:
        response = connections().request(
            "POST",
            delivery.to,
            body=body,
            headers=headers,
            timeout=TIMEOUT,
            retries=False,
            redirect=False,
            preload_content=False,
        )
    except urllib3.exceptions.HTTPError as error:
        why = re.sub(r"^.*?(Connection|Pool)\(.*?\): ", "", str(error))  # it may repeat the URL
        return [Undelivered(f"{delivery.target.shown} did not answer: {type(error).__name__}: {why}")]
    try:
        said = response.read(_MOST_READ, decode_content=False)
    except urllib3.exceptions.HTTPError:  # the status has told already whether the message was accepted
        said = b""
    finally:
        response.close()
    return [_error(delivery, response.status, response.headers, said)]


def signature(key: str, idempotency_key: str, body: bytes, now: datetime) -> str:
    """The header `Duebell-Signature`: it signs the time, the idempotency key and the body."""
    at = int(now.timestamp())
    signed = hmac.new(key.encode(), f"{at}.{idempotency_key}.".encode() + body, hashlib.sha256)
    return f"t={at},v1={signed.hexdigest()}"


def _headers(message: Message) -> dict[str, str]:
    """The headers; what is not ASCII in ids and names is percent-encoded, as in URLs."""
    named = {
        name.title(): quote(value, safe=" !#$&'()*+,/:;=?@[]") for name, value in message.attributes.items()
    }
    fixed = {"Content-Type": "application/json", "User-Agent": "duebell", "Idempotency-Key": message.key}
    return {**fixed, **named}


def _error(delivery: Delivery, status: int, headers: Mapping[str, str], said: bytes) -> Exception | None:
    if 200 <= status < 300:  # noqa: PLR2004
        return None
    text = _shown(delivery, said) if delivery.keep_answers else ""
    what = f"{delivery.target.shown} answered {status}{f': {text}' if text else ''}"
    if 300 <= status < 400:  # noqa: PLR2004
        return Undeliverable(f"{what}: redirects are not followed, give the address that it leads to")
    if status in _LASTS:
        return Undeliverable(what)
    pause = headers.get("Retry-After", "")
    if pause.isascii() and pause.isdigit():
        return Retry(what, after=min(int(pause[:9]), _MOST_PAUSE))
    return Undelivered(what)


def _shown(delivery: Delivery, said: bytes) -> str:
    """The beginning of an answer, without the path and the query of the URL; empty if it is not plain text.

    An answer may repeat the request, and the URL may be secret.
    """
    text = said.decode(errors="replace")
    url = urlsplit(delivery.to)
    values = [pair.partition("=")[2] for pair in url.query.split("&")]
    for secret in (url.path, url.query, *url.path.split("/"), *values):
        if len(secret) > 1:
            text = text.replace(secret, "…")
    text = text[:_MOST_SHOWN].strip()
    return text if text.isprintable() else ""
