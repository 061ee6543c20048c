"""The page for whoever is on call: every problem and alarm has its row, and what the page names is there."""

import re
from typing import Any

from duebell import ProblemKind
from tests.cli.runbook import ALARMS, ON_CALL, PROBLEMS
from tests.cli.test_runbook import SAME
from tests.cli.test_runbook import SCENES as ON_MOTO
from tests.e2e.test_runbook import SCENES as ON_THE_STACK


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
