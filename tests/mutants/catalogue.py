"""The mutants: one condition or the order of two steps of the protocol broken, and the tests that notice it.

Each row names what is broken and has the source, what stands there instead, and the tests. `within` is the
function, if the source stands in several. `make mutants` tries all; `--sample` makes others at random.
More lines of the arming record are broken in `tests/protocol/test_broken.py`, where the model finds it out.
"""

from typing import NamedTuple

_ADDED_TO = "tests/worker/test_giving_back.py -k something_was_added"
_ARMER = "tests/shared -k 'armer or heads'"
_ARMING = "tests/shared -k 'arming or calling or ring_minute'"
_GIVING_BACK = "tests/worker -k while_the_heads_are_read"
_HISTORIES = "histories"
_INTAKE = "tests/intake"
_LEASE = "tests/worker -k 'lease or giving_back'"
_REPEATING = "tests/editor/test_repeating.py"
_RUN_OF_ONE = "tests/worker/test_run_of_one.py"
_SCENARIO = "tests/test_seed_scenario.py tests/test_call_counts.py"
_SHARING = "tests/worker/test_sharing.py"
_STORE = "tests/store -m 'not e2e'"
_TABLE = "tests/shared/test_table.py"
_TAKING_OVER = "tests/worker/test_to_the_second.py"
_TRANSACT = "tests/store/test_transact.py -m 'not e2e'"
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
        "a dead run's lanes are never free",
        "self.owner is None or self.until <= now",
        "self.owner is None",
        _HISTORIES,
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
    Mutant("no lead", "now + LEAD", "now", _HISTORIES, "minute_for"),
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
        "called without the lease",
        "isinstance(task, Task) and self._lease.is_held()",
        "isinstance(task, Task)",
        _LEASE,
    ),
    Mutant(
        "the rule of a run that lost its lease is judged by what it saw",
        "None if lost else self._lease.seen",
        "self._lease.seen",
        _RUN_OF_ONE,
    ),
    Mutant(
        "a batch's own writes taken for another's",
        "made.is_full or may_be_made or (not made.is_sure)",
        "made.is_full or not made.is_sure",
        _WRITING_MANY,
    ),
    Mutant(
        "sure of a batch that was sent twice",
        "not was_retried and code != 'InternalServerError'",
        "code != 'InternalServerError'",
        _WRITING_MANY,
    ),
    Mutant(
        "many changed whatever they are",
        "{**self.key, **self.where}",
        "{**self.key}",
        _STORE,
        "ItemChange.statement",
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
        "a reservation is known by its rev alone",
        "{} if old.reservation is None else stored(reservation=old.reservation)",
        "{}",
        _TRANSACT,
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
        "a run that is given lanes takes its lease for lost",
        "not set(self.lanes) <= set(lanes)",
        "set(self.lanes) != set(lanes)",
        _TAKING_OVER,
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
)
