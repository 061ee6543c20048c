"""The known name that was probably meant by one that is misspelt, for messages."""

from collections.abc import Collection

__all__ = ["did_you_mean", "nearest"]

#: No name longer than this is compared: the time for it grows with the square.
_LONGEST = 256


def nearest(name: object, names: Collection[str], *, likeness: float = 0.6) -> str | None:
    """The one of these names that is most like `name`; None if none is.

    likeness  how like it must be at least, from 0 to 1, which is the same
    """
    import difflib  # noqa: PLC0415 (for a message only)

    if not isinstance(name, str) or len(name) > _LONGEST:
        return None
    return next(iter(difflib.get_close_matches(name, names, n=1, cutoff=likeness)), None)


def did_you_mean(name: object, names: Collection[str]) -> str:
    """`: did you mean …?` with the nearest of these names, to be added to a message; empty if none is."""
    near = nearest(name, names)
    return f": did you mean {near}?" if near else ""
