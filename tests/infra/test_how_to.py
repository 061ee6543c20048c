"""What docs/how-to and other pages say is done as they say it, by files, tests, tools and figures."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from cfnlint.decode import decode  # type: ignore[import-untyped]
from typer.main import get_command

from duebell import ProblemKind
from duebell_editor.cli.program import app
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


@pytest.mark.parametrize("pages", [("test", "fastapi")])
def test_the_tests_that_it_shows_pass(tmp_path: Path, pages: tuple[str, ...]) -> None:
    for page in pages:
        written(page, tmp_path)
    assert f"{len(pages) + 1} passed" in pytest_in(tmp_path)


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


HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"

#: The variables of a service that adds tasks, with the stack's outputs for them.
ENVIRONMENT = {
    "DUEBELL_TABLE": "TableName",
    "DUEBELL_RULE": "RuleName",
    "DUEBELL_FUNCTION": "FunctionName",
}


def text_of(page: str) -> str:
    return (HOW_TO / f"{page}.md").read_text(encoding="utf-8")


def file_of(page: str, folder: Path) -> Path:
    """The file that a page shows, written down."""
    [(name, content)] = re.findall(r"```(?:yaml|python)\n# (\S+)\n(.*?)```", text_of(page), re.DOTALL)
    file = folder / Path(name).name
    file.write_text(content, encoding="utf-8")
    return file


def fits(parameters: Any, template: Any) -> None:
    """Check that the template has these parameters, and that none it needs is missing."""
    needed = {name for name, one in template["Parameters"].items() if "Default" not in one}
    assert needed <= set(parameters) <= set(template["Parameters"])
    assert parameters["Name"] == "shop"


def test_sam(tmp_path: Path, template: Any) -> None:
    resources = decode(str(file_of("sam", tmp_path)))[0]["Resources"]
    parameters = resources["Scheduler"]["Properties"]["Parameters"]
    fits(parameters, template)
    assert json.loads(parameters["Environment"])
    service = resources["Orders"]["Properties"]
    given = service["Environment"]["Variables"]
    assert given == {
        name: {"Fn::GetAtt": ["Scheduler", f"Outputs.{one}"]} for name, one in ENVIRONMENT.items()
    }
    assert service["Policies"] == [{"Fn::GetAtt": ["Scheduler", "Outputs.EditorPolicyArn"]}]
    assert {*ENVIRONMENT.values(), "EditorPolicyArn"} <= set(template["Outputs"])


def test_serverless(tmp_path: Path, template: Any) -> None:
    read = yaml.safe_load(file_of("serverless", tmp_path).read_text())
    parameters = read["resources"]["Resources"]["Scheduler"]["Properties"]["Parameters"]
    fits(parameters, template)
    assert json.loads(parameters["Environment"])
    provider = read["provider"]
    wanted = {name: {"Fn::GetAtt": ["Scheduler", f"Outputs.{one}"]} for name, one in ENVIRONMENT.items()}
    assert provider["environment"] == wanted
    [policy] = provider["iam"]["role"]["managedPolicies"]
    assert policy == {"Fn::GetAtt": ["Scheduler", "Outputs.EditorPolicyArn"]}


def test_the_template_is_written_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    from duebell_infra.deploy.stack import template_text  # noqa: PLC0415

    get_command(app).main(["template"], standalone_mode=False)
    assert capsys.readouterr().out == template_text()


def alarms(template: Any) -> set[str]:
    resources = [one for one in template["Resources"].values() if one["Type"] == "AWS::CloudWatch::Alarm"]
    return {one["Properties"]["AlarmName"]["Fn::Sub"].removeprefix("${Name}-") for one in resources}


def test_every_problem_and_every_alarm_has_a_row_that_is_played(template: Any) -> None:
    names = alarms(template)
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


PAGE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()

#: Of DynamoDB: write units a second for a partition, and bytes for an item collection.
PARTITION, LANE = 1_000, 10e9

#: Write units of a task with items up to 1 KB: in all, by history; in its lane; of its add.
ADD, DONE = measured().add.write, measured().done.write
UNITS = {"all": ADD + DONE, "failed": ADD + DONE - 1, "none": ADD + DONE - 1}
IN_LANE, OF_ADD = ADD + DONE - 1, ADD

DAY = 86_400


def rows(heading: str) -> dict[str, list[str]]:
    """The table whose first row begins so: each row's other cells by its first."""
    table = PAGE[PAGE.index(f"| {heading} |") :].partition("\n\n")[0].splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table]
    return {first: rest for first, *rest in cells}


def numbers(cells: list[str]) -> list[float]:
    return [float(cell.removesuffix(" million").replace(",", "")) for cell in cells]


@pytest.mark.parametrize("lanes", [1, 4, 16, 64])
def test_what_lanes_carry(lanes: int) -> None:
    rates = [lanes * PARTITION / OF_ADD, lanes * PARTITION / IN_LANE]
    waiting = [lanes * LANE / size / 1e6 for size in (500, 1_000, 4_000)]
    assert numbers(rows("lanes | adds a second")[str(lanes)]) == [*rates, *waiting]
    ended = [int(lanes * LANE / (days * DAY * 1_000)) for days in (1, 3, 14, 30)]
    assert numbers(rows("lanes | 1 day")[str(lanes)]) == ended


def test_a_tasks_units() -> None:
    assert f"**{UNITS['all']:g} · {UNITS['failed']:g} · {UNITS['none']:g}**" in PAGE
