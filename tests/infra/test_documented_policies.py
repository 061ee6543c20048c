"""The narrower policies that docs/security.md gives, tried: what they are said to allow, and nothing else."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from duebell import Editor
from duebell_shared.backend import Backend
from duebell_shared.errors import AwsRefused
from duebell_shared.settings import Settings
from tests.infra.policies import Guarded
from tests.support import REGION, Clock

HOUR = timedelta(hours=1)
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
