"""The mutants: one condition or the order of two steps of the protocol broken, and the tests that notice it.

Each row names what is broken and has the source, what stands there instead, and the tests. `within` is the
function, if the source stands in several. `make mutants` tries all; `--sample` makes others at random.
"""

from typing import NamedTuple

__all__ = ["MUTANTS", "Mutant"]

_ADDED_TO = "tests/worker/test_giving_back.py -k something_was_added"
_ARMER = "tests/shared -k 'armer or heads'"
_ARMING = "tests/shared -k 'arming or calling or ring_minute'"
_CALLING = "tests/worker/test_calling.py"
_DELIVERIES = "tests/deliveries -m 'not slow'"
_FOLLOW_UPS = "tests/worker/test_follow_ups.py"
_SEMAPHORE = "tests/shared/test_semaphore.py"
_GIVING_BACK = "tests/worker -k while_the_heads_are_read"
_HANDLER = "tests/worker -k 'handler or entry'"
_HISTORIES = "histories"
_INSTANTS = "tests/shared -k instants"
_INTAKE = "tests/intake"
_LEASE = "tests/worker -k 'lease or giving_back'"
_LIMITS_AT_THE_END = "tests/worker/test_limits_in_process.py"
_ONE_LANE = "tests/worker/test_one_lane.py"
_PARKED = "tests/worker/test_parked.py"
_PROCESS = "tests/worker -k 'process or long_actions'"
_PROTOCOL = "tests/protocol -k 'nothing_is_lost and cases'"
_RELANE = "tests/editor/relane"
_REPEATING = "tests/editor/test_repeating.py"
_RESERVED = "tests/worker/test_reserved.py"
_RUN = "tests/worker -k 'test_run or run_of_one or abandoned'"
_RUN_OF_ONE = "tests/worker/run_of_one"
_SCENARIO = "tests/test_seed_scenario.py tests/test_call_counts.py"
_SHARING = "tests/worker/test_sharing.py"
_STORE = "tests/store -m 'not e2e'"
_TABLE = "tests/shared/test_table.py"
_TAKING_OVER = "tests/worker/test_two_runs.py"
_TRANSACT = "tests/store/test_transact.py -m 'not e2e'"
_TRANSACTIONS = "tests/editor -k 'transaction or reserving'"
_TRIES = "tests/worker/test_tries.py"
_WRITING_MANY = "tests/shared/test_writing_many.py"


class Mutant(NamedTuple):
    """One mutant. `tests` are arguments of pytest; "histories" plays simulated histories instead."""

    name: str
    source: str
    broken: str
    tests: str
    within: str = ""


MUTANTS = (
    Mutant(
        "no watchdog in the target",
        "self.until if self.owner else before(self.due, head_start)",
        "before(self.due, head_start)",
        _PROTOCOL,
    ),
    Mutant(
        "a dead run's lanes are never free",
        "self.owner is None or self.until <= now",
        "self.owner is None",
        _HISTORIES,
    ),
    Mutant(
        "a held lane is never lowered", "due < looked_at", "due < looked_at and (not lane.owner)", _PROTOCOL
    ),
    Mutant(
        "a lease's end counts as a look",
        "lane.due",
        "min(lane.due, lane.until)",
        _PROTOCOL,
        "ArmingRecord.lowered",
    ),
    Mutant(
        "a held lane's due counts as a look at the free ones",
        "(each.due for each in record.lanes if not each.owner)",
        "(each.due for each in record.lanes)",
        _ARMING,
    ),
    Mutant(
        "a claim keeps the dues",
        "Lane(owner=owner, until=until)",
        "replace(self.lanes[number], owner=owner, until=until)",
        _ARMING,
    ),
    Mutant(
        "a claim leaves the rule counted as armed",
        "replace(record, called_at=None, late_ring=late).rung(now, record.lease_end)",
        "replace(record, called_at=None, late_ring=late)",
        _ARMING,
    ),
    Mutant(
        "a ring that was used up is not noticed", "self.unarmed() if may_have_rung else self", "self", _ARMING
    ),
    Mutant(
        "clearing forgets nothing", "replace(self.lanes[number], due=NEVER)", "self.lanes[number]", _ARMING
    ),
    Mutant(
        "a release forgets what was added",
        "min(self.lanes[number].due, heads[number])",
        "heads[number]",
        _PROTOCOL,
        "ArmingRecord.released",
    ),
    Mutant("known while applying", "self.unarmed()", "self", _PROTOCOL, "ArmingRecord.applying"),
    Mutant(
        "an unanswered try gives up its hold",
        "confirmed if may_land_again else confirmed.unheld()",
        "confirmed.unheld()",
        _PROTOCOL,
    ),
    Mutant("no lead", "now + LEAD", "now", _HISTORIES, "minute_for"),
    Mutant(
        "rounded down to the minute",
        "ceil_to_minute(max(target, now + LEAD))",
        "max(target, now + LEAD).replace(second=0, microsecond=0)",
        _ARMING,
    ),
    Mutant(
        "a hold ends by the clock of whoever looks",
        "timedelta(0) if record.applier == me else MOST_SKEW",
        "timedelta(0)",
        _ARMER,
    ),
    Mutant(
        "settled without a look", "record.is_settled(now)", "record.armed is not None", _ARMER, "Armer.ensure"
    ),
    Mutant(
        "a time-out gives up the hold",
        "(AwsRefused, NotDeployed)",
        "(AwsRefused, NotDeployed, AwsUnavailable)",
        _ARMER,
        "Armer._set",
    ),
    Mutant(
        "a lost swap counts",
        "if (swapped := self.store.swap_record(record, changed)):\n    return swapped",
        "return self.store.swap_record(record, changed) or changed",
        _ARMER,
    ),
    Mutant("the record made anew without the heads", "Lane(due=heads[lane])", "Lane()", _ARMER),
    Mutant("not armed after a move or a resume", "self._rule.arm([changed])", "self._arm([])", _REPEATING),
    Mutant(
        "a repeated change arms nothing",
        "[changed]",
        "[changed] if changed.queued != task.queued else []",
        _REPEATING,
    ),
    Mutant(
        "armed without lowering",
        "self._backend.armer.lower(dues, lanes=lanes)",
        "self._backend.armer.ensure()",
        _SCENARIO,
    ),
    Mutant("not cleared", "quiet = self._lease.clear()", "quiet: dict[int, datetime] = {}", _ADDED_TO),
    Mutant(
        "cleared after the heads are read",
        "quiet = self._lease.clear()",
        "quiet = self._reader.heads(self._lease.lanes)\nself._lease.clear()",
        _GIVING_BACK,
    ),
    Mutant(
        "a lane that was added to is not read again",
        "{number for number in self.lanes_of(owner) if self.lanes[number].due == NEVER}",
        "set(self.lanes_of(owner))",
        _GIVING_BACK,
    ),
    Mutant(
        "called without the lease",
        "isinstance(task, Task) and self._lease.is_held()",
        "isinstance(task, Task)",
        _LEASE,
    ),
    Mutant(
        "what a dead run left running is never claimed",
        "Status.RUNNING",
        "Status.SCHEDULED",
        _RUN,
        "Unclaimed.start_next",
    ),
    Mutant(
        "started early",
        "self._lease.quiet, keys = self._lanes.queued(lanes, now=now)",
        "now += timedelta(seconds=30)\nself._lease.quiet, keys = self._lanes.queued(lanes, now=now)",
        _RUN,
    ),
    Mutant(
        "a lane whose head cannot be read is due never",
        "heads.get(lane) or self.trouble.again_at(lane) or self._context.now()",
        "heads.get(lane) or NEVER",
        _ONE_LANE,
    ),
    Mutant("a run for no lane believes the record", "armer.verify", "armer.ensure", _HANDLER),
    Mutant(
        "a hold that failed is used again",
        "applier, self.applier = (self.applier, None)",
        "applier = self.applier",
        _RUN_OF_ONE,
    ),
    Mutant(
        "the rule of a run that lost its lease is judged by what it saw",
        "None if lost else self._lease.seen",
        "self._lease.seen",
        _RUN_OF_ONE,
    ),
    Mutant(
        "heads are known in spite of trouble",
        "heads is None or is_unsure or self._trouble.was_any",
        "heads is None or is_unsure",
        _RUN_OF_ONE,
    ),
    Mutant(
        "a task that was changed while it ran is not looked for",
        "attempts.superseded or attempts.tally.stopped_early",
        "attempts.tally.stopped_early",
        _RUN_OF_ONE,
    ),
    Mutant(
        "a batch's own writes taken for another's",
        "made.is_full or may_be_made or (not made.is_sure)",
        "made.is_full or not made.is_sure",
        _WRITING_MANY,
    ),
    Mutant(
        "a refused statement taken as written",
        "outcome.is_made or self.insert(task, may_be_made=not outcome.is_sure)",
        "True",
        _WRITING_MANY,
    ),
    Mutant(
        "of many, expired history keeps its id",
        "there and outcome.is_sure and (not has_expired)",
        "there and outcome.is_sure",
        _STORE,
    ),
    Mutant(
        "sure of a batch that was sent twice",
        "not was_retried and code != 'InternalServerError'",
        "code != 'InternalServerError'",
        _WRITING_MANY,
    ),
    Mutant(
        "sure of a statement that failed within DynamoDB",
        "not was_retried and code != 'InternalServerError'",
        "not was_retried",
        _WRITING_MANY,
    ),
    Mutant(
        "what was made is forgotten when the next try fails",
        "_FAILED",
        "ZeroDivisionError",
        _WRITING_MANY,
        "BatchWrite.__call__",
    ),
    Mutant(
        "many changed whatever they are",
        "{**self.key, **self.where}",
        "{**self.key}",
        _STORE,
        "ItemChange.statement",
    ),
    Mutant(
        "called while the rule is disabled",
        "self.rule.read().is_enabled and self.call()",
        "self.call()",
        _CALLING,
    ),
    Mutant(
        "an invocation that is refused fails",
        "(BotoCoreError, ClientError)",
        "BotoCoreError",
        _CALLING,
        "Function.start",
    ),
    Mutant(
        "the echo of a ring that is still to come",
        "self.rings_at is not None and self.rings_at <= now and (self.echo_of is None)",
        "self.rings_at is not None and self.echo_of is None",
        _ARMING,
    ),
    Mutant(
        "an echo stays when the rule is unknown",
        "replace(self, armed=None, rings_at=None, echo_of=None)",
        "replace(self, armed=None, rings_at=None)",
        _ARMING,
    ),
    Mutant(
        "an echo is enough when all lanes are given back",
        "self.armed == self.lease_end and (free == NEVER or self.rings_at <= minute_for(free, now))",
        "free == NEVER or self.rings_at <= minute_for(free, now)",
        _ARMING,
    ),
    Mutant(
        "a renewed lease keeps the end that its echo was for",
        "record.echoing(self.echo_of, record.lease_end) if self.echo_of else record",
        "record",
        _ARMING,
    ),
    Mutant(
        "a hold of a rule that another process is setting",
        "applier and (not changed.is_settled(now)) and (not changed.is_being_applied(now))",
        "applier and (not changed.is_settled(now))",
        _ARMER,
    ),
    Mutant(
        "any task with the id counts as the follow-up",
        "is_or_was and (there.id, there.created_at) == (new.id, new.created_at)",
        "there.id == new.id",
        _FOLLOW_UPS,
    ),
    Mutant(
        "a task that owes a follow-up is not looked at by other runs",
        "owing = {key: task for key, task in found.items() if task.owes and queue_key(task) == key}",
        "owing: dict[QueueKey, Task] = {}",
        _FOLLOW_UPS,
    ),
    Mutant(
        "a follow-up that the rule is not set for",
        "deleted = {task.id for task in self._rule.arm_added(added, lanes)}",
        "deleted: set[str] = set()",
        _FOLLOW_UPS,
    ),
    Mutant(
        "permits of dead runs",
        "{owner: one for owner, one in semaphore.permits.items() if one.until > now}",
        "dict(semaphore.permits)",
        _SEMAPHORE,
    ),
    Mutant(
        "permits of other runs do not count", "sum((p.count for p in alive.values()))", "mine", _SEMAPHORE
    ),
    Mutant(
        "what waits in a run that has ended is started",
        "self._is_closed or not self._lease.is_held()",
        "not self._lease.is_held()",
        _LIMITS_AT_THE_END,
    ),
    Mutant("a parked task that has run is its lane's head", "parked or begun_ahead", "begun_ahead", _PARKED),
    Mutant(
        "claimed whatever it is queued for",
        "stored(status=status, queued=(key.queued, key.priority))",
        "stored(status=status)",
        _STORE,
    ),
    Mutant(
        "claimed whatever its status",
        "stored(status=status, queued=(key.queued, key.priority))",
        "stored(queued=(key.queued, key.priority))",
        _STORE,
    ),
    Mutant("attempts not counted at the claim", "stored(attempt=1, rev=1)", "stored(rev=1)", _STORE),
    Mutant("a claim without a revision", "stored(attempt=1, rev=1)", "stored(attempt=1)", _STORE),
    Mutant(
        "saved whatever its revision",
        "stored(rev=old.rev, created_at=old.created_at)",
        "stored(created_at=old.created_at)",
        _STORE,
    ),
    Mutant(
        "inserted over whatever is there",
        "'attribute_not_exists(#id) OR #expires_at <= :now'",
        "'#id <> :now OR #expires_at <= :now'",
        _STORE,
    ),
    Mutant(
        "another run's claim taken for one's own",
        "is_there and task.run == run and (task.started_at == to_utc(now))",
        "is_there and task.started_at == to_utc(now)",
        _TABLE,
    ),
    Mutant(
        "a change whose answer was lost counts as another's",
        "made.is_made or self.get(old.lane, old.id) == new",
        "made.is_made",
        _TABLE,
    ),
    Mutant(
        "the record swapped without a comparison",
        'condition = {"ConditionExpression": "#rev = :rev", "ExpressionAttributeValues": values}',
        'condition = {"ConditionExpression": "attribute_exists(#rev)"}',
        _STORE,
    ),
    Mutant(
        "times rounded down",
        "instant + timedelta(microseconds=1000 - beyond) if beyond else instant",
        "instant - timedelta(microseconds=beyond)",
        _INSTANTS,
    ),
    Mutant(
        "a reservation expires by the editor's clock", "to_utc(until) + MOST_SKEW", "to_utc(until)", _RESERVED
    ),
    Mutant(
        "a confirmation does not count as a change",
        "self._changed(status=Status.SCHEDULED, reservation=None, reserved_until=None, expires_at=None)",
        "replace(self, status=Status.SCHEDULED, reservation=None, reserved_until=None, expires_at=None)",
        _TRANSACTIONS,
    ),
    Mutant(
        "a reservation is known by its rev alone",
        "{} if old.reservation is None else stored(reservation=old.reservation)",
        "{}",
        _TRANSACT,
    ),
    Mutant("each try of a commit is another transaction", "token", "uuid4().hex", _TRANSACTIONS, "_tried"),
    Mutant(
        "a cancelled reservation counts as confirmed",
        "there.reservation is None and there.rev > write.old.rev",
        "there.rev > write.old.rev",
        _TRANSACTIONS,
    ),
    Mutant(
        "a run that is for some lanes claims all",
        "[number for number in free if only is None or number in only]",
        "free",
        _ARMING,
    ),
    Mutant(
        "cleared after the heads of what is handed over are read",
        "self._lease.clear()\nself._lease.hand_over(self._lanes.heads(lanes))",
        "heads = self._lanes.heads(lanes)\nself._lease.clear()\nself._lease.hand_over(heads)",
        _SHARING,
    ),
    Mutant(
        "a lane is handed over while a task of it is under way",
        "[share for share in self._shares if busy.isdisjoint(share)]",
        "list(self._shares)",
        _SHARING,
    ),
    Mutant(
        "lanes are given to a run whose lease has run out",
        "self.taker in self.owners(now) - {owner}",
        "self.taker != owner",
        _ARMING,
    ),
    Mutant(
        "what was added to a lane since it was cleared is forgotten when it is given",
        "min(self.lanes[number].due, heads[number])",
        "heads[number]",
        _ARMING,
        "ArmingRecord.given",
    ),
    Mutant(
        "lanes that are given have no watchdog",
        "min((self.lanes[number].until for number in self.lanes_of(taker)))",
        "NEVER",
        _ARMING,
    ),
    Mutant(
        "a run that is given lanes takes its lease for lost",
        "not set(self.lanes) <= set(lanes)",
        "set(self.lanes) != set(lanes)",
        _TAKING_OVER,
    ),
    Mutant(
        "the lease of lanes that were claimed later has no end",
        "self.until",
        "NEVER",
        _PROCESS,
        "Lease.claim_more.claim",
    ),
    Mutant(
        "an id that is taken where it was before is given away",
        "policy.rev is None and not is_elsewhere and self._queue.store.insert(new)",
        "policy.rev is None and self._queue.store.insert(new)",
        _RELANE,
    ),
    Mutant(
        "a move that overwrites", "put_if_free", "lambda item, _: {'Item': item}", _STORE, "relocate_item"
    ),
    Mutant(
        "each try is a request of its own",
        "getattr(context, 'aws_request_id', '') or uuid.uuid4().hex",
        "uuid.uuid4().hex",
        _TRIES,
    ),
    Mutant(
        "what was left running goes by its place in the queue",
        "min(self._keys, key=lambda key: (self._left_running.get(key, 0), key))",
        "self._keys[0]",
        _TRIES,
    ),
    Mutant(
        "a change is made each time its message comes",
        "last and last.source == change.mark.source and change.mark.place <= last.place",
        "False",
        _INTAKE,
    ),
    Mutant(
        "a change overtakes an earlier one of its message",
        "trouble or broken.get(change.mark.source)",
        "trouble",
        _INTAKE,
    ),
    Mutant(
        "an older push holds over a later one",
        "is_push and pushed and change.sent < pushed",
        "False",
        _INTAKE,
    ),
    Mutant("each attempt has a key of its own", "render(task.created_at)", "str(task.attempt)", _DELIVERIES),
)
