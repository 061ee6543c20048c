"""The policies of the template and of docs/security.md, held against all that editors and workers call."""

import inspect
import json
import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from msgspec.structs import replace

from duebell import Calendar, Editor, Worker, WorkerNotStarted
from duebell_editor.intake import Intake
from duebell_shared.backend import Backend
from duebell_shared.bell.bell import BellKind
from duebell_shared.errors import AwsRefused
from duebell_shared.settings import Settings
from duebell_shared.tasks.status import History
from tests.infra.policies import ACCOUNT, Guarded, Statements, granted, statements_of, worker_document
from tests.intake.conftest import ARN, Queues
from tests.support import NOON, REGION, SCHEDULED, Clock, create_schedule

HOUR = timedelta(hours=1)

#: All that may be turned on.
SETTINGS = Settings(metrics=True, function="duebell")

#: Done tasks are deleted.
DELETING = Settings(metrics=True, function="duebell", history=History.NONE)

#: Actions that Lambda itself, not our code, makes with the worker's role.
BY_LAMBDA = {"logs:CreateLogStream", "logs:PutLogEvents", "sqs:SendMessage"}


@pytest.fixture
def resources(template: Any) -> Any:
    return template["Resources"]


class Noting:
    """An object whose methods are noted when they are asked for."""

    def __init__(self, of: object) -> None:
        self._of = of
        self.used: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.used.add(name)
        return getattr(self._of, name)


def everything_an_editor_does(editor: Any, fail: Callable[[], object]) -> None:
    editor.add("act", due=HOUR, id="a")
    editor.add("act", due=HOUR, id="a", if_exists="replace")
    editor.add_one({"action": "act", "due": HOUR, "id": "a"}, if_exists="keep")
    editor.add_many({"action": "act", "due": HOUR * number, "id": f"m{number}"} for number in range(1, 4))
    editor.add("act", schedule="rate(1 hour)", id="r")
    editor.get("a")
    editor.list()
    editor.list(status=["done", "failed"])
    editor.find("a")
    editor.move("a", due=HOUR / 2)
    editor.update("a", payload=1)
    editor.acting_as("anna").update("a", payload=2)
    editor.pause("a")
    editor.resume("a")
    editor.run_now("r")
    editor.add("unknown", due=timedelta(0), id="f")
    fail()
    editor.failures()
    editor.past_counts()
    editor.limit("act", per_second=100)
    editor.limits()
    editor.import_calendar("de", Calendar(days={date(2026, 12, 25): "Christmas"}, ends=date(2028, 12, 31)))
    editor.preview(schedule="rate(1 day)", calendar="de")
    assert editor.calendars().keys() == {"de"}
    editor.retry("f")
    editor.reserve("act", due=HOUR).drop()
    with editor.transaction() as tx:
        tx.add("act", due=HOUR, id="t")
    move, update, cancel = (
        editor.move_item("t", due=2 * HOUR),
        editor.update_item("t", payload=1),
        editor.cancel_item("t"),
    )
    assert {one.task.id for one in (move, update, cancel)} == {"t"}
    editor.cancel("a")
    editor.change_many("cancel", editor.select("cancel", action="act", limit=1).ids)
    editor.timeline(NOON)
    editor.past_timeline(NOON)
    editor.schedules()
    editor.snapshot()
    editor.status(thorough=True)
    editor.why("t")
    editor.close_batch(editor.batch("b", [{"action": "act", "due": HOUR}]).id)
    editor.backfill("r", NOON - HOUR, NOON, dry_run=True)
    editor.simulate(HOUR, flatten=True)
    assert editor.worker() is None
    with pytest.raises(WorkerNotStarted):
        editor.sync()
    editor.doctor(fix=True)
    editor.ensure_armed()
    editor.import_tasks(list(editor.export_tasks()))
    editor.relane(8)


def guarded_editor(guarded: Guarded, clock: Clock) -> Editor:
    return Editor(backend=Backend.connect(SETTINGS, guarded.session, clock=clock, sleep=clock.sleep))


def test_an_editor_may_do_all_it_does_and_no_more(resources: Any, backend: Backend, clock: Clock) -> None:
    allowed = statements_of(resources["EditorPolicy"]["Properties"]["PolicyDocument"])
    guarded = Guarded(allowed)
    editor = Noting(guarded_editor(guarded, clock))

    everything_an_editor_does(editor, fail=Worker(backend=backend).run)

    assert editor.status().healthy
    public = {name for name, _ in inspect.getmembers(Editor, callable) if not name.startswith("_")}
    # Dead letters need rights on queues, which an operator has; changes are not kept here
    operators = {"changes", "dead_letters", "redrive", "delete_dead_letters"}
    assert editor.used == public - {"from_env"} - operators, (
        "what an editor can do, and what this test does, must be the same"
    )
    # An add that was placed by an earlier number of lanes is taken out again
    store = Backend.connect(SETTINGS, guarded.session, clock=clock, sleep=clock.sleep).store
    assert store.save(editor.get("a"), None)
    assert guarded.made == granted(allowed)


def test_a_worker_and_its_actions_may_do_all_they_do_and_no_more(
    resources: Any, backend: Backend, clock: Clock
) -> None:
    allowed = statements_of(worker_document(resources))
    guarded = Guarded(allowed)
    plain, deleting = (
        Backend.connect(settings, guarded.session, clock=clock, sleep=clock.sleep)
        for settings in (SETTINGS, DELETING)
    )
    worker = Worker(backend=plain)
    editor = guarded_editor(guarded, clock)  # an action may use one, to add tasks that follow

    everything_an_editor_does(editor, fail=worker.run)
    worker.recurring("rate(1 hour)", id="declared")(worker.action("act")(lambda: None))
    worker.register()
    assert [step.id for step in editor.sync().steps] == ["declared"]
    editor.add_many({"action": "act", "due": HOUR} for _ in range(20))  # so many go together
    clock.advance(2 * HOUR)
    assert worker.run().done
    # A done task is deleted, and of several that end together the run makes one call
    editor.add("act", due=timedelta(0))
    assert worker.over(deleting).run().done
    together = [editor.add("act", due=HOUR) for _ in range(2)]
    assert deleting.store.save_many([(task, None) for task in together]) == [True, True]

    assert guarded.made == {one for one in granted(allowed) if one[0] not in BY_LAMBDA}
    assert {action for action, _ in granted(allowed) - guarded.made} == BY_LAMBDA


@pytest.mark.parametrize("who", ["editor", "worker"])
def test_with_a_schedule_they_may_set_it_pass_its_role_and_no_more(
    resources: Any, session: boto3.Session, who: str, clock: Clock
) -> None:
    # Given a schedule, and no right to set a rule
    create_schedule(session)
    policy = resources["EditorPolicy"]["Properties"]["PolicyDocument"]
    document = worker_document(resources) if who == "worker" else policy
    allowed = [one for one in statements_of(document, {"HasSchedule": {}}) if one["Sid"] != "Arm"]
    [passing] = [one for one in allowed if one["Sid"] == "PassBellRole"]
    passing["Resource"] = f"to pass {SCHEDULED['RoleArn']}"
    guarded = Guarded(allowed)
    settings = replace(SETTINGS, bell=BellKind.SCHEDULE)
    backend = Backend.connect(settings, guarded.session, clock=clock, sleep=clock.sleep)
    # When an editor or a worker works with it
    editor = Editor(backend=backend)
    editor.add("act", due=HOUR)
    assert editor.status().healthy
    editor.doctor(fix=True)
    if who == "worker":
        worker = Worker(backend=backend)
        worker.action("act")(lambda: None)
        clock.advance(2 * HOUR)
        assert worker.run().done
    # Then it made use of all rights for a schedule, and they are for this one
    here = f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/duebell"
    of_the_bell = {one for one in granted(allowed) if one[0].startswith(("scheduler:", "iam:"))}
    assert of_the_bell == {
        ("scheduler:GetSchedule", here),
        ("scheduler:UpdateSchedule", here),
        ("iam:PassRole", f"to pass {SCHEDULED['RoleArn']}"),
    }
    assert of_the_bell <= guarded.made


def test_the_intake_may_be_taken_and_looked_at_and_no_more(
    resources: Any, session: boto3.Session, clock: Clock
) -> None:
    role = worker_document(resources)
    policy = resources["EditorPolicy"]["Properties"]["PolicyDocument"]
    given: dict[str, dict[str, Sequence[str]]] = {"HasIntake": {}}
    queues = Queues()
    queues.send({"action": "act", "in": 60}, "no", {"do": "cancel", "id": "nowhere"})
    named = {"the ARN of IntakeQueue": "duebell-intake"}
    named["the ARN of IntakeDeadLetters"] = f"{named['the ARN of IntakeQueue']}-dead-letters"

    def allowed(document: Any) -> Statements:
        text = json.dumps(statements_of(document, given))
        for made, name in named.items():
            text = text.replace(made, f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}")
        return list(json.loads(text))

    def added(document: Any) -> set[tuple[str, str]]:
        return granted(allowed(document)) - granted(statements_of(document))

    # Given the worker's role, a batch can be taken, and one message be put back
    guarded = Guarded(allowed(role))
    settings = Settings(intake="duebell-intake")
    backend = Backend.connect(settings, guarded.session, clock=clock, sleep=clock.sleep)
    assert backend.client
    editor = Editor(backend=backend)
    answer = Intake(editor, backend.client, clock=clock).take(queues.received())
    assert len(answer["batchItemFailures"]) == len(queues.dead()) == 1
    assert editor.status().intake_waiting == 3
    # Then that takes all that its role has for it, but for what Lambda does in its name
    by_lambda = {("sqs:DeleteMessage", ARN), ("sqs:ReceiveMessage", ARN)}
    assert added(role) - guarded.made == by_lambda
    # And an editor may count
    guarded = Guarded(allowed(policy))
    backend = Backend.connect(settings, guarded.session, clock=clock, sleep=clock.sleep)
    assert Editor(backend=backend).status().intake_waiting == 3
    assert added(policy) <= guarded.made
    assert {action for action, _ in added(policy)} == {"sqs:GetQueueAttributes"}


PAGE = Path(__file__).parents[2] / "docs" / "security.md"


def blocks() -> list[str]:
    """The page's JSON."""
    return re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)


def limited(number: int, clock: Clock) -> Editor:
    """An editor that may do what the page's policy of this number says."""
    document: dict[str, Any] = json.loads(blocks()[number])
    session = Guarded(document["Statement"]).session
    return Editor(backend=Backend.connect(Settings(), session, clock=clock, sleep=clock.sleep))


def is_refused(*calls: Callable[[], object]) -> None:
    for call in calls:
        with pytest.raises(AwsRefused, match="AccessDenied"):
            call()


def test_a_service_that_only_adds(editor: Editor, clock: Clock) -> None:
    editor.ensure_armed()  # as the deployment does: it makes the arming record
    adder = limited(0, clock)

    adder.add("act", due=HOUR, id="a")
    adder.add("act", due=HOUR, id="a", if_exists="keep")
    adder.add_many([{"action": "act", "due": HOUR / 2, "id": "b"}])
    both = [{"action": "act", "due": HOUR / 2, "id": id} for id in ("a", "b")]
    again = adder.add_many(both, if_exists="keep")
    assert again.there_already == ("a", "b")

    assert adder.get("b").id == "b"
    assert editor.status().healthy
    is_refused(adder.list, lambda: adder.cancel("a"), lambda: adder.move("a", due=2 * HOUR))


def test_the_statement_for_a_key_is_the_templates(template: Any) -> None:
    [documented] = [
        json.loads(block) for block in blocks() if '"kms:ViaService"' in block and "Principal" not in block
    ]
    [theirs] = [
        given["Fn::If"][1]
        for given in template["Resources"]["EditorPolicy"]["Properties"]["PolicyDocument"]["Statement"]
        if "Fn::If" in given and given["Fn::If"][0] == "HasKey"
    ]
    via = theirs["Condition"]["StringLike"]["kms:ViaService"]["Fn::Sub"].replace("${AWS::Region}", REGION)
    assert documented["Condition"] == {"StringLike": {"kms:ViaService": via}}
    assert (documented["Effect"], documented["Action"]) == (theirs["Effect"], theirs["Action"])


def test_the_table_of_the_client_policy_is_the_templates(resources: Any) -> None:
    table = PAGE.read_text().partition("allows exactly this:\n\n")[2].partition("\n\n")[0]
    told, service = set(), ""
    for named, action in re.findall(r"`(?:([a-z]+):)?([A-Z]\w+)`", table):
        service = named or service
        told.add(f"{service}:{action}")
    actions = re.findall(r'"Action": ("[^"]*"|\[[^]]*\])', json.dumps(resources["EditorPolicy"]))
    assert told == set(re.findall(r"[a-z]+:\w+", "".join(actions)))


def test_someone_who_only_looks(editor: Editor, clock: Clock) -> None:
    editor.add("act", due=HOUR, id="a")
    looker = limited(1, clock)

    assert [task.id for task in looker.list().tasks] == ["a"]
    assert looker.get("a") == editor.get("a")
    assert looker.status(thorough=True).healthy
    assert len(list(looker.export_tasks())) == 1
    is_refused(
        lambda: looker.add("act", due=HOUR, id="b"),
        lambda: looker.cancel("a"),
        lambda: looker.move("a", due=HOUR / 2),
    )
