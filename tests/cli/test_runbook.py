"""The runbook is played: a fault is made, the page's command is run as printed, and the fault is gone."""

import json
import shlex
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import SimpleNamespace
from typing import Any, NamedTuple

import boto3
import msgspec
import pytest
from botocore.exceptions import ClientError

from duebell import AwsRefused, Calendar, Editor, Problem, Settings, Status, Then, Worker
from duebell_editor.cli.account import Account
from duebell_infra.testing import InlinePool
from duebell_shared.backend import Backend
from duebell_shared.bell.arming import GRACE, Fullest, LastRun, RestingLane
from duebell_shared.queue.lane_sizes import GIGABYTE
from tests.cli.program import Duebell, fail
from tests.cli.runbook import ALARMS, PROBLEMS, aws
from tests.editor.test_doctor import delete_all, delete_permission, delete_rule, delete_target, deliver
from tests.shared.on_moto import swap
from tests.support import NOON, REGION, Clock, create_function, let_ring
from tests.transcript import compare_row
from tests.worker.other_runs import die, die_while_running

pytestmark = [pytest.mark.moto, pytest.mark.filterwarnings("ignore::duebell.UnknownAction")]

HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)
INTAKE = "duebell-intake"


class Night(NamedTuple):
    """A scheduler at night: its parts, and its worker, whose action `bad` fails until somebody is awake."""

    session: boto3.Session
    clock: Clock
    backend: Backend
    editor: Editor
    worker: Worker

    def problems(self) -> dict[str, str]:
        """The ways out that the doctor gives, by the kinds of the problems."""
        return {one.kind.value: one.way_out for one in self.found()}

    def found(self) -> list[Problem]:
        diagnosis = self.editor.doctor()
        return [*diagnosis.status.problems, *diagnosis.advice]

    def send(self, queue: str) -> None:
        sqs = self.session.client("sqs")
        sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=queue)["QueueUrl"], MessageBody="{}")

    def ring(self) -> None:
        """Let the rule ring, and the run come."""
        rings_at = self.editor.status().rings_at
        assert rings_at
        self.clock.now = max(self.clock.now, rings_at + 20 * SECOND)
        self.worker.run()

    def record(self, **fields: Any) -> None:
        swap(self.backend, lambda record: msgspec.structs.replace(record, **fields))


@pytest.fixture
def backend(session: boto3.Session, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """A scheduler as the stack makes it, with an intake."""
    sqs = session.client("sqs")
    for queue in (INTAKE, f"{INTAKE}-dead-letters", "duebell-lost-rings", "duebell-failed-runs"):
        sqs.create_queue(QueueName=queue)
    create_function(session)
    let_ring(session)
    source = f"arn:aws:sqs:{REGION}:123456789012:{INTAKE}"
    session.client("lambda").create_event_source_mapping(FunctionName="duebell", EventSourceArn=source)
    invoked: Any = lambda **_: (SimpleNamespace(status_code=202), {"StatusCode": 202})  # noqa: E731
    session.events.register("before-call.lambda.Invoke", invoked)  # moto would start Docker
    settings = Settings(function="duebell", intake=INTAKE)
    backend = Backend.connect(settings, session, clock=clock, sleep=clock.sleep)
    monkeypatch.setattr(Account, "backend", backend)
    return backend


@pytest.fixture
def night(session: boto3.Session, clock: Clock, backend: Backend, editor: Editor) -> Night:
    worker = Worker(backend=backend, pool=lambda _: InlinePool())
    worker.action("act")(lambda: None)
    worker.register()
    editor.ensure_armed()
    return Night(session, clock, backend, editor, worker)


#: Alarms about a fault that is a problem of the doctor, too.
SAME = {
    "failed-runs": "worker",
    "failed-tasks": "failed_tasks",
    "intake-dead-letters": "intake_dead_letters",
    "lane-bytes": "lane_fills",
}

Scene = Callable[[Night], Iterator[dict[str, str]]]

#: By the name of its row, a generator: it makes the fault, yields words for the command, and checks after it.
SCENES: dict[str, Scene] = {}


def scene(play: Scene) -> Scene:
    """Puts a scene into the table. Names of alarms have hyphens where functions have underscores."""
    name = play.__name__
    SCENES[name if name in PROBLEMS else name.replace("_", "-")] = play
    return play


#: Faults that the row's command ends as it stands.
FAULTS: dict[str, Callable[[Night], object]] = {
    "disabled": lambda night: night.session.client("events").disable_rule(Name="duebell"),
    "no_target": lambda night: delete_target(night.session),
    "rule": lambda night: delete_rule(night.session),
    "no_permission": lambda night: delete_permission(night.session),
    "rule_elsewhere": lambda night: night.session.client("events").put_rule(
        Name="duebell", ScheduleExpression="rate(1 minute)"
    ),
    "dead_letters": lambda night: night.send("duebell-lost-rings"),
    "past_index": lambda night: night.session.client("dynamodb").update_table(
        TableName="duebell", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "past-index"}}]
    ),
    "relane": lambda night: night.record(relaner="someone", relaner_until=NOON - MINUTE),
}


def _faulty(night: Night, make: Callable[[Night], object]) -> Iterator[dict[str, str]]:
    make(night)
    yield {}


SCENES |= {name: partial(_faulty, make=make) for name, make in FAULTS.items()}


@scene
def lost_rings(night: Night) -> Iterator[dict[str, str]]:
    night.editor.add("act", due=HOUR, id="a")
    delete_all(night.session)
    night.send("duebell-lost-rings")
    yield {}
    assert night.problems().keys() <= {"dead_letters", "silence"}
    night.ring()
    assert night.editor.get("a").status is Status.DONE


@scene
def held_too_long(night: Night) -> Iterator[dict[str, str]]:
    swap(night.backend, lambda record: record.claimed("odd", now=NOON, until=NOON + 9999 * HOUR))
    night.backend.armer.ensure()
    yield {}


@scene
def not_armed(night: Night) -> Iterator[dict[str, str]]:
    night.editor.add("act", due=HOUR)
    night.clock.now = NOON + HOUR + GRACE + SECOND
    yield {}


@scene
def overdue(night: Night) -> Iterator[dict[str, str]]:
    night.editor.add("act", due=HOUR)
    night.clock.now = NOON + HOUR + 5 * MINUTE
    yield {}
    night.ring()


@scene
def lease_expired(night: Night) -> Iterator[dict[str, str]]:
    die(night.backend)
    night.clock.advance(2 * MINUTE + GRACE + SECOND)
    yield {}
    night.ring()


@scene
def follow_ups_owed(night: Night) -> Iterator[dict[str, str]]:
    task = night.editor.add("act", due=MINUTE, id="a", then=Then("act"))
    night.clock.advance(2 * MINUTE)
    store, keep = night.backend.store, night.backend.settings.retention_policy
    done = task.done(now=night.clock.now, keep=keep)
    assert done.owes
    assert store.save(task, done)
    night.clock.advance(10 * MINUTE)
    yield {}
    night.ring()


def _ending(night: Night, year: int) -> Iterator[dict[str, str]]:
    known = Calendar(days={date(year, 1, 1): "New Year"}, ends=date(year, 6, 30))
    night.editor.import_calendar("de-be", known)
    event = "BEGIN:VEVENT\nSUMMARY:New Year\nDTSTART;VALUE=DATE:20300101\nEND:VEVENT\n"
    with NamedTemporaryFile("w", suffix=".ics") as file:
        file.write(event)
        file.flush()
        yield {"NAME": "de-be", "DAYS.ics": file.name}


@scene
def calendar(night: Night) -> Iterator[dict[str, str]]:
    return _ending(night, 2026)


@scene
def calendar_ends(night: Night) -> Iterator[dict[str, str]]:
    return _ending(night, 2027)


@scene
def lane_rests(night: Night) -> Iterator[dict[str, str]]:
    resting = (RestingLane(lane=2, since=NOON - HOUR),)
    night.record(last_run=LastRun(run="run", finished_at=NOON, resting=resting))
    yield {}
    night.worker.run()


@scene
def lane_fills(night: Night) -> Iterator[dict[str, str]]:
    night.record(fullest=Fullest(lane=3, bytes=8 * GIGABYTE, measured_at=NOON))
    yield {}
    assert night.editor.status().lanes == 16
    swap(night.backend, lambda record: record.measured({3: 7 * GIGABYTE}, NOON))


@scene
def intake_idle(night: Night) -> Iterator[dict[str, str]]:
    functions = night.session.client("lambda")
    [mapping] = functions.list_event_source_mappings()["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    yield {"UUID": mapping["UUID"]}


@scene
def unknown_actions(night: Night) -> Iterator[dict[str, str]]:
    night.editor.add("gone", due=HOUR, id="a")
    yield {"ID": "a", "NAME": "act"}


@scene
def failed_tasks(night: Night) -> Iterator[dict[str, str]]:
    night.editor.add("act", due=HOUR, id="a")
    fail(night.editor, "a")
    yield {}
    night.worker.run()
    assert night.editor.get("a").status is Status.DONE


@scene
def failing_tasks(night: Night) -> Iterator[dict[str, str]]:
    night.editor.add("act", schedule="rate(1 hour)", id="a")
    fail(night.editor, "a")
    yield {"ID": "a"}
    night.worker.run()


@scene
def action_paused(night: Night) -> Iterator[dict[str, str]]:
    night.editor.limit("act", at_most=0)
    night.editor.add("act", due=NOON, id="a")
    night.worker.run()
    yield {"ACTION": "act"}


@scene
def intake_dead_letters(night: Night) -> Iterator[dict[str, str]]:
    night.send(f"{INTAKE}-dead-letters")
    sent = []

    def send(params: Any, **_: object) -> Any:  # moto would start Docker
        sent.append(json.loads(params["body"])["QueueUrl"].rpartition("/")[2])
        return SimpleNamespace(status_code=200), {"MessageId": "1"}

    assert night.backend.sqs
    night.backend.sqs.client(REGION).meta.events.register("before-call.sqs.SendMessage", send)
    yield {}
    assert sent == [INTAKE]


@scene
def unseen(night: Night) -> Iterator[dict[str, str]]:
    deliver(night.backend, remind=f"arn:aws:sqs:{REGION}:123456789012:{INTAKE}")

    denied = [ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "GetQueueAttributes")]

    def refuse(**_: object) -> None:
        for error in denied:
            raise error

    night.session.events.register("before-call.sqs.GetQueueAttributes", refuse)
    yield {}
    denied.clear()  # somebody gives the permission


@scene
def dead_runs(night: Night) -> Iterator[dict[str, str]]:
    night.editor.add("act", due=NOON, id="a")
    die_while_running(night.backend, night.clock, "a")
    assert [task.id for task in night.editor.list(status="running").tasks] == ["a"]
    yield {"ID": "a"}
    assert night.worker.run().done == 0
    assert not night.editor.list(status="running").tasks


@scene
def heartbeat(night: Night) -> Iterator[dict[str, str]]:
    events = night.session.client("events")
    events.put_rule(Name="duebell-heartbeat", ScheduleExpression="rate(1 hour)", State="DISABLED")
    yield {}
    assert events.describe_rule(Name="duebell-heartbeat")["State"] == "ENABLED"


@scene
def throttles(night: Night) -> Iterator[dict[str, str]]:
    functions = night.session.client("lambda")
    functions.put_function_concurrency(FunctionName="duebell", ReservedConcurrentExecutions=0)
    yield {}
    reserved = functions.get_function_concurrency(FunctionName="duebell")
    assert reserved["ReservedConcurrentExecutions"] > night.backend.settings.parallel_runs


@pytest.mark.parametrize("name", SCENES)
def test_the_command_of_the_runbook_ends_the_fault(name: str, night: Night, duebell: Duebell) -> None:
    row, before = {**PROBLEMS, **ALARMS}[name], night.problems().keys()
    # Given the fault, which the doctor names
    steps = SCENES[name](night)
    words = next(steps)
    problem = name.replace("-", "_")
    found = night.found()
    compare_row(Path(__file__).with_name("problems.txt"), name, msgspec.json.encode(found).decode())
    way_out = next((one.way_out for one in found if one.kind == problem), "")
    assert bool(way_out) is (problem in PROBLEMS)
    # When the command is run as it is printed, if there is one; else doctor and page say the same
    if row.command is None:
        assert way_out in row.text
    else:
        line = row.command
        for placeholder, word in words.items():
            line = line.replace(placeholder, word)
        if line.startswith("aws "):
            aws(night.session, line)
        else:
            assert duebell(*shlex.split(line)[1:]).status in {0, 6}
    next(steps, None)
    # Then the doctor no longer names it, nor anything new
    assert problem not in night.problems()
    assert night.problems().keys() <= {*before, "dead_letters"}


def test_of_a_table_that_iam_denies_doctor_and_page_say_the_same(
    night: Night, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise AwsRefused("may not")

    monkeypatch.setattr(night.backend.store, "read_record", refuse)
    assert night.problems()["table"] in PROBLEMS["table"].text
