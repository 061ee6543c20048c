"""Cases of the protocol's own model."""

from .world import Case, Edit

_ALL = frozenset({"crash", "stall", "refuse", "timeout", "hurry"})
_CRASH_OR_STALL = frozenset({"crash", "stall"})

_ADDS = (Edit(0, due=1), Edit(1, due=2))

_MOVE = (Edit(0, due=1), Edit(1, due=1))
_MOVES = (Edit(0, due=1), Edit(0, due=2))

#: A watchdog may ring at the third due date; the second one is later.
_WATCHDOGS_DATE = (Edit(0, due=1), Edit(1, due=5), Edit(2, due=3))

_LATE = frozenset({"late"})
_TIMEOUT = frozenset({"timeout"})

_SHARE = frozenset({"share", "crash"})
_CALL = frozenset({"call", "crash"})

_LOST = frozenset({"lose", "crash", "outage"})
_RETRY = frozenset({"retry", "crash", "hurry"})

CASES = (
    Case("two lanes, an add in each, three crashes", (0, 1), _ADDS, 3),
    Case("two lanes, an add in each, two crashes or stalls", (0, 1), _ADDS, 2, _CRASH_OR_STALL),
    Case("two lanes, an add in each, a fault of any kind", (0, 1), _ADDS, 1, _ALL),
    Case("one lane, two adds, two crashes or stalls", (0, 0), _ADDS, 2, _CRASH_OR_STALL),
    Case("two lanes, a move and an add, two crashes or stalls", (0, 1), _MOVE, 2, _CRASH_OR_STALL, {0: 2}),
    Case("two lanes, a move and an add, a fault of any kind", (0, 1), _MOVE, 1, _ALL, {0: 2}),
    Case("two lanes, two moves of one task", (0, 1), _MOVES, 2, _CRASH_OR_STALL, {0: 5, 1: 2}),
    Case("two lanes, three adds, a crash", (0, 1, 1), (*_ADDS, Edit(2, due=1)), 1),
    Case("one lane, an add at a watchdog's date, a crash", (0, 0, 0), _WATCHDOGS_DATE, 1),
    Case("two lanes, an add at a watchdog's date, a crash", (0, 1, 1), _WATCHDOGS_DATE, 1),
    Case("one lane, two adds, a PutRule long after its hold", (0, 0), _ADDS, 1, _LATE),
    Case("one lane, a move and an add, a PutRule long after its hold", (0, 0), _MOVE, 1, _LATE, {0: 5}),
    Case("one lane, two adds, a PutRule unanswered", (0, 0), (Edit(0, due=5), Edit(1, due=1)), 1, _TIMEOUT),
    Case("two lanes, an add in each, shared, a crash", (0, 1), _ADDS, 2, _SHARE),
    Case("two lanes, one task there, an add, shared", (0, 1), (Edit(0, due=2),), 2, _SHARE, {1: 1}),
    Case("two lanes, an add in each, a run called, a crash", (0, 1), _ADDS, 2, _CALL),
    Case("one lane, two adds, two rings lost or runs gone", (0, 0), _ADDS, 2, _LOST),
    Case("one task there, two rings lost or runs gone", (0,), (), 2, _LOST, {0: 1}, end=3),
    Case("two lanes, an add in each, a ring lost or a run gone", (0, 1), _ADDS, 1, _LOST),
    Case("two lanes, an add in each, an action that fails, a crash", (0, 1), _ADDS, 2, _RETRY),
    Case("one lane, two adds, an action that fails, a crash", (0, 0), _ADDS, 2, _RETRY),
    Case("one task there, moved later while it runs, two crashes", (0,), (Edit(0, due=3),), 2, there={0: 1}),
    Case("one task there, an echo as the watchdog, two crashes", (0,), (), 2, there={0: 1}, end=7),
    Case(
        "one task there, an add, an echo as the watchdog", (0, 1), (Edit(1, due=4),), 1, there={0: 1}, end=6
    ),
)
