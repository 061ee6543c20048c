"""duebell in the simulated account: its editor, worker and arming protocol, over a queue in memory."""

from collections.abc import Callable
from typing import Any, cast

from tests.simulation.processes import context_of
from tests.simulation.world import SimulatedPool

from alternatives.design import Platform
from alternatives.duebell_queue import DuebellQueue
from duebell import Editor, Worker
from duebell_infra.testing import MemoryStore
from duebell_shared.backend import Backend
from duebell_shared.bell.armer import Function
from duebell_shared.bell.bell import Rule
from duebell_shared.bell.expression import SENTINEL
from duebell_shared.parallel import Parallel
from duebell_shared.settings import Precision, Settings

from .machine import Machine

__all__ = ["SimulatedDuebell", "SimulatedDuebellToTheSecond"]

_FUNCTION = "duebell-worker"

#: Seconds that the worker's Lambda may run, as the template has it.
_LIMIT = 300.0


class SimulatedDuebell(DuebellQueue):
    """CloudFormation and Terraform leave the rule's expression as it is; a deployment arms it besides."""

    precision = Precision.MINUTE

    def __init__(self, platform: Platform) -> None:
        super().__init__(platform)
        self._machine = cast("Machine", platform)
        services = self._machine.account.services
        self._store: MemoryStore = services.setdefault(f"{self.name}-table", MemoryStore())

    def deploy(self) -> None:
        arn = self.platform.function(_FUNCTION, self._work)
        events = self.platform.client("events")
        if not events.list_rules(NamePrefix="duebell")["Rules"]:
            events.put_rule(Name="duebell", ScheduleExpression=SENTINEL)
            events.put_targets(Rule="duebell", Targets=[{"Id": "worker", "Arn": arn}])
        self.editor.ensure_armed()

    def destroy(self) -> None:
        events = self.platform.client("events")
        events.remove_targets(Rule="duebell", Ids=["worker"])
        events.delete_rule(Name="duebell")
        self._machine.account.services.pop(f"{self.name}-table")

    @property
    def editor(self) -> Editor:
        return Editor(backend=self._backend(self._machine))

    def _backend(self, machine: Machine) -> Backend:
        process = machine.process
        return Backend(
            Settings(function=_FUNCTION, precision=self.precision),
            cast("Any", _StoreOverNetwork(self._store, machine)),
            Rule("duebell", machine.client("events"), clock=process.clock, sleep=process.sleep),
            clock=process.clock,
            sleep=process.sleep,
            parallel=Parallel(1),
            function=Function(_FUNCTION, lambda: machine.client("lambda")),
        )

    def _work(self, event: Any, platform: Platform) -> None:
        machine = cast("Machine", platform)
        backend = self._backend(machine)
        worker = Worker(backend=backend, pool=lambda _: SimulatedPool(machine.process))
        worker.action("act")(lambda payload: machine.act(payload["id"], payload["payload"]))
        worker.handler(event, context_of(machine.process, machine.request, limit=_LIMIT))


class SimulatedDuebellToTheSecond(SimulatedDuebell):
    """With precision `second`: the rule rings ahead, and the run waits for the due date."""

    name = "duebell-second"
    title = "duebell, to the second"
    precision = Precision.SECOND


class _StoreOverNetwork:
    """The store as one process has it: each verb is one call, in which others go on."""

    def __init__(self, store: MemoryStore, machine: Machine) -> None:
        self._store = store
        self._machine = machine

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        effect = getattr(self._store, verb)
        account, process = self._machine.account, self._machine.process

        def call(*arguments: Any, **named: Any) -> Any:
            process.wake()
            account.calls[verb] += 1
            process.sleep(account.manners.call(account.random) / 2)
            answer = effect(*arguments, **named)
            if not isinstance(answer, list | tuple | dict) and hasattr(answer, "__next__"):
                answer = iter(list(answer))
            process.sleep(account.manners.call(account.random) / 2)
            return answer

        return call
