"""For tests of your code: a scheduler in memory, whose time passes when the test says so.

from duebell.testing import Rehearsal
rehearsal = Rehearsal(worker)
rehearsal.editor.add("remind", due=timedelta(days=2))
rehearsal.let_time_pass(timedelta(days=3))
"""

from duebell_infra.testing import FrozenClock, InlinePool, MemoryStore, Rehearsal

__all__ = ["FrozenClock", "InlinePool", "MemoryStore", "Rehearsal"]
