"""A mutant: one line of the protocol broken, why that matters, and the tests that are to notice."""

from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath

from .source import Place, places_of

__all__ = ["Killer", "Mutant"]


class Killer(Enum):
    """Tests that may notice, as what Python is to run. Each ends at the first failure."""

    TRIES = ("-m", "pytest", "tests/worker/test_tries.py")
    KILLER = ("-m", "pytest", "tests/simulation/test_killer.py")
    PROTOCOL = ("-m", "pytest", "tests/protocol/test_protocol.py", "-k", "nothing_is_lost")
    HISTORIES = ("-m", "tests.mutants.histories", "400")
    ARMING = ("-m", "pytest", "tests/shared", "-k", "arming or calling or ring_minute")
    ARMER = ("-m", "pytest", "tests/shared", "-k", "armer or ensure or settled")
    RULE = ("-m", "pytest", "tests/shared", "-k", "rule")
    RING_SCHEDULE = ("-m", "pytest", "tests/shared/test_ring_schedule.py")
    BELLS = ("-m", "pytest", "tests/infra/test_bells.py")
    CHANGED_BELL = ("-m", "pytest", "tests/simulation/test_bells.py")
    INSTANTS = ("-m", "pytest", "tests/shared", "-k", "instants")
    VERIFY = ("-m", "pytest", "tests/shared/test_verify.py")
    STORE = ("-m", "pytest", "tests/store", "-m", "not e2e")
    FULL_LANES = ("-m", "pytest", "tests/store/test_full_lanes.py", "-k", "wire or refused")
    FULL_LANE_SNOOZE = ("-m", "pytest", "tests/worker/test_full_lane.py", "-k", "snooze")
    LANE_SIZES = ("-m", "pytest", "tests/shared/test_lane_sizes.py")
    PACKED = ("-m", "pytest", "tests/shared/test_packed_occurrences.py")
    TABLE = ("-m", "pytest", "tests/shared/test_lost_answers.py", "tests/shared/test_table.py")
    INSERTING = ("-m", "pytest", "tests/shared/test_inserting_many.py")
    UPDATING = ("-m", "pytest", "tests/shared/test_updating_many.py")
    READING = ("-m", "pytest", "tests/shared/test_reading_many.py")
    LEASE = ("-m", "pytest", "tests/worker", "-k", "lease or giving_back")
    ADDED_TO = ("-m", "pytest", "tests/worker/test_giving_back.py", "-k", "something_was_added")
    GIVING_BACK = ("-m", "pytest", "tests/worker", "-k", "while_the_heads_are_read")
    ONE_LANE = ("-m", "pytest", "tests/worker/test_trouble.py", "tests/worker/test_one_lane.py")
    GIVING_BACK_ALL = ("-m", "pytest", "tests/worker/test_giving_back.py")
    RUN = ("-m", "pytest", "tests/worker", "-k", "test_run or run_of_one or abandoned")
    RUN_OF_ONE = ("-m", "pytest", "tests/worker/run_of_one", "tests/worker/test_unread_lane.py")
    LIMITS = ("-m", "pytest", "tests/worker/test_limits.py", "tests/editor/test_limits.py")
    LIMITS_AT_THE_END = ("-m", "pytest", "tests/worker/test_limits_at_the_end.py")
    PARKED = ("-m", "pytest", "tests/worker/test_parked.py")
    HELD = ("-m", "pytest", "tests/worker/test_held_tasks.py")
    GAUGE = ("-m", "pytest", "tests/shared/test_gauge.py")
    LIMITED = ("-m", "pytest", "tests/simulation/test_limited.py")
    PRIORITIES = ("-m", "pytest", "tests/worker/test_priorities.py")
    ORDER = (
        "-m",
        "pytest",
        "tests/shared/test_queue_order.py",
        "tests/store/test_priorities.py",
        "-m",
        "not e2e",
    )
    PRECISION = ("-m", "pytest", "tests/worker/test_precision.py")
    CALLING = ("-m", "pytest", "tests/worker/test_calling.py", "tests/worker/test_calling_limits.py")
    REPEATING = ("-m", "pytest", "tests/editor/test_repeating.py")
    RELANE = ("-m", "pytest", "tests/editor/relane")
    TWINS = ("-m", "pytest", "tests/worker/test_twins.py")
    WRITES = ("-m", "pytest", "tests/worker/test_writes.py")
    LEAVING = ("-m", "pytest", "tests/worker/test_leaving.py")
    PARALLEL = ("-m", "pytest", "tests/shared/test_heads.py")
    EXPRESSION = ("-m", "pytest", "tests/shared/test_expression.py")
    ABANDONED = ("-m", "pytest", "tests/worker/test_abandoned.py")
    CHANGED = ("-m", "pytest", "tests/editor/test_changing.py", "-k", "never_answered")
    TAKING_OVER = ("-m", "pytest", "tests/worker/two_runs")
    BESIDE_LONG_ACTIONS = ("-m", "pytest", "tests/worker/test_beside_long_actions.py")
    PROCESS = (
        "-m",
        "pytest",
        "tests/worker/test_process.py",
        "tests/worker/test_long_actions.py",
        "tests/worker/test_outliving.py",
        "tests/worker/test_draining.py",
        "tests/worker/test_process_trouble.py",
        "tests/worker/test_process_health.py",
    )
    TRICKLE = ("-m", "pytest", "tests/simulation/test_trickle.py")
    SHARING = ("-m", "pytest", "tests/worker/test_sharing.py", "tests/worker/test_handing_over.py")
    REGISTRATION = ("-m", "pytest", "tests/worker/test_registration.py", "tests/worker/test_failed_starts.py")
    WORKER_RECORD = ("-m", "pytest", "tests/shared/test_worker_record.py")
    KNOWN_WORKER = ("-m", "pytest", "tests/editor/test_known_worker.py")
    SYNC = ("-m", "pytest", "tests/editor/test_sync.py")
    HANDLER = ("-m", "pytest", "tests/worker", "-k", "handler or entry")
    SCENARIO = ("-m", "pytest", "tests/test_seed_scenario.py", "tests/test_call_counts.py")
    COSTS = ("-m", "pytest", "tests/test_call_counts.py")
    REQUIREMENTS = ("-m", "pytest", "tests/infra/test_requirements.py")
    DEPENDENCIES = ("-m", "pytest", "tests/infra/test_dependencies.py")
    ARTIFACTS = ("-m", "pytest", "tests/infra/test_artifacts.py")
    TABLE_SETTINGS = ("-m", "pytest", "tests/infra/test_table_settings.py")
    TABLE_CAPACITY = ("-m", "pytest", "tests/infra/test_table_capacity.py")
    BATCHER = ("-m", "pytest", "tests/worker/test_batcher.py")
    DELIVERIES = ("-m", "pytest", "tests/deliveries", "-m", "not slow")
    INTAKE = ("-m", "pytest", "tests/intake")
    DEPLOYING = ("-m", "pytest", "tests/infra/test_deploy.py")
    METRICS = ("-m", "pytest", "tests/worker/test_metrics.py")
    MEANWHILE = ("-m", "pytest", "tests/poison/test_meanwhile.py")
    GUARD = ("-m", "pytest", "tests/infra/test_guard.py")
    ACCESS_KEY = ("-m", "pytest", "tests/infra/test_access_key.py", "tests/infra/test_state.py")
    VERIFYING = ("-m", "pytest", "tests/verify/test_broken_off.py", "tests/verify/test_faults.py")
    BUILT_IN = ("-m", "pytest", "tests/worker/test_built_in.py")
    ZONES = ("-m", "pytest", "tests/schedule/test_zones.py", "tests/worker/test_time_zones.py")
    BOUNDS = ("-m", "pytest", "tests/schedule/test_bounds.py", "tests/schedule/test_invalid_schedules.py")
    CHANGED_BY = ("-m", "pytest", "tests/editor/test_changed_by.py")
    REQUEST_LIMITS = ("-m", "pytest", "tests/http/test_request_limits.py")
    DEADLINES = ("-m", "pytest", "tests/http/test_deadlines.py")
    READ_ONLY = ("-m", "pytest", "tests/http/test_read_only.py")
    STREAMS = ("-m", "pytest", "tests/http/test_shared_streams.py")
    RESERVED = ("-m", "pytest", "tests/worker/test_reserved.py")
    TRANSACT = ("-m", "pytest", "tests/store/test_transact.py", "-m", "not e2e")
    PUSHING = ("-m", "pytest", "tests/editor/test_pushing.py")
    FOLLOW_UPS = ("-m", "pytest", "tests/worker/test_follow_ups.py", "tests/worker/test_owing.py")
    NOTES = ("-m", "pytest", "tests/worker/test_full_lane.py", "-k", "note")
    OWING_COUNTS = ("-m", "pytest", "tests/editor/test_owing_counts.py")
    SNOOZING = ("-m", "pytest", "tests/worker/test_snoozing.py")
    TRANSACTIONS = (
        "-m",
        "pytest",
        "tests/editor/test_transactions.py",
        "tests/editor/test_transaction_answers.py",
        "tests/editor/test_reserving.py",
    )
    SHAPES = ("-m", "pytest", "tests/shapes", "-k", "due_later or no_time or without_a_zone or years")

    PAYLOADS = ("-m", "pytest", "tests/shared/test_payload.py")
    ITEM_SIZE = ("-m", "pytest", "tests/shared/test_item_size.py")
    IMPORTING = ("-m", "pytest", "tests/editor/test_importing.py", "-k", "not whatever")
    SCHEDULES = ("-m", "pytest", "tests/schedule/test_invalid_schedules.py", "-k", "1_kb")
    QUOTING = ("-m", "pytest", "tests/shared/test_quoting.py")

    @property
    def command(self) -> tuple[str, ...]:
        """Its arguments for Python."""
        stop_early = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
        return (*self.value, *stop_early) if "pytest" in self.value else self.value


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One mutant.

    name     what is broken, in the protocol's words
    line     the source that is broken: it stands in the product once, wherever that is (see source.py)
    within   the function (`Lease.release`), class or module where it stands, if it stands in several
    broken   what stands there instead
    why      what goes wrong with it
    killers  the tests that are to notice, the likeliest first
    is_fast  whether it is part of `make test`
    """

    name: str
    line: str
    broken: str
    why: str
    killers: tuple[Killer, ...]
    within: str = ""
    file: str = ""
    is_fast: bool = False

    def place(self) -> Place:
        """The place of the line. Raises ValueError if it is not there, or in several places."""
        places = places_of(self.line)
        if len(places) > 1:
            places = [place for place in places if self._is_meant(place)]
        if len(places) != 1:
            found = ", ".join(f"{place.module.name}: {place.scope}" for place in places) or "nowhere"
            raise ValueError(f"{self.name}: {self.line!r} is to be in one place, and is {found}")
        return places[0]

    def _is_meant(self, place: Place) -> bool:
        return (
            self.within in {place.scope, PurePath(place.module.name).stem} or self.file == place.module.name
        )
