"""A process of the simulated AWS: the backend that it has, and the context that Lambda gives it."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

from duebell_shared.backend import Backend
from duebell_shared.bell.armer import Function
from duebell_shared.bell.bell import Bell, BellKind, RingSchedule, Rule
from duebell_shared.parallel import Parallel
from duebell_shared.settings import Settings

from .aws import Aws
from .clients import EventsClient, LambdaClient, SchedulerClient
from .store import StoreOverNetwork
from .world import Process

__all__ = ["backend_of", "context_of"]


def backend_of(process: Process, aws: Aws, settings: Settings) -> Backend:
    """The backend of this process: every call goes over the simulated network."""
    name = settings.function
    return Backend(
        settings,
        StoreOverNetwork(aws, process),
        _bell_of(process, aws, settings),
        clock=process.clock,
        sleep=process.sleep,
        parallel=Parallel(1),
        function=Function(name, lambda: cast("Any", LambdaClient(aws, process))) if name else None,
    )


def _bell_of(process: Process, aws: Aws, settings: Settings) -> Bell:
    is_rule = settings.bell is BellKind.RULE
    kind = Rule if is_rule else RingSchedule
    client: Any = EventsClient(aws, process) if is_rule else SchedulerClient(aws, process)
    return kind("duebell", client, clock=process.clock, sleep=process.sleep)


def context_of(process: Process, request: str, *, limit: float) -> Any:
    """Lambda's context of an invocation that begins now, and may take so many seconds."""
    world = process.world
    ends_at = world.now + timedelta(seconds=limit)

    def milliseconds_left() -> int:
        return max(int((ends_at - world.now).total_seconds() * 1000), 0)

    return SimpleNamespace(get_remaining_time_in_millis=milliseconds_left, aws_request_id=request)
