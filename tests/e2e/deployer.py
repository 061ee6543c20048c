"""A stack of a test's own on the embedded AWS, deployed through the real template and bundle."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from duebell import Editor
from duebell_infra.bundle.target import Place
from duebell_infra.deploy.deliveries import Deliveries
from duebell_infra.deploy.deploy import Deployment, deploy, destroy
from duebell_infra.local.stack import EmbeddedStack
from tests.e2e.support import ACTIONS, HERE, wait_for

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.type_defs import StackTypeDef

__all__ = ["LATER", "Deployer"]

LATER = datetime(2100, 1, 1, tzinfo=UTC)


class Deployer:
    """Deploys one stack of its own beside the shared one, and notes what it is told."""

    def __init__(self, stack: EmbeddedStack, name: str) -> None:
        self.session = stack.session
        self.deployment = Deployment(name=name, actions=ACTIONS, folder=HERE, place=Place.THIS_MACHINE)
        self.said: list[str] = []

    @property
    def name(self) -> str:
        return self.deployment.name

    def deploy(
        self,
        *,
        folder: Path = HERE,
        actions: str | None = ACTIONS,
        deliver: Deliveries | None = None,
        imported: bool = True,
        **parameters: str,
    ) -> Editor:
        given: Any = {"folder": folder, "actions": actions, "deliver": deliver, "imported": imported}
        deployment = replace(self.deployment, parameters=parameters, **given)
        settings = deploy(self.session, deployment, say=self.said.append, progress=self.said.append)
        return Editor(settings, session=self.session)

    def destroy(self, *, delete_table: bool = False) -> None:
        destroy(self.session, self.name, delete_table=delete_table, say=self.said.append)

    def run(self) -> None:
        """Invoke the worker, as a ring would."""
        answer = self.session.client("lambda").invoke(FunctionName=self.name)
        assert "FunctionError" not in answer, answer["Payload"].read()

    def why_failed(self, editor: Editor, id: str) -> str:
        """Invoke the worker till it has run this task, as another run may be at work; why it failed."""

        def is_finished() -> bool:
            self.run()
            return editor.get(id).status.is_finished

        wait_for(is_finished)
        failure = editor.get(id).failure
        assert failure
        return failure.message

    @property
    def rule(self) -> str:
        return self.session.client("events").describe_rule(Name=self.name)["ScheduleExpression"]

    @property
    def function(self) -> dict[str, object]:
        return dict(self.session.client("lambda").get_function_configuration(FunctionName=self.name))

    @property
    def stack(self) -> "StackTypeDef":
        return self.session.client("cloudformation").describe_stacks(StackName=self.name)["Stacks"][0]
