"""What can go wrong between a folder of actions and a stack that runs them.

DuebellError
└── InfraError
    ├── BundleFailed          the Lambda bundle could not be built
    ├── DeployFailed          the stack could not be created, updated or deleted
    └── EmbeddedStackFailed   the stack on this machine could not be started or stopped
"""

from duebell_shared.errors import DuebellError

__all__ = ["BundleFailed", "DeployFailed", "EmbeddedStackFailed", "InfraError"]


class InfraError(DuebellError):
    """Building, deploying or running the stack failed."""


class BundleFailed(InfraError):
    """The Lambda bundle could not be built from what was given."""


class DeployFailed(InfraError):
    """The stack could not be created, updated or deleted; the message gives AWS's own reasons."""


class EmbeddedStackFailed(InfraError):
    """The stack on this machine could not be started or stopped."""
