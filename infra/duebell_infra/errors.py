"""Errors of building a bundle, deploying it, and running the embedded stack.

DuebellError
└── InfraError
    ├── InvalidDeployment     a name, a version or a parameter cannot be right (an InvalidInput, too)
    ├── BundleFailed          the Lambda bundle could not be built
    ├── DeployFailed          the stack could not be created, updated or deleted
    │   └── WorkerFailed      the stack is there, and the worker in it cannot start
    └── EmbeddedStackFailed   the stack on this machine could not be started or stopped
        └── AlreadyRunning    the stack of this folder runs already
"""

from duebell_shared.errors import DuebellError, InvalidInput


class InfraError(DuebellError):
    """Building, deploying or running the stack failed."""


class InvalidDeployment(InfraError, InvalidInput):
    """A field of a deployment is wrong. Nothing was built or changed. See InvalidInput."""


class BundleFailed(InfraError):
    """The Lambda bundle could not be built from what was given."""


class DeployFailed(InfraError):
    """The stack could not be created, updated or deleted; the message gives AWS's own reasons."""


class WorkerFailed(DeployFailed):
    """The stack was deployed, and its worker does not start; the message has the worker's own error."""


class EmbeddedStackFailed(InfraError):
    """The stack on this machine could not be started or stopped."""


class AlreadyRunning(EmbeddedStackFailed):
    """The stack of this folder runs already; the message says where, how to reach it and how to stop it."""
