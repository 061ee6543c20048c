"""Messages and answers of SQS in; calls of SQS, log lines and changed tasks out: see `transcript.txt`."""

import json
import logging
import re
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, patch

import boto3
import pytest
from botocore.exceptions import ReadTimeoutError
from msgspec.structs import replace

from duebell import AwsUnavailable, DuebellError, Editor, Settings
from duebell_editor.intake import Intake
from duebell_shared.aws.sqs import Sqs
from tests import transcript
from tests.intake.conftest import record
from tests.support import NOON, REGION

#: The attributes of tasks that are compared.
TOLD = ("id", "action", "due", "payload_json", "status", "priority", "tags", "rev", "changed_by", "intake")
PUSH = {"action": "charge", "id": "p", "in": 600, "if_exists": "push"}
UUID = "17793124-05d4-b198-2fde-7ededc63b103"
#: Further names that a line may use.
NAMES: dict[str, Any] = {"Sqs": Sqs, "NOON": NOON, "REGION": REGION, "PUSH": PUSH, "UUID": UUID}


class Aws:
    """SQS, which answers with what is in `answers`, and else with success."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.calls: list[str] = []
        self._sqs = boto3.Session("key", "secret").client("sqs", REGION)
        answer: Any = self._answer  # the stubs know of no handler that answers
        self._sqs.meta.events.register("before-call.sqs", answer)

    def client(self, service: str, region_name: str, **_: Any) -> Any:
        self.calls.append(f"a client of {service} in {region_name}")
        return self._sqs

    def _answer(self, model: Any, params: Any, **_: Any) -> tuple[Any, Any]:
        asked, answer = json.loads(params["body"]), self.answers.pop(0) if self.answers else {}
        self.calls.append(re.sub(r"(\[|\{\}, )\1{99,}", r"\1…", f"{model.name} {params['body'].decode()}"))
        if answer == "timeout":
            raise ReadTimeoutError(endpoint_url="sqs")
        if isinstance(answer, str):
            return SimpleNamespace(status_code=400), {"Error": {"Code": answer, "Message": "no"}}
        sent = [{"Id": one["Id"]} for one in asked.get("Entries", [])]
        return SimpleNamespace(status_code=200), {"Successful": sent, **answer}


def letter(id: str, body: str, **attributes: str) -> dict[str, Any]:
    """A message as SQS answers with it."""
    message = {"MessageId": id, "ReceiptHandle": f"r-{id}", "Body": body}
    texts = {name: {"StringValue": text} for name, text in attributes.items()}
    return {**message, "Attributes": {"SentTimestamp": "1790000000123"}, "MessageAttributes": texts}


@pytest.mark.filterwarnings("ignore::duebell.UnknownAction", "ignore::duebell.DoubtfulPayload")
def test_messages_take_effect_as_kept(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "duebell.intake")
    stage, aws = transcript.stage(), Aws()
    backend = replace(stage.editor._backend, sqs=Sqs(aws.client), settings=Settings(intake="duebell-intake"))
    editor = Editor(backend=backend)

    def take(
        *bodies: Any, fails: str = "read_none", portion: int = 1_000, minutes: int = 9, **rights: Any
    ) -> Any:
        """Take messages, each a body or a body and what differs, while this method of the store fails."""
        settings = Settings(**{f"intake_{name}": some for name, some in rights.items()})
        intake = Intake(editor.acting_as("intake"), aws.client, settings=settings, clock=lambda: stage.now)
        records = []
        for n, one in enumerate(bodies):
            body, given = one if isinstance(one, tuple) else (one, {})
            raw = {name: given[name] for name in given if name.endswith("ttributes")}
            given = {"id": f"m{n}", "sent": stage.now, "receipt": f"r{n}", **given}
            records.append(record(body, **{name: given[name] for name in given.keys() - raw.keys()}) | raw)
        failing = patch.object(
            backend.store, fails, Mock(side_effect=AwsUnavailable("no answer")), create=True
        )
        with patch("duebell_editor.intake.batch._PORTION", portion), failing:
            return intake.take(records, until=stage.now + timedelta(minutes=minutes))

    def trace(text: str) -> dict[str, Any]:
        return {"messageAttributes": {"traceparent": {"stringValue": text}}}

    def tasks() -> dict[str, Any]:
        every = map(json.loads, editor.export_tasks())
        return {one["id"]: {name: one[name] for name in (*TOLD, "traceparent") if one[name]} for one in every}

    def ask(line: str) -> str:
        aws.calls.clear()
        caplog.clear()
        before = tasks()
        try:
            answer = str(eval(line, names))
        except DuebellError as error:
            answer = f"{type(error).__name__}: {error}"
        logs = [f"{one.levelname} {one.getMessage()} {getattr(one, 'fields', '')}" for one in caplog.records]
        changed = [str(task) for id, task in sorted(tasks().items()) if before.get(id) != task]
        return "".join(f"{one}\n" for one in (answer, *aws.calls, *logs, *changed))

    names = {**NAMES, **locals(), "letter": letter, "timedelta": timedelta, "answers": aws.answers}
    transcript.check(Path(__file__).with_name("transcript.txt"), stage, ask)
