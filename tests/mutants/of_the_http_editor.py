"""Mutants of who changed a task, and of what bounds the visitors of the HTTP editor."""

from .mutant import Killer, Mutant

__all__ = ["OF_THE_HTTP_EDITOR"]

_EDITOR = "editor/duebell_editor/library/editor.py"
_HTTP = "editor/duebell_editor/http"

OF_THE_HTTP_EDITOR = (
    Mutant(
        name="a change leaves the name of who changed the task before",
        file=_EDITOR,
        line="changed = msgspec.structs.replace(wanted, changed_by=self.changed_by)",
        broken="changed = wanted",
        why="the task says that somebody did what somebody else did",
        killers=(Killer.CHANGED_BY,),
    ),
    Mutant(
        name="a place is not given back",
        file=f"{_HTTP}/limits.py",
        line="places.taken -= 1",
        broken="pass",
        why="after so many requests the server answers none",
        killers=(Killer.REQUEST_LIMITS,),
    ),
    Mutant(
        name="a deadline is set anew with each byte",
        file=f"{_HTTP}/deadlines.py",
        line="if part == self._part:",
        broken="if part is None and self._part is None:",
        why="a client that sends a byte a minute keeps its connection for ever",
        killers=(Killer.DEADLINES,),
    ),
    Mutant(
        name="an answer that is not read is waited for",
        file=f"{_HTTP}/deadlines.py",
        line="self._reading = self.loop.call_later(_READING_SECONDS, self.transport.abort)",
        broken="pass",
        why="a client that does not read keeps its connection, and its place, for ever",
        killers=(Killer.DEADLINES,),
    ),
    Mutant(
        name="a body is waited for",
        file=f"{_HTTP}/limits.py",
        line="return nullcontext() if self._is_whole else asyncio.timeout_at(self._until)",
        broken="return nullcontext()",
        why="a body that does not come keeps a place among the requests at work, in a server of one's own",
        killers=(Killer.DEADLINES,),
    ),
    Mutant(
        name="a read-only server lets everything through",
        file=f"{_HTTP}/paths.py",
        line='return method in {"GET", "HEAD", "OPTIONS"} or',
        broken="return bool(method) or",
        why="whoever was to look can change the queue",
        killers=(Killer.READ_ONLY,),
    ),
    Mutant(
        name="each stream reads for itself",
        file=f"{_HTTP}/shared_readings.py",
        line="return not task.cancelled() and age < max_age",
        broken="return False",
        why="a hundred open pages cost a hundred readers of the queue",
        killers=(Killer.STREAMS,),
    ),
)
