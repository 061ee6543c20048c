"""Names of actions that duebell keeps for itself."""

__all__ = ["RESERVED", "VERIFY", "is_reserved"]

#: Their names start with this.
RESERVED = "duebell."

#: Does nothing but succeed: `duebell verify` adds tasks for it. Every worker has it.
VERIFY = f"{RESERVED}verify"


def is_reserved(action: str) -> bool:
    """Tell whether users' actions cannot have this name."""
    return action.startswith(RESERVED)
