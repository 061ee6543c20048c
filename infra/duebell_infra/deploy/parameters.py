"""The parameters of a stack: one row each. Some are computed from others.

The `Parameters` of template.yaml, Terraform's variables.tf and docs/parameters.md are made of these
rows by `make reference`. The Terraform variable has the same name in snake case. A parameter that worker and
clients read as a setting has its meaning, bounds and default from the setting.

With SnapStart the worker is a published version, and Lambda starts it from a snapshot.
https://docs.aws.amazon.com/lambda/latest/dg/snapstart.html
"""

import hashlib
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

import msgspec

from duebell_infra.bundle.target import PYTHONS, Architecture, Target
from duebell_infra.errors import InvalidDeployment
from duebell_shared.deliveries.kinds import KINDS, NEEDED
from duebell_shared.quoting import quoted
from duebell_shared.settings import LOCAL, SETTINGS, Settings


class Parameter(msgspec.Struct, frozen=True):
    """A row of the table.

    means     what it is for
    kind      the form of its values: a Terraform variable is a bool for yes and on
    default   the default as text; None if it must be given
    values    the allowed texts; empty if other texts are allowed
    least     the bounds of a number
    most      see least
    pattern   what a text must match
    says      what such a text is, in words for the message
    option    the option of `duebell deploy`
    variable  the environment variable of worker and clients for the same setting
    only      the one tool that has it; empty if both have it
    """

    means: str
    kind: Literal["text", "number", "yes", "on", "list", "map"] = "text"
    default: str | None = ""
    values: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    pattern: str = ""
    says: str = ""
    option: str = ""
    variable: str = ""
    only: Literal["", "CloudFormation", "Terraform"] = ""

    @property
    def allowed(self) -> tuple[str, ...]:
        """All values that it may have; none if they are not listed."""
        if self.kind in {"yes", "on"}:
            return ("yes", "no") if self.kind == "yes" else ("on", "off")
        return ("", *self.values) if self.values and not self.default else self.values


def _of_setting(field: str, *, option: str = "", pattern: str = "", says: str = "") -> Parameter:
    """The parameter for a setting."""
    row, default = SETTINGS[field], getattr(Settings(), field)
    days = default.days if isinstance(default, timedelta) else default
    return Parameter(
        row.means,
        kind="text" if row.kind.least is None else "number",
        default="" if days is None else str(days),
        values=row.kind.values,
        least=row.kind.least,
        most=row.kind.most,
        pattern=pattern,
        says=says,
        option=option,
        variable=row.variable,
    )


#: All parameters, by their names in CloudFormation.
PARAMETERS = {
    # CloudFormation takes neither underscores nor a digit in front. The shortest limit is that of the
    # worker's role in Terraform: 38 characters before what Terraform adds, eight of which are `-worker-`.
    # https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
    "Name": Parameter(
        "Names the table, the rule, the worker and the rest. Cannot be changed later.",
        default="duebell", pattern=r"[a-zA-Z][a-zA-Z0-9-]{2,29}",
        says="3 to 30 letters, digits and hyphens, and a letter first", option="--name",
    ),
    "Color": _of_setting("color", option="--color"),
    "CodeBucket": Parameter(
        "The S3 bucket that holds the worker's bundle.",
        default=None, option="--bucket", only="CloudFormation",
    ),
    "CodeKey": Parameter(
        "The bundle's key in the bucket. It holds a hash of the bundle, so that it changes with the "
        "code.",
        default=None, only="CloudFormation",
    ),
    "Worker": Parameter(
        "module:attribute of the Worker in the bundle. Without it the worker's only actions are its "
        "deliveries.",
        option="--actions",
    ),
    "Bell": _of_setting("bell", option="--bell"),
    "OtherBell": Parameter(
        "Whether the other bell stays beside it, for clients that still set it. duebell deploy turns "
        "it on when Bell changes.",
        kind="yes",
    ),
    "Heartbeat": Parameter(
        "How often a second rule, which nobody changes, wakes the worker to check the one rule. With alarms, "
        "an alarm goes off when it does not.",
        default="off", values=("off", "daily", "hourly"),
    ),
    "Lanes": _of_setting("lanes", option="--lanes"),
    "RetentionDays": _of_setting("retention", option="--retention-days"),
    "History": _of_setting("history", option="--history"),
    "KeptPayload": _of_setting("kept_payload", option="--kept-payload"),
    "Audit": _of_setting("audit", option="--audit"),
    "AuditDays": _of_setting("audit_retention"),
    "ExistingTable": Parameter(
        "Whether to take up a table that an earlier stack of this name left. Set by duebell deploy.",
        kind="yes", only="CloudFormation",
    ),
    "Runtime": Parameter(
        "The Python that the bundle was built for.",
        default=Target().runtime, values=tuple(f"python{one}" for one in PYTHONS), option="--python",
    ),
    "Architecture": Parameter(
        "The processor that the bundle was built for.",
        default=Target().architecture, values=tuple(Architecture), option="--architecture",
    ),
    "MemorySize": Parameter(
        "The worker's memory in MB; its share of the processor grows with it.",
        kind="number", default="512", least=128, most=10240, option="--memory",
    ),
    "Timeout": Parameter(
        "The longest that one run may take, in seconds. The rest goes on in the next run.",
        kind="number", default="300", least=30, most=900, option="--timeout",
    ),
    "SnapStart": Parameter(
        "Whether Lambda starts the worker from a snapshot of the process. Needs Python 3.12 or newer. "
        "Lambda charges for keeping it, and for each start from it.",
        kind="yes", option="--snap-start",
    ),
    "VersionKey": Parameter(
        "Names the version of the snapshot. Set by duebell deploy. Another tool must change it with "
        "each change of the bundle or of a parameter.",
        only="CloudFormation",
    ),
    "Precision": _of_setting("precision", option="--precision"),
    "ParallelRuns": _of_setting("parallel_runs"),
    "LogRetentionDays": Parameter(
        "Days for which the worker's log is kept.",
        kind="number", default="30", values=("1", "3", "5", "7", "14", "30", "60", "90", "120", "150",
        "180", "365", "400", "545", "731", "1096", "1827", "2192", "2557", "2922", "3288", "3653"),
        option="--log-retention-days",
    ),
    "LogFormat": Parameter(
        "The format of what your actions log, and of Lambda's own lines. The worker's lines are JSON "
        "in both. In JSON, Lambda can filter all by their level.",
        default="Text", values=("Text", "JSON"), option="--log-format",
    ),
    "Capacity": Parameter(
        "How DynamoDB is paid for. on-demand, by the request; provisioned, by the hour, between the "
        "units below, scaled to 70 % use. The same bounds are for the table and for past-index.",
        default="on-demand", values=("on-demand", "provisioned"), option="--capacity",
    ),
    "MinReadUnits": Parameter(
        "The fewest read units that are provisioned.",
        kind="number", default="10", least=1, option="--min-read-units",
    ),
    "MaxReadUnits": Parameter(
        "The most read units that are provisioned.",
        kind="number", default="3000", least=1, option="--max-read-units",
    ),
    "MinWriteUnits": Parameter(
        "The fewest write units that are provisioned.",
        kind="number", default="10", least=1, option="--min-write-units",
    ),
    "MaxWriteUnits": Parameter(
        "The most write units that are provisioned.",
        kind="number", default="4000", least=1, option="--max-write-units",
    ),
    "DeletionProtection": Parameter(
        "Whether the table refuses to be deleted. duebell destroy --delete-table turns it off first.",
        kind="yes", default="yes",
    ),
    "KmsKeyArn": Parameter(
        "A KMS key of yours for the table, the queues, the log and the environment. Without it AWS's "
        "own keys are used.",
    ),
    "Environment": Parameter(
        "Environment variables for your actions, as a JSON object of texts. Not for secrets: give "
        "the worker a policy to read those where they are kept.",
        kind="map", option="--env",
    ),
    "WorkerPolicies": Parameter(
        "ARNs of IAM managed policies with what your actions may do, beside what duebell needs.",
        kind="list",
    ),
    "Deliveries": Parameter(
        "Actions that are deliveries: a JSON object, each name with its target and options. Set by "
        "duebell deploy --deliver. Their targets are in the lists below, for the worker's role.",
        kind="map", option="--deliver", only="CloudFormation",
    ),
    **{
        kind.parameter: Parameter(
            f"The {kind.word} ARNs that deliveries go to.",
            kind="list", only="CloudFormation",
        )
        for kind in KINDS.values()
    },
    **{
        one.parameter: Parameter(f"ARNs of {one.means}.", kind="list", only="CloudFormation")
        for one in NEEDED
    },
    "Intake": Parameter(
        "Whether there is an intake queue, an SQS queue whose messages add and change tasks.",
        kind="yes", option="--intake",
    ),
    "IntakeVisibility": Parameter(
        "Seconds until a message comes again after its run died: six times Timeout, and one. Set by "
        "duebell deploy.",
        kind="number", default="1801", least=181, most=5401, only="CloudFormation",
    ),
    "PermissionsBoundaryArn": Parameter(
        "An IAM policy that bounds what the worker's role may do, where your organisation wants one.",
    ),
    "SubnetIds": Parameter(
        "Subnets of a VPC for the worker. From there it reaches DynamoDB, EventBridge, Lambda and, with "
        "an intake queue, SQS by a NAT gateway or by endpoints of the VPC. Empty: no VPC.",
        kind="list",
    ),
    "SecurityGroupIds": Parameter(
        "Security groups of the worker in its subnets; they must let it out to port 443.",
        kind="list",
    ),
    "Layers": Parameter(
        "ARNs of versions of Lambda layers that the worker has, five at most.",
        kind="list",
    ),
    "Tracing": Parameter(
        "Whether X-Ray traces the worker's runs.",
        kind="yes",
    ),
    "Metrics": Parameter(
        "Whether the worker writes metrics without alarms; with alarms it always does. CloudWatch "
        "charges for each metric, and each action has five.",
        kind="on",
    ),
    "Alarms": Parameter(
        "Whether to make the alarms, the dashboard and the saved log queries even if the alarms tell "
        "nobody. CloudWatch charges for alarms and dashboards.",
        kind="yes",
    ),
    "AlarmMail": Parameter(
        "An address that the alarms are mailed to. AWS first sends it a mail with a link to agree.",
        pattern=r"([^@\s]+@[^@\s]+)?", says="an address of mail, such as oncall@example.com",
        option="--alarm-mail",
    ),
    "AlarmTopicArn": Parameter(
        "An SNS topic of yours that the alarms notify.",
        pattern=r"(arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]+)?",
        says="the ARN of an SNS topic, such as arn:aws:sns:eu-central-1:123456789012:oncall",
        option="--alarm-topic",
    ),
    "LatenessMilliseconds": Parameter(
        "How late one task in a hundred may start before the alarm, in milliseconds.",
        kind="number", default="300000", least=60000,
    ),
    "Bundle": Parameter(
        "The worker's bundle, a zip that `duebell bundle` built.",
        default=None, only="Terraform",
    ),
    "DeliveryArns": Parameter(
        "ARNs of the targets and secrets of the deliveries that your code declares, as `duebell "
        "bundle` names them. Those in deliveries need not be here.",
        kind="list", only="Terraform",
    ),
    "SavedQueries": Parameter(
        "Whether to save the log queries too; some regions and emulators have none.",
        kind="yes", default="yes",
    ),
}  # fmt: skip

#: The names of the parameters that the template has.
IN_TEMPLATE = {name for name, row in PARAMETERS.items() if row.only != "Terraform"}


def check_parameters(given: Mapping[str, str]) -> None:
    """Raise InvalidDeployment for a parameter that the template lacks, or a value that it does not take."""
    if unknown := sorted(given.keys() - IN_TEMPLATE):
        raise InvalidDeployment(
            "parameters",
            f"the template has no parameter {unknown[0]}; it has {', '.join(sorted(IN_TEMPLATE))}",
        )
    for name, value in given.items():
        row = PARAMETERS[name]
        if row.allowed and value not in row.allowed:
            *most, last = filter(None, row.allowed)
            raise InvalidDeployment(name, f"must be {', '.join(most)} or {last}, not {quoted(value)}")
        if row.least is not None:
            number = int(value) if value.isascii() and value.isdecimal() else -1
            if number < row.least or (row.most is not None and number > row.most):
                upper = "or more" if row.most is None else f"to {row.most}"
                raise InvalidDeployment(name, f"must be {row.least} {upper}, not {quoted(value)}")
        if row.pattern and not re.fullmatch(row.pattern, value):
            raise InvalidDeployment(name, f"{quoted(value)} is not {row.says}")


def check_together(given: Mapping[str, object]) -> None:
    """Raise InvalidDeployment for parameters that do not go together."""
    if bool(given.get("SubnetIds")) != bool(given.get("SecurityGroupIds")):
        raise InvalidDeployment("SubnetIds", "and SecurityGroupIds go together: give both, or neither")
    if given.get(SNAP_START) == "yes" and given.get("Runtime") == _TOO_OLD:
        raise InvalidDeployment(
            SNAP_START, "needs Python 3.12 or newer, and the worker is for 3.11: give --python 3.13"
        )
    for units in ("ReadUnits", "WriteUnits") if given.get("Capacity") == "provisioned" else ():
        names = [f"Min{units}", f"Max{units}"]
        least, most = (str(given.get(one) or PARAMETERS[one].default) for one in names)
        # A number that CloudFormation makes is not known yet.
        if least.isdecimal() and most.isdecimal() and int(least) > int(most):
            raise InvalidDeployment(names[1], f"must be at least {names[0]}, {least}, not {most}")


def variables_of_actions(parameters: Mapping[str, str], template: str) -> dict[str, str]:
    """The actions' own environment. Raises InvalidDeployment if the worker could not read it.

    `template` tells which variables the stack sets.
    """
    try:
        given = msgspec.json.decode(parameters.get("Environment", "{}"), type=dict[str, str])
    except msgspec.MsgspecError as error:
        raise InvalidDeployment("Environment", f"must be a JSON object of texts: {error}") from None
    of_the_stack = {"AWS_REGION", "AWS_DEFAULT_REGION", *re.findall(r"\bDUEBELL_\w+(?=:)", template)}
    for name, value in given.items():
        if name in of_the_stack:
            raise InvalidDeployment("Environment", f"cannot set {name}: the stack sets it")
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or "\0" in value:
            raise InvalidDeployment("Environment", f"cannot set {quoted(name)}: no variable can be so")
    return given


#: Names of parameters of the template.
SNAP_START, VERSION_KEY, INTAKE_VISIBILITY = "SnapStart", "VersionKey", "IntakeVisibility"

#: The parameters that no user sets by name: options of their own set them, or they follow from others.
NOT_BY_NAME = {
    *("Architecture", "CodeBucket", "CodeKey", "ExistingTable", "Name", "Runtime", "Worker"),
    *(VERSION_KEY, INTAKE_VISIBILITY),
}

#: The alias in the templates. It leads to the newest version.
_ALIAS = "live"

#: The Python of which Lambda takes no snapshots. It takes them of all newer versions.
_TOO_OLD = "python3.11"


def function_called(name: str, parameters: Mapping[str, object]) -> str:
    """The name by which rule, clients and runs call the worker of this scheduler: DUEBELL_FUNCTION."""
    return f"{name}:{_ALIAS}" if parameters.get(SNAP_START) == "yes" else name


def intake_visibility(parameters: Mapping[str, object]) -> dict[str, str]:
    """The parameter with the seconds after which a message comes again if its run died.

    AWS advises six times the function's timeout, and the batch window, which is a second.
    https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
    """
    timeout = str(parameters.get("Timeout", PARAMETERS["Timeout"].default))
    return {INTAKE_VISIBILITY: str(6 * int(timeout) + 1)} if timeout.isdecimal() else {}


def version_parameter(parameters: Mapping[str, object], template: str) -> dict[str, str]:
    """The parameter that makes Lambda publish another version when anything in the deployment has changed.

    The version may change although the worker is the same: only the template knows what a parameter is for.
    """
    if parameters.get(SNAP_START) != "yes":
        return {VERSION_KEY: ""}
    others = {name: value for name, value in parameters.items() if name != VERSION_KEY}
    content = msgspec.json.encode([template, others], order="sorted")
    return {VERSION_KEY: hashlib.sha256(content).hexdigest()[:32]}


def check_scheduler_name(name: str) -> str:
    """Return `name` if a scheduler can have it. Raises InvalidDeployment."""
    if name == LOCAL:
        raise InvalidDeployment("name", "`local` is the stack of `duebell local`: choose another name")
    row = PARAMETERS["Name"]
    if re.fullmatch(row.pattern, name):
        return name
    raise InvalidDeployment("name", f"a scheduler cannot be named {quoted(name)}: {row.says}")


#: The settings that clients have in common with the worker.
SHARED = (
    "retention",
    "history",
    "kept_payload",
    "audit",
    "audit_retention",
    "color",
    "bell",
    "intake",
)


def environment_of(settings: Settings) -> dict[str, str]:
    """The variables of this scheduler for its clients.

    Settings of the history, the colour, the bell and the intake are in it only if they are not the defaults.
    A client needs the setting of the history, as the worker does, because it ends the tasks that it cancels.
    """
    default = Settings()
    kept = {
        SETTINGS[field].variable: value.days if isinstance(value, timedelta) else value
        for field in SHARED
        if (value := getattr(settings, field)) != getattr(default, field)
    }
    return {
        "DUEBELL_TABLE": settings.table,
        "DUEBELL_RULE": settings.rule,
        "DUEBELL_FUNCTION": settings.function or "",
        **{variable: str(value) for variable, value in kept.items()},
    }


def settings_of(name: str, parameters: Mapping[str, str]) -> Settings:
    """The settings of clients and worker of a stack with these parameters. Raises InvalidSettings."""
    variables = {
        PARAMETERS[one].variable: value for one, value in parameters.items() if PARAMETERS[one].variable
    }
    if parameters.get("Intake") == "yes":
        variables["DUEBELL_INTAKE"] = f"{name}-intake"
    names = {
        "DUEBELL_TABLE": name,
        "DUEBELL_RULE": name,
        "DUEBELL_FUNCTION": function_called(name, parameters),
    }
    return Settings.from_env({**names, **variables})
