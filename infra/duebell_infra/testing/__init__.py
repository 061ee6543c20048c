"""For tests of code that schedules: a scheduler in memory whose time passes when the test says so.

from duebell.testing import Rehearsal
rehearsal = Rehearsal(worker)
rehearsal.editor.add("remind", due=timedelta(days=2))
rehearsal.let_time_pass(timedelta(days=3))
"""

from .memory import MemoryStore
from .rehearsal import Bell, FrozenClock, InlinePool, Rehearsal

__all__ = ["Bell", "FrozenClock", "InlinePool", "MemoryStore", "Rehearsal"]
