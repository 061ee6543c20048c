"""The change of a live queue from one bell to the other, by deployments, without losing a ring.

1. The deployment with another Bell makes the new bell, and keeps the old one beside it (OtherBell).
2. The worker sets the new bell from then on. Then the deployment itself arms the queue by it. The old bell
   stays set and rings, at worst for nothing. So no ring is missing while the new bell takes effect.
3. Editors that still set the old bell lose no ring: it wakes the same worker. They are given DUEBELL_BELL one
   after the other.
4. A later deployment, with OtherBell=no, arms the queue by the bell that stays, and then removes the other.

The arming record is the same throughout. It knows the minute, and not which bell was set to it: both rang or
will ring by the same expression.
"""

from collections.abc import Mapping

from duebell_infra.errors import InvalidDeployment
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind
from duebell_shared.errors import NotArmed

_BELL, _OTHER = "Bell", "OtherBell"

#: The most tries. Others may set the bell between two reads, but not so often in a row.
_TRIES = 10


def keep_other_bell(
    before: Mapping[str, str], given: Mapping[str, str], asked: Mapping[str, str]
) -> dict[str, str]:
    """The parameter that keeps the bell that rang before; empty if the bell does not change.

    Raises InvalidDeployment if the parameters ask to remove the old bell at once.
    """
    if not before or _kind(before) is _kind(given):
        return {}
    if asked.get(_OTHER) == "no":
        raise InvalidDeployment(
            _OTHER,
            f"cannot be no while {_BELL} changes: the {_kind(before)} rings until the {_kind(given)} is set. "
            f"Deploy without it first, and with it once all editors have DUEBELL_BELL={_kind(given)}",
        )
    return {_OTHER: "yes"}


def arm_before_removal(backend: Backend, before: Mapping[str, str], given: Mapping[str, str]) -> None:
    """Arm the queue by the bell that stays, if the other one is to be removed. Raises as `arm_this_bell`."""
    if before.get(_OTHER, "no") == "yes" and given.get(_OTHER, "no") == "no":
        arm_this_bell(backend)


def arm_this_bell(backend: Backend) -> None:
    """Arm the queue by this backend's bell, whichever bell it was armed by.

    Problem: an editor may have just set the other bell and confirmed this in the record, so all seems well.
    Solution: this bell is read, and set if it is not where the record says. Raises NotArmed, AwsError,
    NotDeployed.
    """
    for _ in range(_TRIES):
        record = backend.armer.verify()
        if backend.rule.read().is_at(record.set_to):
            return
    raise NotArmed(f"the {backend.rule.kind} was set by others each time it was read: deploy again")


def next_step(parameters: Mapping[str, str]) -> str | None:
    """A line with the next step; None if there is only one bell."""
    if parameters.get(_OTHER, "no") == "no":
        return None
    kind = _kind(parameters)
    [other] = set(BellKind) - {kind}
    return (
        f"bell: the {kind} wakes the worker; the {other} stays for editors that set it. When all have "
        f"DUEBELL_BELL={kind}, remove it with --parameter {_OTHER}=no"
    )


def _kind(parameters: Mapping[str, str]) -> BellKind:
    return BellKind(parameters.get(_BELL, BellKind.RULE))
