"""The templates in all regions: not every region has every type, property and call."""

from typing import Any

from cfnlint.helpers import REGIONS  # type: ignore[import-untyped]
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from tests.infra.both import properties


def test_each_region_knows_every_type_of_resource(template: Any) -> None:
    types = {one["Type"] for one in template["Resources"].values()}
    for region in REGIONS:
        assert types <= set(PROVIDER_SCHEMA_MANAGER.get_resource_types(region)), region


def test_loops_are_allowed_only_where_lambda_looks_for_them(template: Any, module: Any) -> None:
    # https://github.com/aws/aws-lambda-roadmap/issues/18
    without = ["mx-central-1", "ap-southeast-6"]
    ours = properties(template, "Function")["RecursiveLoop"]
    assert ours == {"Fn::If": ["LooksForLoops", "Allow", {"Ref": "AWS::NoValue"}]}
    partition, *regions = template["Conditions"]["LooksForLoops"]["Fn::And"]
    assert partition == {"Fn::Equals": [{"Ref": "AWS::Partition"}, "aws"]}
    assert regions == [{"Fn::Not": [{"Fn::Equals": [{"Ref": "AWS::Region"}, region]}]} for region in without]
    loop = module["resource"]["aws_lambda_function_recursion_config"]["worker"]
    assert loop["count"] == "${local.looks_for_loops ? 1 : 0}"
    looks = module["locals"]["looks_for_loops"]
    assert 'partition == "aws"' in looks
    assert all(region in looks for region in without)


def test_the_mapping_of_the_intake_has_no_tags(template: Any, module: Any) -> None:
    # https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/2137
    assert "Tags" not in properties(template, "IntakeMapping")
    assert "tags" not in module["resource"]["aws_lambda_event_source_mapping"]["intake"]
