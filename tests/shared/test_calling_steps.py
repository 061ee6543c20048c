"""Who calls a run directly: of all who want one at the same moment, one, and nobody once a run has come."""

from datetime import timedelta

from duebell_shared.bell.armer import Armer
from tests.shared.shared_store import SharedStore
from tests.support import NOON, Clock


def test_who_calls_notes_it_and_nobody_else_calls(armer: Armer, store: SharedStore) -> None:
    armer.lower({0: NOON})
    assert armer.call()
    assert store.record
    assert store.record.called_at == NOON
    assert not armer.call()


def test_of_two_who_want_a_run_at_the_same_moment_one_calls_it(armer: Armer, store: SharedStore) -> None:
    # Given a record that says that a run is needed
    armer.lower({0: NOON})
    # When another notes that it calls one just before
    store.getting_in_first.append(lambda: store.now_holds(armer.read().called(NOON)))
    # Then this one does not
    assert not armer.call()


def test_who_finds_that_a_run_has_come_meanwhile_calls_nobody(
    armer: Armer, store: SharedStore, clock: Clock
) -> None:
    armer.lower({0: NOON})
    record = store.now_holds(armer.read().claimed("run", now=NOON, until=NOON + timedelta(minutes=2)))
    assert not armer.call()
    assert store.record == record
