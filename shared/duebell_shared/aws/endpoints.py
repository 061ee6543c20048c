"""Endpoints of AWS on this machine, and the hint that an error about one of them gets."""

import ipaddress
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError


def way_out(failure: object) -> str:
    """A hint to put after an error of the SDK: empty, unless the call went to this machine."""
    url = failure.kwargs.get("endpoint_url") if isinstance(failure, BotoCoreError) else None
    return "; is `duebell local` running?" if url and is_here(str(url)) else ""


def is_here(url: str) -> bool:
    """Tell whether this URL's host is this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
