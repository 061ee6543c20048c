"""The user's input in messages: quoted, cut short, and with the known name that it is most like."""

from collections.abc import Callable, Collection

#: The most characters of the input that a message repeats.
MOST_QUOTED = 80

#: An error's text up to this length is not cut: much of it is the library's own words, not the input.
_BRIEF = 100

#: Longer names, in characters, are not compared: the time grows with the square of the length.
_LONGEST_NAME = 256


def quoted(given: object) -> str:
    """`given` as Python writes it, cut after 80 characters: for messages."""
    if isinstance(given, str):
        return repr(given[:MOST_QUOTED]) + ("…" if len(given) > MOST_QUOTED else "")
    return _cut(_written(repr, given))


def shortened(given: object) -> str:
    """`given` as text without quotes, cut after 80 characters: for messages."""
    return _cut(_written(str, given))


def in_brief(error: object) -> str:
    """The text of another library's error, without its middle where it is long: it may repeat the input.

    Its beginning says what is wrong, and its end often at which place of the document.
    """
    text = _written(str, error)
    half = MOST_QUOTED // 2
    return text if len(text) <= _BRIEF else f"{text[:half]} … {text[-half:]}"


def as_argument(text: str) -> str:
    """The text as the last argument of a shell command: also one that begins as an option does."""
    from shlex import quote  # noqa: PLC0415 (for a message only)

    return f"{'-- ' if text.startswith('-') else ''}{quote(text)}"


def nearest(name: object, names: Collection[str], *, likeness: float = 0.6) -> str | None:
    """The one of these names that is most like `name`; None if none is.

    likeness  the least likeness, from 0 to 1; 1 is the same text
    """
    import difflib  # noqa: PLC0415 (for a message only)

    if not isinstance(name, str) or len(name) > _LONGEST_NAME:
        return None
    return next(iter(difflib.get_close_matches(name, names, n=1, cutoff=likeness)), None)


def did_you_mean(name: object, names: Collection[str]) -> str:
    """`: did you mean …?` with the nearest of these names, to be added to a message; empty if none is."""
    near = nearest(name, names)
    return f": did you mean {near}?" if near else ""


def _cut(text: str) -> str:
    return text if len(text) <= MOST_QUOTED else f"{text[:MOST_QUOTED]}…"


def _written(write: Callable[[object], str], given: object) -> str:
    try:
        return write(given)
    except Exception:  # noqa: BLE001 (an integer of more digits than Python writes, or a user's odd type)
        return f"<{type(given).__name__}>"
