"""Lambda's tries of one invocation: the next one waits for the lease of one that died, and tells of it."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from duebell import Editor, Status, Worker
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.bell.armer import HOLD
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.bell.run_rules import LEASE
from duebell_worker.run.lease import Lease, request_of
from tests.support import NOON, Calls, Clock
from tests.worker.log_lines import Log
from tests.worker.other_runs import die, die_while_running
from tests.worker.scene import MINUTE
from tests.worker.starting import Context

REQUEST = str(uuid.UUID(int=15))


def sleeping(backend: Backend, sleep: Callable[[float], None], *, metrics: bool = False) -> Worker:
    """A worker that sleeps like this."""
    settings = msgspec.structs.replace(backend.settings, metrics=metrics)
    over = Backend(settings, backend.store, backend.rule, clock=backend.clock, sleep=sleep)
    return Worker(backend=over, pool=lambda _: InlinePool())


def test_the_next_try_of_a_run_that_died_waits_for_its_lease_to_end_and_goes_on(
    editor: Editor, worker: Worker, backend: Backend, clock: Clock, log: Log
) -> None:
    # Given a run that died with a task due
    worker.action("act")(lambda: None)
    editor.add("act", due=NOON, id="a")
    die(backend, f"{REQUEST}.first")
    # When Lambda tries it again after a minute
    clock.advance(MINUTE)
    answer = worker.handler(None, Context(clock, request=REQUEST))
    # Then it is done as soon as the lease has ended, by a run of the same request
    assert (answer["lanes"], answer["done"], clock.now) == (4, 1, NOON + LEASE)
    assert answer["run"] == editor.get("a").run
    assert request_of(answer["run"]) == REQUEST
    assert answer["run"] != f"{REQUEST}.first"
    # And the log tells of the crash, and of who follows
    [waits], [died] = log.lines("waits_for_lease"), log.lines("run_died")
    assert (waits["run"], waits["request"]) == (answer["run"], REQUEST)
    assert (died["run"], died["died"], died["request"]) == (answer["run"], f"{REQUEST}.first", REQUEST)
    assert waits["lease_ends"] == died["lease_ended"]
    assert "12:02:00" in died["lease_ended"]


@pytest.mark.parametrize(("only", "free"), [((0, 1, 2, 3), 0), ((0, 1), 2)], ids=["all", "half"])
def test_a_try_beside_one_that_lives_claims_only_the_lanes_that_are_free_when_it_has_waited(
    editor: Editor, backend: Backend, clock: Clock, log: Log, *, only: tuple[int, ...], free: int
) -> None:
    # Given one invocation that is delivered twice, and a run of it that renews its lease at half
    editor.add("act", due=NOON, id="a")
    lives = Lease.claim(backend.armer, f"{REQUEST}.lives", clock, only=only)
    lives.arm()
    held: list[set[str]] = []

    def sleep(seconds: float) -> None:
        held.append(backend.armer.read().owners(clock.now))
        clock.now = lives.renew_at
        lives.renew()
        clock.now = NOON + LEASE

    # When the other one comes, then it claims nothing while it waits, then what is free, and counts no death
    worker = sleeping(backend, sleep, metrics=True)
    answer = worker.handler(None, Context(clock, request=REQUEST))
    assert (held, answer["lanes"], clock.now) == ([{lives.owner}], free, NOON + LEASE)
    assert backend.armer.read().lanes_of(lives.owner) == only
    if not free:
        assert (answer["rings_at"], editor.get("a").status) == ("2026-11-21T12:03:00Z", Status.SCHEDULED)
    assert not log.lines("run_died")
    assert not any("DeadRuns" in line for line in log.lines("metrics"))


def test_a_run_of_another_request_does_not_wait(worker: Worker, backend: Backend, clock: Clock) -> None:
    die(backend, f"{REQUEST}.first")
    answer = worker.handler(None, Context(clock, request=str(uuid.UUID(int=16))))
    assert (answer["lanes"], clock.now) == (0, NOON)


@pytest.mark.parametrize("request_id", [None, ""])
def test_a_context_without_a_request_id_is_a_request_of_its_own(
    worker: Worker, backend: Backend, clock: Clock, request_id: str | None
) -> None:
    context: Any = Context(clock)
    context.aws_request_id = request_id
    die(backend, ".first")
    answer = worker.handler(None, context)
    assert (answer["lanes"], clock.now) == (0, NOON)
    assert request_of(answer["run"])


def test_it_waits_with_the_watchdog_armed_which_the_dead_run_may_not_have_done(
    editor: Editor, backend: Backend, clock: Clock
) -> None:
    # Given a run that died between its claim and its watchdog
    editor.add("act", due=NOON, id="a")
    Lease.claim(backend.armer, f"{REQUEST}.first", clock)
    waits: list[tuple[float, bool]] = []

    def sleep(seconds: float) -> None:
        waits.append((seconds, backend.armer.read().is_settled(clock.now)))
        clock.sleep(seconds)

    # When the next try waits for its lease, which it does once the dead run's hold on the rule is over
    sleeping(backend, sleep).handler(None, Context(clock, request=REQUEST))
    # Then the rule is set for the end of the lease
    *_, (seconds, is_settled) = waits
    assert is_settled
    assert seconds > (LEASE - HOLD - timedelta(seconds=2)).total_seconds()
    assert not any(settled for _, settled in waits[:-1])


def test_it_waits_no_longer_than_its_time(worker: Worker, backend: Backend, clock: Clock) -> None:
    die(backend, f"{REQUEST}.first")
    answer = worker.handler(None, Context(clock, MINUTE, request=REQUEST))
    assert (answer["lanes"], clock.now) == (0, NOON + timedelta(seconds=48))
    assert answer["rings_at"] == "2026-11-21T12:02:00Z"


def test_a_claim_that_took_effect_without_an_answer_tells_of_the_death_all_the_same(
    backend: Backend, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given that the SDK tries a write again that took effect, and is refused then
    die(backend, "dead.1")
    clock.advance(LEASE)
    swap = backend.store.swap_record

    def unanswered(old: ArmingRecord | None, new: ArmingRecord) -> None:
        swap(old, new)
        monkeypatch.undo()

    monkeypatch.setattr(backend.store, "swap_record", unanswered)
    assert Lease.claim(backend.armer, "mine.1", clock).died == {"dead.1": NOON + LEASE}


def test_each_run_that_died_is_told_and_counted_once_before_anything_runs(
    editor: Editor, backend: Backend, clock: Clock, log: Log
) -> None:
    # Given two runs that died, with two lanes each
    for run, lanes in (("one.1", (0, 1)), ("two.1", (2, 3))):
        Lease.claim(backend.armer, run, clock, only=lanes)
    clock.advance(LEASE)
    counted: list[int] = []
    worker = sleeping(backend, clock.sleep, metrics=True)
    worker.action("act")(lambda: counted.extend(line.get("DeadRuns", 0) for line in log.lines("metrics")))
    editor.add("act", due=NOON, id="a")
    # When the next run comes
    worker.run()
    assert [(line["died"], line["request"]) for line in log.lines("run_died")] == [
        ("one.1", "one"),
        ("two.1", "two"),
    ]
    # Then both are counted by then, for what it runs may kill it too
    assert counted == [2]
    assert sum(line.get("DeadRuns", 0) for line in log.lines("metrics")) == 2


# The order of what was left running.


def test_what_was_left_running_goes_by_attempts_the_fewest_first(
    editor: Editor, worker: Worker, backend: Backend, clock: Clock, calls: Calls
) -> None:
    # Given three tasks that a run left running, and one of them that killed the next run too
    order: list[str] = []
    worker.action("act")(lambda _, task: order.append(task.id))
    ids = ("a-killer", "b", "c")
    for id in ids:
        editor.add("act", due=NOON, id=id)
    die_while_running(backend, clock, *ids)
    die_while_running(backend, clock, "a-killer")
    # When the next run comes, then that one is last; the attempts cost one read
    calls.clear()
    assert worker.run().done == 3
    assert order == ["b", "c", "a-killer"]
    assert calls["BatchGetItem"] == 1
    # And one alone costs none
    editor.add("act", due=clock.now, id="alone")
    die_while_running(backend, clock, "alone")
    calls.clear()
    assert worker.run().done == 1
    assert calls["BatchGetItem"] == 0
