"""The steps of docs/how-to and other pages work as written: files, tests, tools and figures."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cfnlint.decode import decode  # type: ignore[import-untyped]

from duebell import ProblemKind
from duebell_editor.simulation.cost import measured
from tests.cli.runbook import ALARMS, ON_CALL, PROBLEMS
from tests.cli.test_runbook import SAME
from tests.cli.test_runbook import SCENES as ON_MOTO
from tests.e2e.test_runbook import SCENES as ON_THE_STACK
from tests.infra.documented import ROOT, pytest_in, run
from tests.infra.documented import written as written_from

pytestmark = pytest.mark.slow


def written(page: str, folder: Path) -> None:
    """Write the files of a how-to into this folder."""
    written_from(ROOT / "docs" / "how-to" / f"{page}.md", folder)


def test_the_tests_of_the_readme_pass_and_its_types_hold(tmp_path: Path) -> None:
    written_from(ROOT / "README.md", tmp_path)
    (tmp_path / "shop" / "__init__.py").touch()
    assert "2 passed" in pytest_in(tmp_path)
    checked = run(tmp_path, "-m", "mypy", "--strict", "shop")
    assert "Success: no issues found in 3 source files" in checked.stdout, checked.stdout + checked.stderr


def test_the_test_of_the_tutorial_passes(tmp_path: Path) -> None:
    written_from(ROOT / "docs" / "quickstart.md", tmp_path)
    assert "1 passed" in pytest_in(tmp_path)


def test_the_tests_that_it_shows_pass(tmp_path: Path) -> None:
    for page in ("test", "fastapi"):
        written(page, tmp_path)
    assert "3 passed" in pytest_in(tmp_path)


@pytest.mark.e2e
def test_the_stack_runs_what_is_deployed(tmp_path: Path) -> None:
    written("test", tmp_path)
    assert "1 passed" in pytest_in(tmp_path, "test_stack.py")
    # And a test that fails shows what the worker logged
    test = tmp_path / "test_stack.py"
    test.write_text(
        test.read_text().replace('"welcome bob"', '"welcome eve"').replace("log_lines()", "environment")
    )
    said = pytest_in(tmp_path, "test_stack.py")
    assert "1 failed" in said
    assert "welcome bob" in said


def test_without_a_worker_the_fixture_says_what_to_do(tmp_path: Path) -> None:
    written("test", tmp_path)
    (tmp_path / "pyproject.toml").unlink()
    said = pytest_in(tmp_path, DUEBELL_WORKER="trials:active")
    assert "2 errors" in said
    assert "say where your Worker is: `duebell_worker = myservice.actions:worker`" in said


def test_pytest_loads_nothing_of_duebell_before_a_test_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n\ndef test_it():\n    assert 'duebell_infra.pytest_plugin' in sys.modules\n"
        "    assert not {'boto3', 'duebell_editor', 'duebell_worker', 'duebell_shared'} & set(sys.modules)\n"
    )
    assert "1 passed" in pytest_in(tmp_path)


#: The variables of a service that adds tasks, with the stack's outputs for them.
ENVIRONMENT = {
    f"DUEBELL_{name.upper()}": {"Fn::GetAtt": ["Scheduler", f"Outputs.{name}Name"]}
    for name in ("Table", "Rule", "Function")
}
POLICY = {"Fn::GetAtt": ["Scheduler", "Outputs.EditorPolicyArn"]}


def resources_of(page: str, folder: Path, template: Any) -> Any:
    """The file that a page shows, read; the template has the parameters in it, and lacks none it needs."""
    text = (ROOT / "docs" / "how-to" / f"{page}.md").read_text(encoding="utf-8")
    [content] = re.findall(r"```yaml\n# \S+\n(.*?)```", text, re.DOTALL)
    (folder / f"{page}.yaml").write_text(content, encoding="utf-8")
    read = decode(str(folder / f"{page}.yaml"))[0]
    resources = read["resources"]["Resources"] if "resources" in read else read["Resources"]
    parameters = resources["Scheduler"]["Properties"]["Parameters"]
    needed = {name for name, one in template["Parameters"].items() if "Default" not in one}
    assert needed <= set(parameters) <= set(template["Parameters"])
    assert parameters["Name"] == "shop"
    assert json.loads(parameters["Environment"])
    return read


def test_sam(tmp_path: Path, template: Any) -> None:
    service = resources_of("sam", tmp_path, template)["Resources"]["Orders"]["Properties"]
    assert service["Environment"]["Variables"] == ENVIRONMENT
    assert service["Policies"] == [POLICY]
    assert {"TableName", "RuleName", "FunctionName", "EditorPolicyArn"} <= set(template["Outputs"])


def test_serverless(tmp_path: Path, template: Any) -> None:
    provider = resources_of("serverless", tmp_path, template)["provider"]
    assert provider["environment"] == ENVIRONMENT
    assert provider["iam"]["role"]["managedPolicies"] == [POLICY]


def test_every_problem_and_every_alarm_has_a_row_that_is_played(template: Any) -> None:
    resources = [one for one in template["Resources"].values() if one["Type"] == "AWS::CloudWatch::Alarm"]
    names = {one["Properties"]["AlarmName"]["Fn::Sub"].removeprefix("${Name}-") for one in resources}
    assert set(PROBLEMS) == set(ProblemKind)
    assert set(ALARMS) == names
    assert ON_MOTO.keys() | ON_THE_STACK.keys() | SAME.keys() == {*ProblemKind, *names}
    for alarm, problem in SAME.items():
        assert ALARMS[alarm].command == PROBLEMS[problem].command


def test_the_parameters_and_queries_that_it_names_exist(template: Any) -> None:
    named = set(re.findall(r"--parameter (\w+)=", ON_CALL)) | {"LatenessMilliseconds", "ParallelRuns"}
    assert named <= template["Parameters"].keys()
    queries = {
        one["Properties"]["Name"]["Fn::Sub"].rpartition("/")[2]
        for one in template["Resources"].values()
        if one["Type"] == "AWS::Logs::QueryDefinition"
    }
    assert set(re.findall(r"saved query \*([^*]+)\*", ON_CALL)) <= queries
    log = template["Resources"]["Log"]["Properties"]["LogGroupName"]["Fn::Sub"]
    assert log.replace("${Name}", "duebell") in ON_CALL


PAGE = (ROOT / "docs" / "scale.md").read_text()

#: Write units of a task with items up to 1 KB.
ADD, DONE = measured().add.write, measured().done.write


def numbers(heading: str, lanes: int) -> list[float]:
    """The row of so many lanes, in the table whose first row begins so."""
    table = PAGE[PAGE.index(f"| {heading} |") :].partition("\n\n")[0]
    [row] = re.findall(rf"^\| {lanes} \|(.*)\|$", table, re.MULTILINE)
    return [float(cell.strip().removesuffix(" million").replace(",", "")) for cell in row.split("|")]


@pytest.mark.parametrize("lanes", [1, 4, 16, 64])
def test_what_lanes_carry(lanes: int) -> None:
    # DynamoDB takes 1,000 write units a second for a partition, and 10 GB for an item collection
    rates = [lanes * 1_000 / ADD, lanes * 1_000 / (ADD + DONE - 1)]
    waiting = [lanes * 10e9 / size / 1e6 for size in (500, 1_000, 4_000)]
    assert numbers("lanes | adds a second", lanes) == [*rates, *waiting]
    ended = [int(lanes * 10e9 / (days * 86_400 * 1_000)) for days in (1, 3, 14, 30)]
    assert numbers("lanes | 1 day", lanes) == ended


def test_a_tasks_units() -> None:
    units = ADD + DONE
    assert f"**{units:g} · {units - 1:g} · {units - 1:g}**" in PAGE
