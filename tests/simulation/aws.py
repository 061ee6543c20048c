"""AWS as it is, in the simulated world: slow, failing, at least once, and never quite on the second."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from botocore.exceptions import ReadTimeoutError

from duebell_infra.testing import MemoryStore
from duebell_shared.bell.bell import BellKind
from duebell_shared.bell.expression import FAR_SENTINEL, SENTINEL
from duebell_shared.schedules.cron import parse_aws

from .weather import SERVICES, Faults, Outage
from .world import Process, World

_T = TypeVar("_T")

#: Seconds until a call takes effect that was answered with a failure of the server, at most.
_LATER = 5.0

#: Seconds until a late setting of a bell takes effect.
_LATE = (20.0, 300.0)


class Aws:
    """The table, the bells, and what rings; one for all processes of a world.

    bell     the bell that is to be armed in the end; the other rings only if a process sets it
    removed  bells that are gone: they ring no more, and cannot be set
    """

    def __init__(
        self,
        world: World,
        faults: Faults,
        invoke: Callable[[object, str], None],
        outage: Outage | None = None,
    ) -> None:
        """`invoke` is called when the worker is to be invoked, with the event and the request id."""
        self.world = world
        self.faults = faults
        self.store = MemoryStore()
        self.bell = BellKind.RULE
        self.expressions = {BellKind.RULE: SENTINEL, BellKind.SCHEDULE: FAR_SENTINEL}
        self.removed: set[BellKind] = set()
        self.crashes = self.late_settings = 0
        self.trace: list[str] = []
        self.called_at: list[datetime] = []  # when the worker was invoked directly
        self.quiet_from = world.now + timedelta(seconds=faults.seconds)
        self.outage = outage or self._draw_outage()
        self.lane_outage = Outage()
        # When each setting of a bell takes effect
        self._settings: dict[BellKind, list[datetime]] = {kind: [] for kind in BellKind}
        self._invoke = invoke
        self._requests = 0

    @property
    def expression(self) -> str:
        """The expression of the bell that is to be armed in the end."""
        return self.expressions[self.bell]

    def _draw_outage(self) -> Outage:
        random = self.world.random
        if random.random() >= self.faults.outage:
            return Outage()
        begins = self.world.now + timedelta(seconds=random.uniform(0, 900))
        out = random.choice([*((service,) for service in SERVICES), SERVICES])
        return Outage(of=out, begins=begins, ends=begins + timedelta(seconds=random.uniform(60, 3600)))

    def draw_lane_outage(self, lanes: int) -> None:
        begins = self.world.now + timedelta(seconds=self.world.random.uniform(0, 900))
        lane = self.world.random.randrange(lanes)
        self.lane_outage = Outage(of=(lane,), begins=begins, ends=begins + timedelta(hours=1))

    def calm_from(self, lane: int | None = None) -> datetime:
        """When nothing goes wrong any more, with this lane or any but the one that is out."""
        calm_from = max(self.quiet_from, self.outage.ends) if self.outage.of else self.quiet_from
        return max(calm_from, self.lane_outage.ends) if lane in self.lane_outage.of else calm_from

    def call(
        self,
        process: Process,
        what: str,
        effect: Callable[[], _T],
        *,
        time_out: float,
        refusal: Exception,
        service: str = "dynamodb",
        failure: Exception | None = None,
        lane: int | None = None,
    ) -> _T:
        """One call over the network, for one lane or not, with whatever happens on the way.

        Raises TimeoutError, `refusal` where there was no effect, and `failure` where there may be.
        """
        random = self.world.random
        process.wake()
        fault = self.draw()
        self.trace.append(f"{self.world.now:%H:%M:%S.%f} {process.name}: {what} {fault}")
        if self.outage.hits(service, self.world.now) or self.lane_outage.hits(lane, self.world.now):
            process.sleep(random.choice([0.01, time_out]))
            raise failure or TimeoutError
        process.sleep(random.uniform(0.001, 0.01) if fault != "slow" else random.uniform(0.5, 4.0))
        if fault == "crash" and random.random() < 0.5:
            process.crash()
        if fault == "time_out" and random.random() < 0.5:
            process.sleep(time_out)
            raise TimeoutError
        if fault == "refuse":
            raise refusal
        if fault == "fail":
            self._have_effect_or_not(effect)
            raise failure or TimeoutError
        result = effect()
        if fault == "crash":
            process.crash()
        if fault == "time_out":
            process.sleep(time_out)
            raise TimeoutError
        if fault == "pause":
            process.pause(random.uniform(1, 400))
        process.sleep(random.uniform(0.001, 0.01))
        return result

    def _have_effect_or_not(self, effect: Callable[[], object]) -> None:
        match self.world.random.choice(["none", "now", "later"]):
            case "now":
                effect()
            case "later":
                self.world.after(self.world.random.uniform(0, _LATER), effect)
            case _:
                pass

    def refuses(self, lane: int | None = None) -> bool:
        if self.lane_outage.hits(lane, self.world.now):
            return True
        return self.world.now < self.quiet_from and self.world.random.random() < self.faults.refuse

    def put_rule(self, expression: str, kind: BellKind = BellKind.RULE) -> None:
        """The bell set anew; it takes effect some time later, and a minute over by then never rings."""
        self.expressions[kind] = expression
        lag = self.world.random.uniform(0, 30)
        if self._happens(self.faults.lose):
            lag += self.world.random.uniform(0, 150)
        settings = self._settings[kind]
        settings.append(self.world.now + timedelta(seconds=lag))
        if expression not in {SENTINEL, FAR_SENTINEL}:
            self._ring_next(kind, len(settings) - 1, minutes_of(expression, self.world.now))

    def may_set_late(self, process: Process, put: Callable[[], object]) -> None:
        """Raise what a caller sees whose setting of a bell takes effect minutes later, if this one does."""
        if self.faults.late_setting and self._happens(self.faults.late_setting):
            self.late_settings += 1
            self.world.after(self.world.random.uniform(*_LATE), put)
            process.sleep(4)
            raise ReadTimeoutError(endpoint_url="simulated")

    def _ring_next(self, kind: BellKind, setting: int, minutes: Iterator[datetime]) -> None:
        """Have the bell ring in the next of these minutes that is not over when the setting takes effect."""
        for minute in minutes:
            rings_at = minute + timedelta(seconds=self.world.random.uniform(0, 59))
            if rings_at >= max(self._settings[kind][setting], self.world.now):
                self.world.at(rings_at, partial(self._ring, kind, setting, minutes))
                return

    def _ring(self, kind: BellKind, setting: int, minutes: Iterator[datetime]) -> None:
        """Ring, unless a later setting has taken effect, or the bell is gone."""
        later = self._settings[kind][setting + 1 :]
        if kind in self.removed or any(in_effect <= self.world.now for in_effect in later):
            return
        if self._happens(self.faults.lose) or self.outage.hits("events", self.world.now):
            self.trace.append(f"{self.world.now:%H:%M:%S.%f} the ring is lost")
        else:
            self._deliver(None)
        self._ring_next(kind, setting, minutes)

    def _happens(self, likelihood: float) -> bool:
        return self.world.now < self.quiet_from and self.world.random.random() < likelihood

    def invoke(self, event: object) -> None:
        self.called_at.append(self.world.now)
        self._deliver(event)

    def _deliver(self, event: object) -> None:
        """An asynchronous invocation: it comes once, and sometimes twice.

        Where Lambda delivers one invocation twice, both have its request id; where EventBridge rings twice,
        there are two invocations.
        """
        request = self._new_request()
        self._invoke(event, request)
        if self.world.random.random() < self.faults.duplicate:
            again = self.world.random.choice([request, self._new_request()])
            self.world.after(self.world.random.uniform(0, 30), lambda: self._invoke(event, again))

    def _new_request(self) -> str:
        self._requests += 1
        return f"request-{self._requests}"

    def draw(self) -> str:
        """Returns the fault of a call; "" for none, which is usual."""
        if self.world.now >= self.quiet_from:
            return ""
        chance = self.world.random.random()
        for fault in ("crash", "time_out", "refuse", "fail", "slow", "pause"):
            chance -= getattr(self.faults, fault)
            if chance < 0:
                self.crashes += fault == "crash"
                return fault
        return ""


def minutes_of(expression: str, after: datetime) -> Iterator[datetime]:
    """The minutes of this day and the next in which the expression rings, after this moment."""
    cron = parse_aws(expression.removeprefix("cron(").removesuffix(")"))
    midnight = after.replace(hour=0, minute=0, second=0, microsecond=0)
    for day in (midnight, midnight + timedelta(days=1)):
        if day.day in cron.days_of(day.year, day.month):
            minutes = (day + timedelta(minutes=minute) for minute in cron.minutes)
            yield from (minute for minute in minutes if minute + timedelta(minutes=1) > after)
