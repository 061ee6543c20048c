"""SnapStart: a version of the worker is published with each change, and called by its alias."""

from typing import Any

from tests.infra.both import properties
from tests.infra.policies import ACCOUNT, granted, statements_of, worker_document
from tests.support import REGION

NONE = {"Ref": "AWS::NoValue"}


def test_all_that_call_or_wake_the_worker_do_so_by_the_alias(template: Any) -> None:
    worker = "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:${Name}"

    def by_alias(then: Any, otherwise: Any) -> dict[str, Any]:
        return {"Fn::If": ["StartsFromSnapshot", then, otherwise]}

    [target] = properties(template, "Rule")["Targets"]
    assert target["Arn"] == by_alias({"Fn::Sub": f"{worker}:live"}, {"Fn::Sub": worker})
    called = properties(template, "Permission")["FunctionName"]
    assert called == by_alias({"Ref": "Alias"}, {"Ref": "Function"})
    name = {"Fn::Select": [7, {"Fn::Split": [":", {"Ref": "Alias"}]}]}
    assert properties(template, "Retries")["Qualifier"] == by_alias(name, "$LATEST")
    variables = properties(template, "Function")["Environment"]["Variables"]
    assert variables["DUEBELL_FUNCTION"] == by_alias({"Fn::Sub": "${Name}:live"}, {"Ref": "Name"})
    output = template["Outputs"]["FunctionName"]["Value"]
    assert output == by_alias({"Fn::Sub": "${Function}:live"}, {"Ref": "Function"})


def test_editors_and_worker_may_call_it_only_where_it_is(template: Any) -> None:
    there = ("lambda:InvokeFunction", f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:duebell:live")
    for document in (
        properties(template, "EditorPolicy")["PolicyDocument"],
        worker_document(template["Resources"]),
    ):
        assert there not in granted(statements_of(document))
        assert there in granted(statements_of(document, {"StartsFromSnapshot": {}}))


def test_another_key_makes_another_version_of_another_function(template: Any) -> None:
    # Lambda publishes no version of a function that is as it was, so the key is in both.
    function, version = properties(template, "Function"), properties(template, "Version")
    assert function["SnapStart"] == {"Fn::If": ["StartsFromSnapshot", {"ApplyOn": "PublishedVersions"}, NONE]}
    assert function["Environment"]["Variables"]["DUEBELL_VERSION_KEY"] == {
        "Fn::If": ["StartsFromSnapshot", {"Ref": "VersionKey"}, NONE]
    }
    assert version["Description"] == {"Ref": "VersionKey"}
    alias = properties(template, "Alias")
    assert (alias["Name"], alias["FunctionVersion"]) == ("live", {"Fn::GetAtt": ["Version", "Version"]})
    for name in ("Version", "Alias"):
        assert template["Resources"][name]["Condition"] == "StartsFromSnapshot"
        assert "DeletionPolicy" not in template["Resources"][name]  # a version that was replaced is deleted
