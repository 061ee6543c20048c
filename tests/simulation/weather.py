"""The troubles of a simulated world: faults of single calls, and services or a lane that are out."""

from datetime import datetime

import msgspec
from msgspec.structs import replace

from duebell_shared.instants import NEVER


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """The likelihood of each fault at one call, and the length of time in which faults happen."""

    crash: float = 0.0
    time_out: float = 0.0
    refuse: float = 0.0  # throttling, ConcurrentModificationException
    fail: float = 0.0  # a status of 500 or above: without effect, with it, or with it some seconds later
    slow: float = 0.0
    pause: float = 0.0
    skew: float = 0.0  # seconds that a clock may be off, either way
    duplicate: float = 0.0  # of a ring
    drop: float = 0.0  # of an invocation's first try
    lose: float = 0.0  # a ring that comes to nothing; as likely, a change of the rule takes minutes
    late_setting: float = 0.0  # of a setting of the bell: not answered, and it takes effect minutes later
    outage: float = 0.0  # of a history: a service is out, for an hour at most
    lane_outage: float = 0.0  # of a history: everything for one lane is refused or unanswered for an hour
    seconds: float = 900.0

    @property
    def any(self) -> bool:
        """True if there are faults other than a lane that is out."""
        return self != Faults(seconds=self.seconds, lane_outage=self.lane_outage)


#: The services that can be out.
SERVICES = ("dynamodb", "events", "lambda")


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """Services or a lane for which no call is answered from the one moment to the other."""

    of: tuple[str | int, ...] = ()
    begins: datetime = NEVER
    ends: datetime = NEVER

    def hits(self, one: str | int | None, now: datetime) -> bool:
        return one in self.of and self.begins <= now < self.ends


CALM = Faults()

#: Processes die at any call, and calls fail; but clocks agree, and no process stands still past its lease.
CRASHES = Faults(crash=0.02, refuse=0.02, fail=0.01, duplicate=0.1, drop=0.1)

#: Seven calls in a hundred fail, one invocation in ten is dropped once, one ring in thirty is lost, clocks
#: are a minute apart, and in one history of four a service is out for up to an hour.
ROUGH = Faults(
    crash=0.01,
    time_out=0.01,
    refuse=0.02,
    fail=0.01,
    slow=0.02,
    pause=0.003,
    skew=30.0,
    duplicate=0.1,
    drop=0.1,
    lose=0.03,
    outage=0.25,
)

#: All of that, and one of eight lanes is out for an hour: no call for it is answered, whatever it is.
ONE_LANE_OUT = replace(ROUGH, lane_outage=1.0)
