"""How much goes wrong in a simulated history: nothing but what users do, or far more than AWS ever does."""

import msgspec

from .faults import Faults

__all__ = ["CALM", "ONE_LANE_OUT", "ROUGH"]

CALM = Faults()

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
ONE_LANE_OUT = msgspec.structs.replace(ROUGH, lane_outage=1.0)
