"""The simulated network with nothing that goes wrong on it, for tests outside of a history."""

from duebell_shared.queue.store import Store
from duebell_shared.settings import Settings
from tests.simulation.aws import Aws
from tests.simulation.weather import Faults
from tests.simulation.world import Process, World

from .clients import backend_over
from .network import Network


def calm_network(*, page: int = 3) -> tuple[Network, Process]:
    world = World(1)
    network = Network(Aws(world, Faults(), lambda *_: None), Settings(), page=page)
    return network, _Timeless(world, "test")


def store_on_the_wire() -> Store:
    network, process = calm_network()
    return backend_over(network, process, Settings()).store


class _Timeless(Process):
    """A process outside of the world's time."""

    def sleep(self, seconds: float) -> None:
        """Goes on at once."""
