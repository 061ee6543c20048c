"""Deploys a stack to AWS, or to the embedded stack: bundle, upload, template, then the rule is armed."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import boto3

from duebell_editor.library.editor import Editor
from duebell_editor.status.doctor import restore
from duebell_infra.aws import aws_calls
from duebell_infra.bundle.bundle import Bundle, build
from duebell_infra.bundle.target import Architecture, Place, Target
from duebell_infra.errors import DeployFailed, InvalidDeployment
from duebell_shared.backend import Backend
from duebell_shared.deliveries.delivery import ENVIRONMENT, deliveries_in
from duebell_shared.errors import AwsRefused, DuebellError
from duebell_shared.settings import Settings

from .artifacts import Artifacts
from .bells import arm_before_removal, arm_this_bell, keep_other_bell, next_step
from .deliveries import DELIVERIES, LISTS, Deliveries, as_parameter, permitted
from .parameters import (
    IN_TEMPLATE,
    NOT_BY_NAME,
    PARAMETERS,
    VERSION_KEY,
    check_parameters,
    check_scheduler_name,
    check_together,
    environment_of,
    intake_visibility,
    settings_of,
    variables_of_actions,
    version_parameter,
)
from .queue_table import QueueTable
from .stack import Stack, template_text
from .worker import call_once, sync_declared


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """The stack to deploy. A field that is None stays as it was deployed last, or is the template's default.

    name          names the stack, the table, the bell and the worker; 3 to 30 letters, digits and hyphens
    actions       `module:attribute` of the Worker to bundle; "": no code of yours, deliveries only
    deliver       all deliveries that need no code, by name, with the fields of `worker.deliver`
    requirements  a requirements file with what the actions need
    folder        where the actions are looked for first; None: the current folder
    bucket        where the bundle is uploaded to; None: that of before, or duebell's own
    python        version of Lambda's Python, such as 3.13
    architecture  its processor
    place         Lambda, or this machine: then `python` and `architecture` are this machine's
    imported      False: the bundle is not imported here before it is uploaded
    parameters    more parameters of the template, by name
    """

    name: str = "duebell"
    actions: str | None = None
    deliver: Deliveries | None = None
    requirements: Path | None = None
    folder: Path | None = None
    bucket: str | None = None
    python: str | None = None
    architecture: Architecture | None = None
    place: Place = Place.LAMBDA
    imported: bool = True
    parameters: Mapping[str, str] = field(default_factory=dict)


def deploy(
    session: boto3.Session,
    deployment: Deployment,
    *,
    say: Callable[[str], None],
    progress: Callable[[str], None] = lambda _: None,
    synced: Callable[[str], None] | None = None,
) -> Settings:
    """Create or update the stack and arm its rule; returns the settings that clients need.

    `say` is given a line for each step, and `progress` one for each change of a resource. `synced` is given
    one for each recurring task that is changed; without `synced`, `say` is given these.

    A repeated deployment changes nothing, and an armed rule stays as it is whatever else changes. The worker
    is called once at the end, for no task. Raises DeployFailed (WorkerFailed, if the worker cannot start),
    BundleFailed and what `Editor.ensure_armed` raises.
    """
    name = check_scheduler_name(deployment.name)
    with aws_calls("AWS cannot be used"):
        account = session.client("sts").get_caller_identity()["Account"]
        stack = Stack(session.client("cloudformation"), name, progress=progress)
    template = template_text()
    before = {key: value for key, value in stack.parameters().items() if key in IN_TEMPLATE}

    given = _given(deployment, before)
    given |= keep_other_bell(before, given, deployment.parameters)
    if deployment.actions is None:
        deployment = replace(deployment, actions=_actions_of(deployment, before, given))
    target = _target(deployment, before)
    check_together({**given, "Runtime": target.runtime})
    bundle = _bundle(deployment, target, name=name, parameters=given, say=say)
    artifacts = Artifacts(session, account=account, bucket=deployment.bucket or before.get("CodeBucket"))
    key = artifacts.upload(bundle, stack=name)
    code = {"CodeBucket": artifacts.bucket, "CodeKey": key, "Worker": bundle.actions}
    code |= _permissions(bundle, given, before, say=say)

    python = {"Runtime": target.runtime, "Architecture": target.architecture.value}
    table = QueueTable(session, name)
    parameters = {**given, **python, **code, "Name": name}
    parameters |= _found_table(table, before)
    parameters |= version_parameter(parameters, template)
    settings = settings_of(name, parameters)
    backend = Backend.connect(settings, session)
    arm_before_removal(backend, before, parameters)
    if parameters["ExistingTable"] == "yes" and (changed := table.take_up(parameters)):
        say(f"table {name}, taken up as it was: {', '.join(changed)}")
    try:
        # The tags are always the same: if they changed, CloudFormation would write the rule anew.
        outcome = stack.apply(template, parameters, tags={"duebell": name})
    except DeployFailed:
        if before:  # the old stack is still there, and its bell must ring
            with suppress(DuebellError):
                Backend.connect(settings_of(name, before), session).armer.verify()
        raise
    try:
        # CloudFormation sees no change in the template if somebody deleted a part of the bell.
        for what in restore(backend):
            say(f"{settings.bell} {settings.rule}: put back {what}, which was missing")
    except AwsRefused as error:
        say(str(error))
    _arm(backend, parameters, say=say)
    table.wait_for_indexes(say)
    mail = parameters.get("AlarmMail")
    if mail and mail != before.get("AlarmMail"):
        say(f"alarms: {mail} must agree first, by the link in a mail that AWS has sent there")
    say(f"stack {name}: {outcome}")
    call_once(session, settings.function or name, say=say)
    sync_declared(Editor(backend=backend), say=synced or say)  # what the worker that was just called declares
    return settings


def _arm(backend: Backend, parameters: Mapping[str, str], *, say: Callable[[str], None]) -> None:
    """Arm the queue by the bell of the stack. If there are two bells, `say` is told the next step."""
    head_start = backend.settings.head_start
    backend.armer.change(lambda record: record.ringing_ahead(head_start))
    backend.armer.verify()
    if step := next_step(parameters):
        arm_this_bell(backend)
        say(step)


def _given(deployment: Deployment, before: Mapping[str, str]) -> dict[str, str]:
    """The parameters that are given now or were before. Raises InvalidDeployment if one cannot be right."""
    for name in sorted(deployment.parameters.keys() & {DELIVERIES, *LISTS.values(), *NOT_BY_NAME}):
        option = PARAMETERS[name].option
        how = f"is set by {option}" if option else "follows from others"
        raise InvalidDeployment("parameters", f"{name} {how}: leave it out")
    given = {**before, **deployment.parameters}
    check_parameters(given)
    given.pop(VERSION_KEY, None)
    given[DELIVERIES] = before.get(DELIVERIES) or "{}"
    if deployment.deliver is not None:
        given[DELIVERIES] = as_parameter(deployment.deliver)
    given |= intake_visibility(given)
    return given


def _actions_of(deployment: Deployment, before: Mapping[str, str], given: Mapping[str, str]) -> str:
    """The actions that were deployed before. Raises InvalidDeployment if there is nothing to deploy."""
    if deployment.place is Place.LAMBDA and not before and given[DELIVERIES] == "{}":
        raise InvalidDeployment(
            "actions", "is missing: name the Worker with your actions, or a delivery (`--deliver NAME=ARN`)"
        )
    return before.get("Worker", "")


def _permissions(
    bundle: Bundle, given: Mapping[str, str], before: Mapping[str, str], *, say: Callable[[str], None]
) -> dict[str, str]:
    """The parameters with ARNs that the worker may deliver to. `say` is given a line for each delivery."""
    without_code = deliveries_in(given[DELIVERIES])
    in_code = [one for one in bundle.deliveries or () if one.name not in without_code]
    for one in (*without_code.values(), *in_code):
        say(f"delivery: {one.name} to {one.target.shown}")
    if bundle.deliveries is not None:
        return permitted([*without_code.values(), *in_code], before={})
    if kept := [name for name in LISTS.values() if before.get(name)]:
        say(f"deliveries in code are not known, as it was not imported, so {', '.join(kept)} stay permitted")
    return permitted(without_code.values(), before=before)


def _bundle(
    deployment: Deployment,
    target: Target,
    *,
    name: str,
    parameters: Mapping[str, str],
    say: Callable[[str], None],
) -> Bundle:
    """Build the bundle, and import it as the worker will be set up. Raises BundleFailed."""
    environment = {
        **environment_of(settings_of(name, parameters)),
        ENVIRONMENT: parameters[DELIVERIES],
        **variables_of_actions(parameters, template_text()),
    }
    bundle = build(
        deployment.actions,
        target,
        requirements=deployment.requirements,
        folder=deployment.folder,
        imported=deployment.imported,
        environment=environment,
        has_layers=bool(parameters.get("Layers")),
    )
    say(f"bundle: {bundle}")
    for note in bundle.notes:
        say(f"bundle: {note}")
    return bundle


def _found_table(table: QueueTable, before: Mapping[str, str]) -> dict[str, str]:
    """The parameter for a table that exists, but in no stack. Raises DeployFailed."""
    if before.get("ExistingTable") == "no":
        return {}
    return {"ExistingTable": "yes" if table.exists() else "no"}


def _target(deployment: Deployment, before: Mapping[str, str]) -> Target:
    """The target that is asked for, else that of the last deployment, else the Lambda like this machine."""
    if deployment.place is Place.THIS_MACHINE:
        return Target.this_machine()
    default = Target.like_here()
    python = deployment.python or before.get("Runtime", default.runtime).removeprefix("python")
    architecture = deployment.architecture or Architecture(before.get("Architecture", default.architecture))
    return Target(python=python, architecture=architecture)


def destroy(
    session: boto3.Session,
    name: str,
    *,
    delete_table: bool,
    say: Callable[[str], None],
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Delete the stack of this name, and if `delete_table`, the table with all tasks. Raises DeployFailed.

    A table that is kept is taken up again by the next deployment of the same name.
    """
    with aws_calls("AWS cannot be used"):
        stack = Stack(session.client("cloudformation"), name, progress=progress)
    say(f"stack {name}: {'deleted' if stack.delete() else 'there is none'}")
    table = QueueTable(session, name)
    if delete_table:
        say(f"table {name}: {'deleted' if table.delete() else 'there is none'}")
    elif table.exists():
        say(
            f"table {name}: kept, with every task in it; the next deployment takes it up again, and "
            f"`duebell destroy --name {name} --delete-table` deletes it"
        )
