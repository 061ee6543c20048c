"""The mutants: one condition or the order of two steps of the protocol broken, and the tests that notice it.

`make mutants` tries all; `--sample` makes others at random. More lines of the arming record are broken in
`tests/protocol/test_broken.py`, where the model finds it out.
"""

from typing import NamedTuple


class Mutant(NamedTuple):
    """One mutant. `tests` are arguments of pytest; "histories" plays simulated histories instead."""

    name: str
    source: str
    broken: str
    tests: str
    within: str = ""


#: By the tests that notice them, the mutants: what is broken; the source, what stands there instead, and the
#: function, if the source stands in several.
_MUTANTS: dict[str, dict[str, tuple[str, ...]]] = {
    "histories": {
        "a dead run's lanes are never free": (
            "self.owner is None or self.until <= now",
            "self.owner is None",
        ),
    },
    "tests/shared -k 'arming or calling'": {
        "no lead": ("now + LEAD", "now", "minute_for"),
        "a held lane's due counts as a look at the free ones": (
            "(each.due for each in record.lanes if not each.owner)",
            "(each.due for each in record.lanes)",
        ),
        "a claim keeps the dues": (
            "Lane(owner=owner, until=until)",
            "replace(self.lanes[number], owner=owner, until=until)",
        ),
        "a claim leaves the rule counted as armed": (
            "replace(record, called_at=None, late_ring=late).rung(now, record.lease_end)",
            "replace(record, called_at=None, late_ring=late)",
        ),
        "a ring that was used up is not noticed": ("self.unarmed() if may_have_rung else self", "self"),
        "clearing forgets nothing": ("replace(self.lanes[number], due=NEVER)", "self.lanes[number]"),
        "the echo of a ring that is still to come": (
            "self.rings_at is not None and self.rings_at <= now and (self.echo_of is None)",
            "self.rings_at is not None and self.echo_of is None",
        ),
        "an echo stays when the rule is unknown": (
            "replace(self, armed=None, rings_at=None, echo_of=None)",
            "replace(self, armed=None, rings_at=None)",
        ),
        "an echo is enough when all lanes are given back": (
            "self.armed == self.lease_end and (free == NEVER or self.rings_at <= minute_for(free, now))",
            "free == NEVER or self.rings_at <= minute_for(free, now)",
        ),
        "a renewed lease keeps the end that its echo was for": (
            "record.echoing(self.echo_of, record.lease_end) if self.echo_of else record",
            "record",
        ),
        "a run that is for some lanes claims all": (
            "[number for number in free if only is None or number in only]",
            "free",
        ),
        "lanes are given to a run whose lease has run out": (
            "self.taker in self.owners(now) - {owner}",
            "self.taker != owner",
        ),
        "what was added to a lane since it was cleared is forgotten when it is given": (
            "min(self.lanes[number].due, heads[number])",
            "heads[number]",
            "ArmingRecord.given",
        ),
    },
    "tests/shared -k 'armer or heads'": {
        "a hold ends by the clock of whoever looks": (
            "timedelta(0) if record.applier == me else MOST_SKEW",
            "timedelta(0)",
        ),
        "settled without a look": ("record.is_settled(now)", "record.armed is not None", "Armer.ensure"),
        "a time-out gives up the hold": (
            "(AwsRefused, NotDeployed)",
            "(AwsRefused, NotDeployed, AwsUnavailable)",
            "Armer._set",
        ),
        "a lost swap counts": (
            "if (swapped := self.store.swap_record(record, changed)):\n    return swapped",
            "return self.store.swap_record(record, changed) or changed",
        ),
        "the record made anew without the heads": ("Lane(due=heads[lane])", "Lane()"),
        "a hold of a rule that another process is setting": (
            "applier and (not changed.is_settled(now)) and (not changed.is_being_applied(now))",
            "applier and (not changed.is_settled(now))",
        ),
    },
    "tests/editor/test_repeating.py": {
        "not armed after a move or a resume": ("self._rule.arm([changed])", "self._arm([])"),
        "a repeated change arms nothing": ("[changed]", "[changed] if changed.queued != task.queued else []"),
    },
    "tests/test_seed_scenario.py tests/test_call_counts.py": {
        "armed without lowering": (
            "self._backend.armer.lower(dues, lanes=lanes)",
            "self._backend.armer.ensure()",
        ),
    },
    "tests/worker/test_giving_back.py -k something_was_added": {
        "not cleared": ("quiet = self._lease.clear()", "quiet: dict[int, datetime] = {}"),
    },
    "tests/worker -k while_the_heads_are_read": {
        "cleared after the heads are read": (
            "quiet = self._lease.clear()",
            "quiet = self._reader.heads(self._lease.lanes)\nself._lease.clear()",
        ),
    },
    "tests/worker -k 'lease or giving_back'": {
        "called without the lease": (
            "isinstance(task, Task) and self._lease.is_held()",
            "isinstance(task, Task)",
        ),
    },
    "tests/worker/test_run_of_one.py": {
        "the rule of a run that lost its lease is judged by what it saw": (
            "None if lost else self._lease.seen",
            "self._lease.seen",
        ),
    },
    "tests/shared/test_writing_many.py": {
        "a batch's own writes taken for another's": (
            "made.is_full or may_be_made or (not made.is_sure)",
            "made.is_full or not made.is_sure",
        ),
        "sure of a batch that was sent twice": (
            "not was_retried and code != 'InternalServerError'",
            "code != 'InternalServerError'",
        ),
    },
    "tests/store -m 'not e2e'": {
        "many changed whatever they are": (
            "{**self.key, **self.where}",
            "{**self.key}",
            "ItemChange.statement",
        ),
        "claimed whatever it is queued for": (
            "stored(status=status, queued=(key.queued, key.priority))",
            "stored(status=status)",
        ),
        "claimed whatever its status": (
            "stored(status=status, queued=(key.queued, key.priority))",
            "stored(queued=(key.queued, key.priority))",
        ),
        "saved whatever its revision": (
            "stored(rev=old.rev, created_at=old.created_at)",
            "stored(created_at=old.created_at)",
        ),
        "inserted over whatever is there": (
            "'attribute_not_exists(#id) OR #expires_at <= :now'",
            "'#id <> :now OR #expires_at <= :now'",
        ),
        "the record swapped without a comparison": (
            'condition = {"ConditionExpression": "#rev = :rev", "ExpressionAttributeValues": values}',
            'condition = {"ConditionExpression": "attribute_exists(#rev)"}',
        ),
        "a move that overwrites": ("put_if_free", "lambda item, _: {'Item': item}", "relocate_item"),
    },
    "tests/shared/test_table.py": {
        "another run's claim taken for one's own": (
            "is_there and task.run == run and (task.started_at == to_utc(now))",
            "is_there and task.started_at == to_utc(now)",
        ),
        "a change whose answer was lost counts as another's": (
            "made.is_made or self.get(old.lane, old.id) == new",
            "made.is_made",
        ),
    },
    "tests/store/test_transact.py -m 'not e2e'": {
        "a reservation is known by its rev alone": (
            "{} if old.reservation is None else stored(reservation=old.reservation)",
            "{}",
        ),
    },
    "tests/worker/test_sharing.py": {
        "cleared after the heads of what is handed over are read": (
            "self._lease.clear()\nself._lease.hand_over(self._lanes.heads(lanes))",
            "heads = self._lanes.heads(lanes)\nself._lease.clear()\nself._lease.hand_over(heads)",
        ),
        "a lane is handed over while a task of it is under way": (
            "[share for share in self._shares if busy.isdisjoint(share)]",
            "list(self._shares)",
        ),
    },
    "tests/worker/test_to_the_second.py": {
        "a run that is given lanes takes its lease for lost": (
            "not set(self.lanes) <= set(lanes)",
            "set(self.lanes) != set(lanes)",
        ),
    },
    "tests/worker/test_tries.py": {
        "each try is a request of its own": (
            "getattr(context, 'aws_request_id', '') or uuid.uuid4().hex",
            "uuid.uuid4().hex",
        ),
    },
    "tests/intake": {
        "a change is made each time its message comes": (
            "last and last.source == change.mark.source and change.mark.place <= last.place",
            "False",
        ),
        "a change overtakes an earlier one of its message": (
            "trouble or broken.get(change.mark.source)",
            "trouble",
        ),
    },
}

MUTANTS = tuple(
    Mutant(name, source, broken, tests, *within)
    for tests, mutants in _MUTANTS.items()
    for name, (source, broken, *within) in mutants.items()
)
