"""What an editor and a worker stand on: the queue, the rule, the arming between them, and the clock."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Self

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, NoRegionError

from .armer import Armer
from .errors import InvalidSettings
from .instants import utc_now
from .rule import CALL_LIMIT, Rule
from .settings import Settings
from .store import Store
from .table import DynamoTable

__all__ = ["Backend", "default_session"]

#: Connections kept open to DynamoDB; more threads than this share them.
_CONNECTIONS = 32

#: DynamoDB answers in milliseconds; what takes seconds is lost and better tried again.
_DYNAMODB = Config(
    connect_timeout=2,
    read_timeout=5,
    max_pool_connections=_CONNECTIONS,
    parameter_validation=False,  # pynamodb builds the calls; checking them again costs a fifth of each
    retries={"mode": "standard", "total_max_attempts": 4},
)

#: No retries of the SDK's own: how long a call to the rule may take is part of the arming protocol.
_EVENTS = Config(
    connect_timeout=2,
    read_timeout=CALL_LIMIT.total_seconds() - 2,
    retries={"mode": "standard", "total_max_attempts": 1},
)


def default_session() -> boto3.Session:
    """The session that the environment gives. boto3 reads AWS_DEFAULT_REGION only; AWS_REGION counts too."""
    session = boto3.Session()
    region = os.environ.get("AWS_REGION")
    return boto3.Session(region_name=region) if region and not session.region_name else session


@dataclass(frozen=True, kw_only=True)
class Backend:
    """The store, the rule and what arms it, with the clock they go by."""

    settings: Settings
    store: Store
    rule: Rule
    armer: Armer
    clock: Callable[[], datetime]
    sleep: Callable[[float], None]

    @classmethod
    def over(
        cls,
        settings: Settings,
        store: Store,
        rule: Rule,
        *,
        clock: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Self:
        """A backend over this store and rule, with this clock."""
        armer = Armer(store, rule, lanes=settings.lanes, clock=clock, sleep=sleep)
        return cls(settings=settings, store=store, rule=rule, armer=armer, clock=clock, sleep=sleep)

    def at(self, now: datetime) -> Self:
        """The same backend as if it were `now`; time goes on from there."""
        offset = now - self.clock()
        return self.over(
            self.settings, self.store, self.rule, clock=lambda: self.clock() + offset, sleep=self.sleep
        )

    @classmethod
    def connect(
        cls,
        settings: Settings,
        session: boto3.Session | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Self:
        """A backend over DynamoDB and EventBridge, reached by the AWS SDK's own settings. Makes no call yet.

        Raises InvalidSettings when these are incomplete.
        """
        session = session or default_session()
        try:
            dynamodb = session.client("dynamodb", config=_DYNAMODB)
            events = session.client("events", config=_EVENTS)
        except NoRegionError as error:
            raise InvalidSettings(
                "AWS_REGION", "is not set: name the region that duebell is deployed in"
            ) from error
        except (BotoCoreError, ValueError) as error:
            raise InvalidSettings("AWS settings", str(error)) from error
        return cls.over(
            settings,
            DynamoTable(settings.table, dynamodb),
            Rule(settings.rule, events, clock=clock, sleep=sleep),
            clock=clock,
            sleep=sleep,
        )
