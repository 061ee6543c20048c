"""The settings of history: which ended tasks are kept, for how long, and with which payloads. Pure."""

from datetime import timedelta
from enum import StrEnum

import msgspec

#: The default retention of ended tasks.
RETENTION = timedelta(days=14)

#: Bytes of the largest payload that a done task keeps, unless chosen otherwise: with one of this size most
#: items are below 3 KB.
KEPT_PAYLOAD = 2048


class History(StrEnum):
    """The ended tasks that are kept for the retention time. Failed and expired ones always are.

    ALL     all of them, and all are listed
    FAILED  done and cancelled tasks are found by their ids, but not listed: one write unit less for each
    NONE    a done task is deleted by the write that ends it, and its id is free again: an add or an import
            that is repeated adds it anew. A cancelled one is found by its id
    """

    ALL = "all"
    FAILED = "failed"
    NONE = "none"


class RetentionPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The rules by which ended tasks are kept.

    retention    for how long
    history      which of them
    payload      bytes of the largest payload that a done task keeps, as JSON in UTF-8
    """

    retention: timedelta = RETENTION
    history: History = History.ALL
    payload: int = KEPT_PAYLOAD
