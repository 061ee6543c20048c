"""SnapStart on the embedded stack: versions are published, called by their alias, and not left behind.

The emulator keeps the rules of SnapStart, of versions and of aliases. It takes no snapshot.
"""

from pathlib import Path

import pytest

from duebell import Status
from duebell_infra.bundle.target import Target
from tests.e2e.deployer import LATER, Deployer
from tests.e2e.support import wait_for
from tests.e2e.test_ringing import SOON

pytestmark = pytest.mark.e2e


def test_each_change_of_the_worker_is_a_version_that_the_rule_wakes(
    deployer: Deployer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a stack with SnapStart. The emulator runs this machine's Python, whatever the runtime says
    monkeypatch.setattr(Target, "runtime", property(lambda _: "python3.13"))
    functions = deployer.session.client("lambda")

    def versions() -> list[str]:
        listed = functions.list_versions_by_function(FunctionName=deployer.name)["Versions"]
        return [one["Version"] for one in listed if one["Version"] != "$LATEST"]

    def live() -> str:
        return functions.get_alias(FunctionName=deployer.name, Name="live")["FunctionVersion"]

    editor = deployer.deploy(SnapStart="yes")
    assert (versions(), live()) == (["1"], "1")
    # When a task is due, the rule wakes the version
    editor.add("succeed", due=SOON, id="soon")
    editor.add("succeed", due=LATER, id="later")
    wait_for(lambda: editor.get("soon").status is Status.DONE)
    # Then a change of a setting is another version, and the one before is gone
    deployer.deploy(MemorySize="1024")
    assert (versions(), live()) == (["2"], "2")
    config = functions.get_function_configuration(FunctionName=f"{deployer.name}:live")
    assert (config["MemorySize"], config["SnapStart"]["ApplyOn"]) == (1024, "PublishedVersions")
    # And so is a change of the code
    (tmp_path / "jobs.py").write_text("from duebell import Worker\nworker = Worker.from_env()\n")
    deployer.deploy(folder=tmp_path, actions="jobs:worker")
    assert (versions(), live()) == (["3"], "3")
    # And the same again is none
    deployer.deploy(folder=tmp_path, actions="jobs:worker")
    assert (versions(), live()) == (["3"], "3")
    # And without SnapStart the function itself is woken again, and the rule is armed for what waits
    deployer.deploy(SnapStart="no")
    assert versions() == []
    [target] = deployer.session.client("events").list_targets_by_rule(Rule=deployer.name)["Targets"]
    assert target["Arn"].endswith(f":function:{deployer.name}")
    assert editor.status().healthy
