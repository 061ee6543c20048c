"""The arming record as it is stored: it comes back as it was, and the largest one costs one read unit."""

import zlib
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duebell_shared.bell.arming import ArmingRecord, Fullest, Lane, LastRun, LateRing
from duebell_shared.instants import NEVER
from duebell_shared.queue.records import pack, unpack
from duebell_shared.settings import MAX_LANES, MAX_PARALLEL_RUNS

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)

#: Bytes that DynamoDB reads for one unit, strongly consistently.
READ_UNIT = 4096

_times = st.datetimes(timezones=st.just(UTC))
_due = st.one_of(st.just(NEVER), _times)
_lanes = st.one_of(
    st.builds(Lane, due=_due),
    st.builds(Lane, due=_due, owner=st.text(min_size=1, max_size=40), until=_times),
)


def largest() -> ArmingRecord:
    """As large as it gets: 64 lanes held by 16 runs, a relaner among them, after 60 earlier relanes."""
    microsecond = timedelta(microseconds=1)
    runs = [str(UUID(int=2**127 + number)) for number in range(MAX_PARALLEL_RUNS)]
    odd = NOON + microsecond
    return ArmingRecord(
        lanes=tuple(
            Lane(
                due=NOON + number * microsecond,
                owner=runs[number % 16],
                until=odd + number % 16 * microsecond,
            )
            for number in range(MAX_LANES)
        ),
        armed=odd,
        rings_at=NOON,
        echo_of=NOON,
        applier=runs[0].replace("-", ""),
        applier_until=odd,
        head_start=timedelta(seconds=130),
        called_at=odd,
        last_run=LastRun(
            run=runs[0],
            finished_at=odd,
            done=10**9,
            retried=10**9,
            failed=10**9,
            expired=10**9,
            lateness_max_ms=10**12,
            tzdata="2026.12",
        ),
        late_ring=LateRing(minute=NOON, came_at=odd),
        earlier=tuple(range(1, MAX_LANES)),
        relaner=runs[0].replace("-", ""),
        relaner_until=odd,
        taker=runs[1],
        counted_at=odd,
        fullest=Fullest(lane=63, bytes=10 * 2**30, measured_at=odd),
        rev=10**12,
    )


def test_the_largest_record_costs_one_read_unit() -> None:
    record = largest()
    assert all(getattr(record, name) not in (None, NEVER, ()) for name in record.__struct_fields__)
    beside = len("lanearmingidarmingrecordrev") + 21
    assert len(pack(record)) + beside < READ_UNIT
    assert unpack(ArmingRecord, pack(record)) == ArmingRecord(
        **{name: getattr(record, name) for name in record.__struct_fields__ if name != "rev"}
    )


def test_an_idle_queue_of_64_lanes_is_a_few_hundred_bytes() -> None:
    assert len(pack(ArmingRecord(lanes=(Lane(),) * MAX_LANES, armed=NEVER))) < 256


@given(st.lists(_lanes, min_size=1, max_size=MAX_LANES), st.none() | _due, st.timedeltas(timedelta(0)))
def test_a_record_comes_back_whole(lanes: list[Lane], armed: datetime | None, head_start: timedelta) -> None:
    record = ArmingRecord(lanes=tuple(lanes), armed=armed, head_start=head_start)
    assert unpack(ArmingRecord, pack(record)) == record


@pytest.mark.parametrize(
    "text", [b"", b"{oops", b"7", b'{"lanes":[{"due":"2026-11-21T12:00:00"}]}', b"[" * 100_000]
)
def test_what_is_no_record_is_refused(text: bytes) -> None:
    for packed in (text, zlib.compress(text)):
        with pytest.raises(ValueError):  # noqa: PT011 (whatever it says)
            unpack(ArmingRecord, packed)


def test_what_a_newer_version_has_in_it_is_left_out() -> None:
    newer = zlib.compress(b'{"lanes":[{},{"colour":"blue"}],"colour":"blue"}')
    assert unpack(ArmingRecord, newer) == ArmingRecord(lanes=(Lane(), Lane()))
