"""Whole numbers and text in few bytes: a number takes a byte for each seven bits, small ones take one byte.

The form is that of Protocol Buffers: the lowest bits come first, and a byte's highest bit says that more
follow. Signed numbers are folded (0, -1, 1, -2, …), so that small ones are short whichever their sign.
https://protobuf.dev/programming-guides/encoding/#varints
"""

__all__ = ["Reader", "Writer"]

_MORE, _BITS = 0x80, 7

#: No number of a task is larger.
_MOST_BYTES = 10


class Writer:
    """Collects what is written."""

    def __init__(self) -> None:
        self.data = bytearray()

    def number(self, number: int) -> None:
        """Write a number that is not negative."""
        while number >= _MORE:
            self.data.append(number & (_MORE - 1) | _MORE)
            number >>= _BITS
        self.data.append(number)

    def signed(self, number: int) -> None:
        """Write a number of either sign."""
        self.number(number * 2 if number >= 0 else -2 * number - 1)

    def text(self, text: bytes) -> None:
        """Write text in UTF-8, with its length before it."""
        self.number(len(text))
        self.data += text


class Reader:
    """Reads what was written, in the same order. Raises ValueError for what no Writer has written."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def __bool__(self) -> bool:
        """Whether more is to be read."""
        return self._place < len(self._data)

    def number(self) -> int:
        number = 0
        for place in range(_MOST_BYTES):
            [byte] = self._take(1)
            number |= (byte & (_MORE - 1)) << place * _BITS
            if byte < _MORE:
                return number
        raise ValueError("a number is too long")

    def signed(self) -> int:
        number = self.number()
        return -(number + 1) // 2 if number % 2 else number // 2

    def text(self) -> str:
        return self._take(self.number()).decode()

    def _take(self, count: int) -> bytes:
        taken = self._data[self._place : self._place + count]
        if len(taken) < count:
            raise ValueError("it ends too early")
        self._place += count
        return taken
