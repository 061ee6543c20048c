"""How much goes wrong in a simulated history: nothing but what users do, or far more than AWS ever does."""

from .services import Faults

__all__ = ["CALM", "ROUGH"]

CALM = Faults()

#: Six calls in a hundred fail, one invocation in ten is dropped once, clocks are seconds apart.
ROUGH = Faults(
    crash=0.01,
    time_out=0.01,
    refuse=0.02,
    slow=0.02,
    pause=0.003,
    skew=2.0,
    duplicate=0.1,
    drop=0.1,
)
