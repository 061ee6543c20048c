"""After a deployment the rule is armed: whether a setting changed, or the rule itself, or it all failed."""

import re

import pytest

from duebell_infra.deploy import deploy as module
from duebell_infra.deploy.stack import Stack, template_text
from duebell_infra.errors import DeployFailed
from duebell_shared.bell.expression import SENTINEL
from tests.e2e.deployer import LATER, Deployer
from tests.support import SetFor

pytestmark = pytest.mark.e2e


def with_another_rule() -> str:
    """A later version of the template, in which the rule's target had to change."""
    before, after = "MaximumRetryAttempts: 185", "MaximumRetryAttempts: 100"
    assert before in template_text()
    return template_text().replace(before, after)


def apply(deployer: Deployer, template: str) -> None:
    """What CloudFormation alone does, without what `duebell deploy` does beside."""
    stack = Stack(deployer.session.client("cloudformation"), deployer.name, progress=deployer.said.append)
    stack.apply(template, stack.parameters(), tags={"duebell": deployer.name})


def retries(deployer: Deployer) -> int:
    [target] = deployer.session.client("events").list_targets_by_rule(Rule=deployer.name)["Targets"]
    return target["RetryPolicy"]["MaximumRetryAttempts"]


def test_a_change_of_the_rule_itself_ends_with_it_armed(
    deployer: Deployer, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployer.deploy().add("succeed", due=LATER)
    text = with_another_rule()
    apply(deployer, text)
    assert deployer.rule == SENTINEL  # what CloudFormation alone does to a rule that is to change

    monkeypatch.setattr(module, "template_text", lambda: text)
    deployer.deploy()

    assert (deployer.rule, retries(deployer)) == (SetFor(LATER), 100)


def test_a_change_of_the_rule_that_is_rolled_back_ends_with_it_armed(
    deployer: Deployer, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployer.deploy().add("succeed", due=LATER)
    broken = re.sub("Qualifier: .*", "Qualifier: missing", with_another_rule())
    with monkeypatch.context() as patch:
        patch.setattr(module, "template_text", lambda: broken)
        with pytest.raises(DeployFailed, match="missing"):
            deployer.deploy()

    assert (deployer.rule, retries(deployer)) == (SetFor(LATER), 185)
