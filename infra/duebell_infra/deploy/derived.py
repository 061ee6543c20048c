"""Parameters of the template that follow from others: the version for SnapStart, the visibility timeout.

With SnapStart the worker is a published version, and Lambda starts it from a snapshot.
https://docs.aws.amazon.com/lambda/latest/dg/snapstart.html
"""

import hashlib
from collections.abc import Mapping

import msgspec

from duebell_infra.errors import InvalidDeployment

__all__ = [
    "INTAKE_VISIBILITY", "VERSION_KEY", "function_called", "intake_visibility", "version_parameter",
]  # fmt: skip

#: The template's parameters.
SNAP_START, VERSION_KEY, INTAKE_VISIBILITY = "SnapStart", "VersionKey", "IntakeVisibility"

#: Seconds of the longest run, as the template has them.
_TIMEOUT = 300

#: The alias in the templates. It leads to the newest version.
_ALIAS = "live"

#: The Python that Lambda takes no snapshots of; all newer ones will do.
_TOO_OLD = "python3.11"


def function_called(name: str, parameters: Mapping[str, object]) -> str:
    """The name by which rule, editors and runs call the worker of this scheduler: DUEBELL_FUNCTION."""
    return f"{name}:{_ALIAS}" if parameters.get(SNAP_START) == "yes" else name


def intake_visibility(parameters: Mapping[str, object]) -> dict[str, str]:
    """The parameter with the seconds after which a message comes again if its run died.

    AWS advises six times the function's timeout, and the batch window, which is a second.
    https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
    """
    timeout = str(parameters.get("Timeout", _TIMEOUT))
    return {INTAKE_VISIBILITY: str(6 * int(timeout) + 1)} if timeout.isdecimal() else {}


def version_parameter(parameters: Mapping[str, object], template: str) -> dict[str, str]:
    """The parameter that has another version published when anything is deployed otherwise than before.

    It may name another version where the worker is the same: what each parameter is for, the template knows.
    Raises InvalidDeployment for a Python that Lambda takes no snapshots of.
    """
    if parameters.get(SNAP_START) != "yes":
        return {VERSION_KEY: ""}
    if parameters.get("Runtime") == _TOO_OLD:
        raise InvalidDeployment(
            SNAP_START, "needs Python 3.12 or newer, and the worker is for 3.11: give --python 3.13"
        )
    others = {name: value for name, value in parameters.items() if name != VERSION_KEY}
    content = msgspec.json.encode([template, others], order="sorted")
    return {VERSION_KEY: hashlib.sha256(content).hexdigest()[:32]}
