"""Limits in a long-running process: kept over hours, changed while it runs, and given back when it ends."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from duebell import Status, Task
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import AwsUnavailable
from duebell_shared.limits.limits import Semaphore
from tests.support import NOON
from tests.worker.hosted import HOUR, MINUTE, SECOND, Hosted


def test_a_run_that_lost_its_lease_starts_none_that_waits_in_it(hosted: Hosted) -> None:
    # Given an action at work, and a task that waits in the run for it to end
    starts: list[tuple[datetime, str]] = []

    @hosted.worker.action("mail", at_most=1)
    def mail(_: object, task: Task) -> None:
        starts.append((hosted.clock.now, task.id))
        hosted.stage.sleep(150)

    for lane in (0, 1):
        hosted.add("mail", NOON, lane=lane)
    # When another run, whose clock is a minute ahead, claims its lanes while the renewal fails
    lost = NOON + 90 * SECOND

    def refuse(record: ArmingRecord) -> None:
        is_claim = any(lane.owner == "other" for lane in record.lanes)
        if NOON + 55 * SECOND < hosted.clock.now < lost + 10 * SECOND and not is_claim:
            raise AwsUnavailable("as told")

    def claim(record: ArmingRecord) -> ArmingRecord:
        return record.claimed("other", now=lost + MINUTE, until=lost + 3 * MINUTE)

    def note() -> None:
        permits.append(len(hosted.store.records[Semaphore, "mail"].permits))

    permits: list[int] = []
    hosted.store.on_write = refuse
    hosted.at(lost, lambda: hosted.backend.armer.change(claim))
    hosted.at(lost + 20 * SECOND, note)
    hosted.run_until(NOON + 20 * MINUTE)
    # Then it starts nothing any more, and what waited is started once, by the run that has its lane then
    assert hosted.log.lines("lease_lost")
    assert permits == [0]
    assert len({id for _, id in starts}) == 2
    assert all(at > lost + MINUTE for at, _ in starts[1:])
    assert [id for _, id in starts].count(starts[0][1]) == len(starts) - 1


def add(hosted: Hosted, count: int, due: datetime = NOON) -> None:
    hosted.editor.add_many({"action": "mail", "due": due, "id": f"mail-{n}"} for n in range(count))


def declare(hosted: Hosted, *, takes: timedelta = timedelta(0), **limit: Any) -> Counter[str]:
    """Declare `mail` with this limit; return the most that were under way at a time."""
    seen = Counter[str]()

    def mail() -> None:
        hosted.starts.append(hosted.clock.now)
        seen["now"] += 1
        seen["most"] = max(seen["most"], seen["now"])
        if takes:
            hosted.stage.sleep(takes.total_seconds())
        seen["now"] -= 1

    hosted.worker.action("mail", **limit)(mail)
    return seen


def test_a_paused_action_stops_and_goes_on_while_the_process_runs(hosted: Hosted) -> None:
    declare(hosted)
    for minute in range(30):
        hosted.editor.add("mail", due=NOON + minute * MINUTE, id=f"mail-{minute}")
    hosted.at(NOON + 605 * SECOND, lambda: hosted.editor.limit("mail", at_most=0))
    hosted.at(NOON + 1205 * SECOND, lambda: hosted.editor.limit("mail", at_most=None))
    hosted.run_until(NOON + 40 * MINUTE)
    times = [(start - NOON).total_seconds() for start in hosted.starts]
    assert len(times) == 30
    # Runs follow within a minute
    assert not [time for time in times if 666 < time < 1205]
    # The tasks that were put back are started with the first look after it went on
    assert sum(1205 <= time <= 1210 for time in times) >= 9
    assert {hosted.editor.get(f"mail-{n}").attempt for n in range(30)} == {1}


def test_tasks_that_a_process_put_back_for_a_pause_are_started_once(hosted: Hosted) -> None:
    # Given a process that has put tasks back because their action was paused, and has other work
    hosted.serve(places=4)
    hosted.worker.action("other")(lambda: hosted.stage.sleep(0.7))
    declare(hosted, takes=3 * SECOND)
    hosted.editor.limit("mail", at_most=0)
    add(hosted, 20)
    hosted.editor.add_many({"action": "other", "due": NOON + (50 + n % 40) * SECOND} for n in range(100))

    # When the action goes on
    hosted.at(NOON + 65 * SECOND, lambda: hosted.editor.limit("mail", at_most=3))
    hosted.run_until(NOON + 10 * MINUTE)

    # Then each is started once, and none is taken for one that a dead run has left
    assert len(hosted.starts) == 20
    assert not hosted.log.lines("passed_over")


def test_a_process_that_drains_gives_its_permits_back(hosted: Hosted) -> None:
    # Given two at work, and two that wait in the process for them
    seen = declare(hosted, takes=HOUR, at_most=2)
    add(hosted, 6)
    assert not hosted.run_until(NOON + 5 * SECOND)
    assert seen["most"] == 2
    # Then nobody has to wait for the end of a lease
    semaphore = hosted.store.records[Semaphore, "mail"]
    assert not semaphore.permits
    assert not hosted.record.owners(hosted.clock.now)
    # A task that had not begun has used up no attempt
    attempts = Counter(hosted.editor.get(f"mail-{n}").attempt for n in range(6))
    assert attempts == {0: 4, 1: 2}
    assert all(hosted.editor.get(f"mail-{n}").status is Status.SCHEDULED for n in range(6))
