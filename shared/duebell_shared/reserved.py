"""Names of actions that duebell keeps for itself."""

__all__ = ["RESERVED", "VERIFY", "is_reserved"]

#: How their names start.
RESERVED = "duebell."

#: Does nothing but succeed: `duebell verify` adds tasks for it. Every worker has it.
VERIFY = f"{RESERVED}verify"


def is_reserved(action: str) -> bool:
    """Whether a user's action cannot be called so."""
    return action.startswith(RESERVED)
