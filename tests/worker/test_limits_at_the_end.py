"""Tasks that wait in a run for their action's limit, when the run loses its lease."""

from datetime import timedelta

from duebell import Task
from duebell_shared.bell.arming import ArmingRecord
from duebell_shared.errors import AwsUnavailable
from tests.support import NOON
from tests.worker.hosted import MINUTE, SECOND, Hosted


def lose_the_lease_early(hosted: Hosted) -> timedelta:
    """Have another run, whose clock is a minute ahead, claim all lanes as the renewal fails; return when."""
    lost = NOON + 90 * SECOND

    def refuse(record: ArmingRecord) -> None:
        is_claim = any(lane.owner == "other" for lane in record.lanes)
        if NOON + 55 * SECOND < hosted.clock.now < lost + 10 * SECOND and not is_claim:
            raise AwsUnavailable("as told")

    def claim(record: ArmingRecord) -> ArmingRecord:
        ahead = hosted.clock.now + MINUTE
        return record.claimed("other", now=ahead, until=ahead + 2 * MINUTE)

    hosted.store.on_write = refuse
    hosted.at(lost, lambda: hosted.backend.armer.change(claim))
    return lost - NOON


def test_a_run_that_lost_its_lease_starts_none_that_waits_in_it(hosted: Hosted) -> None:
    # Given an action at work, and a task that waits in the run for it to end
    starts: list[tuple[timedelta, str]] = []

    @hosted.worker.action("mail", at_most=1)
    def mail(_: object, task: Task) -> None:
        starts.append((hosted.clock.now - NOON, task.id))
        hosted.stage.sleep(150)

    for lane in (0, 1):
        hosted.add("mail", NOON, lane=lane)
    # When its lanes are claimed by another run, although its own clock says that it holds them
    lost = lose_the_lease_early(hosted)
    permits: list[int] = []
    hosted.at(NOON + lost + 20 * SECOND, lambda: permits.append(len(hosted.store.semaphores["mail"].permits)))
    hosted.run_until(NOON + 20 * MINUTE)
    # Then it starts nothing any more, and what waited is started once, by the run that has its lane then
    assert hosted.log.lines("lease_lost")
    assert permits == [0]
    assert len({id for _, id in starts}) == 2
    assert all(at > lost + MINUTE for at, _ in starts[1:])
    waited = [id for _, id in starts if id != starts[0][1]]
    assert len(waited) == 1
