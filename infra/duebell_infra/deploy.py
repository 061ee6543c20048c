"""Deploys a stack to AWS, or to the embedded stack: bundle, upload, template, then the rule is armed."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import boto3

from duebell_editor import Editor
from duebell_shared.backend import Backend
from duebell_shared.errors import DuebellError
from duebell_shared.settings import Settings

from .artifacts import Artifacts
from .aws import aws_calls
from .bundle import build
from .declared import sync_declared
from .errors import DeployFailed, InvalidDeployment
from .naming import check_scheduler_name
from .queue_table import QueueTable, TableSettings
from .stack import Outcome, Stack
from .target import Architecture, Place, Target
from .template import parameter_names, template_text, unknown_types, without_types

__all__ = ["Deployment", "deploy"]

#: https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/activating-tags.html
_ACTIVATE_THE_TAG = (
    "budget: it counts nothing before the tag duebell is activated, once for each organisation: in the payer "
    "account, Billing and Cost Management, Cost allocation tags. A new tag is listed there within a day, and "
    "counts within another"
)

#: The variables with the scheduler's name, and those with a parameter that editors and worker share.
_NAMES = ("DUEBELL_TABLE", "DUEBELL_RULE", "DUEBELL_FUNCTION")
_VARIABLES = {
    "Lanes": "DUEBELL_LANES",
    "RetentionDays": "DUEBELL_RETENTION_DAYS",
    "History": "DUEBELL_HISTORY",
    "KeptPayload": "DUEBELL_KEPT_PAYLOAD",
    "Precision": "DUEBELL_PRECISION",
}


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """The stack to deploy. A field that is None stays as it was deployed last, or is the template's default.

    name          names the stack, the table, the rule and the worker; 3 to 30 letters, digits and hyphens
    actions       `module:attribute` of the Worker to bundle; None: a worker that knows no action
    requirements  a requirements file with what the actions need
    folder        where the actions are looked for first; None: the current folder
    bucket        where the bundle is uploaded to; None: a bucket of duebell's own
    python        version of Lambda's Python, such as 3.13
    architecture  its processor
    place         Lambda, or this machine: then `python` and `architecture` are this machine's
    parameters    more parameters of the template, by name
    """

    name: str = "duebell"
    actions: str | None = None
    requirements: Path | None = None
    folder: Path | None = None
    bucket: str | None = None
    python: str | None = None
    architecture: Architecture | None = None
    place: Place = Place.LAMBDA
    parameters: Mapping[str, str] = field(default_factory=dict)


def deploy(
    session: boto3.Session,
    deployment: Deployment,
    *,
    say: Callable[[str], None],
    progress: Callable[[str], None] = lambda _: None,
) -> Settings:
    """Create or update the stack and arm its rule; returns the settings that editors need.

    `say` is given a line for each step, and `progress` one for each change of a resource.

    Deploying what is deployed already changes nothing, and an armed rule stays as it is whatever else
    changes. Raises DeployFailed, BundleFailed and what `Editor.ensure_armed` raises.
    """
    name = check_scheduler_name(deployment.name)
    with aws_calls("AWS cannot be used"):
        account = session.client("sts").get_caller_identity()["Account"]
        stack = Stack(session.client("cloudformation"), name, progress=progress)
    template = template_text()
    known = parameter_names(template)
    before = {key: value for key, value in stack.parameters().items() if key in known}

    if unknown := sorted(deployment.parameters.keys() - known):
        raise InvalidDeployment(
            "parameters", f"the template has no parameter {unknown[0]}; it has {', '.join(sorted(known))}"
        )
    target = _target(deployment, before)
    bundle = build(deployment.actions, target, requirements=deployment.requirements, folder=deployment.folder)
    say(f"bundle: {bundle}")
    artifacts = Artifacts(session, account=account, bucket=deployment.bucket, progress=progress)
    key = artifacts.upload(bundle, stack=name)
    code = {"CodeBucket": artifacts.bucket, "CodeKey": key, "Worker": bundle.actions}

    python = {"Runtime": target.runtime, "Architecture": target.architecture.value}
    table = QueueTable(session, name)
    parameters = {**before, **deployment.parameters, **python, **code, "Name": name}
    parameters |= _found_table(table, before, deployment.parameters)
    settings = _settings(name, parameters)
    backend = Backend.connect(settings, session)
    editor = Editor(backend=backend)
    if parameters["ExistingTable"] == "yes":
        # Before the stack, which scales the table's capacity and brings the worker that uses its index.
        changed = table.settle(TableSettings.of(parameters))
        if changed:
            say(f"table {name}, taken up as it was: {', '.join(changed)}")
    try:
        # The tags are always the same: if they changed, CloudFormation would write the rule anew.
        outcome = _apply(stack, template, parameters, progress)
    except DeployFailed:
        if before:  # the old stack is still there, and its rule must ring
            with suppress(DuebellError):
                editor.ensure_armed()
        raise
    backend.armer.change(lambda record: record.ringing_ahead(settings.head_start))
    editor.ensure_armed()
    if _code_of(before) != _code_of(parameters):
        artifacts.retire(before)
    if float(parameters.get("MonthlyBudget", "0")):
        say(_ACTIVATE_THE_TAG)
    sync_declared(editor, say=say)
    say(f"stack {name}: {outcome}")
    return settings


def _found_table(table: QueueTable, before: Mapping[str, str], asked: Mapping[str, str]) -> dict[str, str]:
    """The parameters for a table that is there, but in no stack, and keeps its key."""
    if before.get("ExistingTable") == "no":
        return {}
    if not table.exists():
        return {"ExistingTable": "no"}
    if before or "KmsKeyArn" in asked:
        return {"ExistingTable": "yes"}
    return {"ExistingTable": "yes", "KmsKeyArn": table.customer_key()}


def _code_of(parameters: Mapping[str, str]) -> tuple[str | None, str | None]:
    return parameters.get("CodeBucket"), parameters.get("CodeKey")


def _apply(
    stack: Stack, template: str, parameters: Mapping[str, str], progress: Callable[[str], None]
) -> Outcome:
    """Apply the template without the types that this AWS does not know: some regions have no budgets."""
    tags = {"duebell": stack.name}
    try:
        return stack.apply(template, parameters, tags=tags)
    except DeployFailed as error:
        unknown = unknown_types(str(error))
        if not unknown:
            raise
    progress(f"left out, for it is not known here: {', '.join(sorted(unknown))}")
    return stack.apply(without_types(template, unknown), parameters, tags=tags)


def _target(deployment: Deployment, before: Mapping[str, str]) -> Target:
    """The target that is asked for, else that of the last deployment, else the default."""
    if deployment.place is Place.THIS_MACHINE:
        return Target.this_machine()
    default = Target()
    python = deployment.python or before.get("Runtime", default.runtime).removeprefix("python")
    architecture = deployment.architecture or Architecture(before.get("Architecture", default.architecture))
    return Target(python=python, architecture=architecture)


def _settings(name: str, parameters: Mapping[str, str]) -> Settings:
    """The settings of editors and worker. Raises InvalidSettings."""
    variables = {_VARIABLES[one]: value for one, value in parameters.items() if one in _VARIABLES}
    return Settings.from_env({**dict.fromkeys(_NAMES, name), **variables})
