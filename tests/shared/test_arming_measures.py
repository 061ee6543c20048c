"""What runs measure and keep in the arming record: counts now and then, and the fullest lane."""

from datetime import timedelta

from duebell_shared.bell.arming import ArmingRecord, Lane
from duebell_shared.bell.run_notes import Fullest
from tests.support import NOON

GB = 2**30
RECORD = ArmingRecord(lanes=(Lane(), Lane(), Lane()))
MINUTE = timedelta(minutes=1)


def test_the_first_run_counts_and_others_only_when_that_is_five_minutes_ago() -> None:
    counted = RECORD.counting(NOON)
    assert counted.counted_at == NOON
    assert counted.counting(NOON + 5 * MINUTE - timedelta(seconds=1)) == counted
    assert counted.counting(NOON + 5 * MINUTE).counted_at == NOON + 5 * MINUTE


def test_a_count_that_is_far_ahead_by_a_wrong_clock_does_not_stop_the_counting() -> None:
    counted = RECORD.counting(NOON + timedelta(days=1))
    assert counted.counting(NOON).counted_at == NOON


def test_the_fullest_lane_is_known_from_one_gb_on() -> None:
    assert RECORD.measured({}, NOON) == RECORD
    assert RECORD.measured({0: GB - 1}, NOON) == RECORD
    measured = RECORD.measured({0: GB, 2: 3 * GB}, NOON)
    assert measured.fullest == Fullest(lane=2, bytes=3 * GB, measured_at=NOON)


def test_another_lane_takes_its_place_only_when_it_is_a_gb_fuller() -> None:
    measured = RECORD.measured({2: 3 * GB}, NOON)
    assert measured.measured({1: 3 * GB + 1, 2: 3 * GB + 2}, NOON + MINUTE) == measured
    assert measured.measured({1: 2 * GB}, NOON + MINUTE) == measured
    assert measured.measured({1: 4 * GB}, NOON + MINUTE).fullest == Fullest(
        lane=1, bytes=4 * GB, measured_at=NOON + MINUTE
    )


def test_the_fullest_lane_that_has_become_smaller_says_so() -> None:
    measured = RECORD.measured({2: 3 * GB}, NOON)
    smaller = measured.measured({2: GB, 1: 2 * GB}, NOON + MINUTE)
    assert smaller.fullest == Fullest(lane=1, bytes=2 * GB, measured_at=NOON + MINUTE)
