"""The scheduler as a construct for the AWS CDK: the template of `duebell deploy`, in a stack of yours."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aws_cdk import Aws, Fn, Stack, Token
from aws_cdk.aws_iam import IRole, ManagedPolicy
from aws_cdk.aws_lambda import Function, IFunction
from aws_cdk.aws_s3_assets import Asset
from aws_cdk.aws_sqs import IQueue, Queue
from aws_cdk.cloudformation_include import CfnInclude
from constructs import Construct

from duebell_infra.bundle.bundle import build
from duebell_infra.bundle.target import Architecture, Target
from duebell_infra.errors import InvalidDeployment
from duebell_shared.deliveries.delivery import ENVIRONMENT, deliveries_in
from duebell_shared.quoting import quoted

from .deliveries import DELIVERIES, LISTS, as_parameter, permitted
from .parameters import (
    IN_TEMPLATE,
    NOT_BY_NAME,
    check_parameters,
    check_scheduler_name,
    check_together,
    environment_of,
    intake_visibility,
    settings_of,
    variables_of_actions,
    version_parameter,
)
from .stack import template_file, template_text


def _checked(given: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The fields of each delivery by its name. Raises InvalidDeployment if one has a token of the CDK."""
    deliveries = {name: one if isinstance(one, Mapping) else {"to": one} for name, one in given.items()}
    for name, fields in deliveries.items():
        if any(map(Token.is_unresolved, fields.values())):
            raise InvalidDeployment(
                "deliveries",
                f"{quoted(name)}: only CloudFormation knows an ARN in it, and the permissions need it now. "
                f"Name the resource, give the stack an env, and write the ARN with its region and account",
            )
    return deliveries


#: The template's conditions that hold if a parameter is given, each with this parameter. A condition cannot
#: use a value that CloudFormation makes, such as the ARN of a topic in the same stack. If a parameter has
#: such a value, its condition is replaced by one that always holds.
GIVEN = {
    "HasBoundary": "PermissionsBoundaryArn",
    "HasKey": "KmsKeyArn",
    "HasLayers": "Layers",
    "HasPolicies": "WorkerPolicies",
    "IsInVpc": "SubnetIds",
    "TellsMail": "AlarmMail",
    "TellsTopic": "AlarmTopicArn",
}

#: The parameters that the construct sets itself.
_OURS = {
    *NOT_BY_NAME,
    *("Environment", "Intake", DELIVERIES, *LISTS.values()),
}


class Scheduler(Construct):
    """A table, a rule, a worker and all that belongs to them.

    `function` is the worker. `environment` has the variables that services need to add tasks, from all
    parameters without tokens. `grant_editing` lets a role add tasks. `intake` is the intake queue, if there
    is one: its `grant_send_messages` lets a role send to it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        actions: str | None = None,
        deliveries: Mapping[str, str | Mapping[str, Any]] | None = None,
        intake: bool = False,
        name: str = "duebell",
        folder: Path | None = None,
        requirements: Path | None = None,
        python: str | None = None,
        architecture: str = "arm64",
        environment: Mapping[str, str] | None = None,
        parameters: Mapping[str, str | int | Sequence[str]] | None = None,
    ) -> None:
        """Build the bundle, and declare the scheduler with it.

        actions       `module:attribute` of the Worker; None: no code of yours, deliveries only
        deliveries    actions that are deliveries, by name: an ARN or an https URL; or a mapping with it as
                      `to`, and the other fields of `worker.deliver`
        intake        True: with an intake queue, whose messages add and change tasks
        name          names table, rule and worker; 3 to 30 letters, digits and hyphens
        folder        where the actions are looked for first; the current one if not given
        requirements  a requirements file or a pyproject.toml, with what the actions need
        python        Lambda's Python, such as `3.13`; by default the one that runs this, if Lambda has it
        architecture  Lambda's processor, arm64 or x86_64
        environment   what the actions find in their environment; tokens may be in it
        parameters    other parameters of the template, such as `MemorySize`, `AlarmMail`, `SubnetIds`

        Raises BundleFailed, InvalidDeployment and InvalidSettings.
        """
        super().__init__(scope, id)
        check_scheduler_name(name)
        given = dict(parameters or {})
        if wrong := sorted(given.keys() - (IN_TEMPLATE - _OURS)):
            raise InvalidDeployment("parameters", f"the construct takes no parameter {wrong[0]}")
        written = {one: value for one, value in _texts(given).items() if _is_text(value)}
        check_parameters(written)
        own = {"Environment": json.dumps(dict(environment or {}))}
        variables = variables_of_actions(own, template_text())
        self.environment = environment_of(settings_of(name, {**written, "Intake": "yes" if intake else "no"}))
        delivered = as_parameter(_checked(deliveries or {}))
        target = Target(python=python or Target.like_here().python, architecture=Architecture(architecture))
        check_together({**given, "Runtime": target.runtime})
        built = build(
            actions,
            target,
            requirements=requirements,
            folder=folder,
            environment={**self.environment, ENVIRONMENT: delivered, **variables},
            has_layers=bool(given.get("Layers")),
        )
        with TemporaryDirectory(prefix="duebell-cdk-") as made:
            file = Path(made, "worker.zip")
            file.write_bytes(built.data)
            bundle = Asset(self, "Bundle", path=str(file))
        lists = permitted([*deliveries_in(delivered).values(), *(built.deliveries or ())], before={})
        ours = {
            "Name": name,
            "Worker": actions or "",
            DELIVERIES: delivered,
            "Intake": "yes" if intake else "no",
            **intake_visibility(given),
            **{parameter: arns.split(",") for parameter, arns in lists.items() if arns},
            "CodeBucket": bundle.s3_bucket_name,
            "CodeKey": bundle.s3_object_key,
            "Runtime": target.runtime,
            "Architecture": target.architecture.value,
            "Environment": Stack.of(self).to_json_string(dict(environment or {})),
            "ExistingTable": "no",
        }
        parameters_given = {**given, **ours}
        # Resolved, as the names of tokens change from one synthesis to the next.
        settled = {name: Stack.of(self).resolve(value) for name, value in parameters_given.items()}
        parameters_given |= version_parameter(settled, template_text())
        self._template = CfnInclude(
            self,
            "Template",
            template_file=str(template_file()),
            parameters=_texts(parameters_given),
            preserve_logical_ids=False,  # a stack may have several
        )
        self._narrow(IN_TEMPLATE - parameters_given.keys())
        for condition, parameter in GIVEN.items():
            if _is_made(parameters_given.get(parameter)):
                self._template.get_condition(condition).expression = Fn.condition_equals("yes", "yes")
        place = f"{Aws.REGION}:{Aws.ACCOUNT_ID}"
        self.function: IFunction = Function.from_function_arn(
            self, "Function", f"arn:{Aws.PARTITION}:lambda:{place}:function:{name}"
        )
        self.intake: IQueue | None = None
        if intake:
            arn = self._template.get_resource("IntakeQueue").get_att("Arn").to_string()
            self.intake = Queue.from_queue_arn(self, "Intake", arn)
        policy = self._template.get_resource("EditorPolicy").ref
        self._editing = ManagedPolicy.from_managed_policy_arn(self, "Editing", policy)

    def _narrow(self, names: Iterable[str]) -> None:
        """Replace the list of values of each parameter by a pattern.

        The CDK's validation (aws-cdk-lib 2.275) tries the values of all lists that a resource refers to in
        all combinations, and runs out of memory. A pattern has none to try.
        """
        for name in names:
            parameter = self._template.get_parameter(name)
            if parameter.type == "String" and (values := parameter.allowed_values):
                parameter.allowed_pattern, parameter.allowed_values = "|".join(values), None

    def grant_editing(self, role: IRole) -> None:
        """Let this role add tasks and change them."""
        role.add_managed_policy(self._editing)


def _is_text(value: object) -> bool:
    """Return True for a text that is known now, not made by CloudFormation."""
    return isinstance(value, str) and not Token.is_unresolved(value)


def _is_made(value: object) -> bool:
    """Return True if CloudFormation makes this value, or one in this list."""
    return any(map(_is_made, value)) if isinstance(value, list | tuple) else Token.is_unresolved(value)


def _texts(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The values as the template has them: numbers are texts."""
    return {name: str(value) if isinstance(value, int) else value for name, value in parameters.items()}
