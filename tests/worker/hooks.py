"""A hand in the worker's calls to AWS: refuse them, or do something just before or after."""

from collections.abc import Callable
from typing import Any, cast

from botocore.exceptions import ClientError, ConnectTimeoutError

from duebell_shared.backend import Backend


class Hooks:
    """Hooks on the calls of one backend's clients; `call` is service and operation, `dynamodb.Query`."""

    def __init__(self, backend: Backend) -> None:
        store, rule = cast("Any", backend.store), cast("Any", backend.rule)
        self._emitters = [store._client.meta.events, rule._client.meta.events]

    def before(self, call: str, hook: Callable[..., None]) -> None:
        """Have `hook(context=…, params=…)` called just before."""
        self._register(f"before-call.{call}", hook)

    def after(self, call: str, hook: Callable[..., None]) -> None:
        """Have `hook(context=…)` called just after."""
        self._register(f"after-call.{call}", hook)

    def refuse(
        self, call: str, code: str, *, when: Callable[[str], bool] = lambda _: True
    ) -> Callable[[], None]:
        """Have AWS refuse the call with this code, when its body is so; what is returned ends that."""

        def hook(model: Any, params: dict[str, Any], **_: Any) -> None:
            if when(params["body"].decode()):
                raise ClientError({"Error": {"Code": code, "Message": "as the test wants it"}}, model.name)

        self.before(call, hook)
        return lambda: self._unregister(f"before-call.{call}", hook)

    def leave_unanswered(self, call: str, times: int) -> None:
        """Have nobody answer the first so many calls."""
        left = iter(range(times))

        def hook(**_: Any) -> None:
            if next(left, None) is not None:
                raise ConnectTimeoutError(endpoint_url="https://aws.example")

        self.before(call, hook)

    def _register(self, event: str, hook: Callable[..., None]) -> None:
        for emitter in self._emitters:
            emitter.register(event, hook)

    def _unregister(self, event: str, hook: Callable[..., None]) -> None:
        for emitter in self._emitters:
            emitter.unregister(event, hook)
