"""The report of adding many tasks: `Editor.add_many` returns it, and NotArmed carries it."""

from collections.abc import Iterable
from typing import Self

import msgspec

from duebell_shared.errors import DuebellError

__all__ = ["AddFailure", "AddReport"]


class AddFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One task of many that was not added: its place in the input, its id, and why."""

    index: int
    id: str
    error: DuebellError


class AddReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of adding many tasks.

    added          the ids of the tasks that are stored, in the order given
    there_already  those of them whose ids were taken: kept as they were, or replaced
    failures       the tasks that are not stored, and why
    """

    added: tuple[str, ...]
    failures: tuple[AddFailure, ...] = ()
    there_already: tuple[str, ...] = ()

    def corrected(self, failures: Iterable[AddFailure]) -> Self:
        """The report, with these tasks among those that are not stored."""
        every = sorted((*self.failures, *failures), key=lambda failure: failure.index)
        failed = {failure.id for failure in every}
        return msgspec.structs.replace(
            self,
            added=tuple(id for id in self.added if id not in failed),
            there_already=tuple(id for id in self.there_already if id not in failed),
            failures=tuple(every),
        )
