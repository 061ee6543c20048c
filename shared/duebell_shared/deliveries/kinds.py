"""The kinds of targets, one class each: its ARN, its permissions, how to send to it, and its refusals.

The worker, the doctor and the templates use these classes to send, to look, and to give permissions. To
support another service of AWS, add a class.
"""

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec

from duebell_shared.aws.aws_session import is_here
from duebell_shared.aws.sqs import MOST_ENTRIES, queue_url
from duebell_shared.errors import InvalidSettings
from duebell_shared.quoting import quoted

#: A task definition has at most a task role and an execution role.
_MOST_ROLES = 2
_ROLE = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=.@/-]+", re.ASCII)


class Answer(NamedTuple):
    """A refusal by AWS, or a missing answer, for a whole call or for one message in a batch.

    code             AWS's code of the error
    message          AWS's message
    status           the call's HTTP status; 0 for one message in a batch
    is_senders       whether AWS says that the sender is at fault
    """

    code: str
    message: str
    status: int = 0
    is_senders: bool = False


_Answers = Sequence[Answer | None]


#: Bytes of a message beside its body, at most: the names of its attributes, their types, an entry's id.
_AROUND = 256


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A task as it is delivered.

    to       the ARN or the URL that it is sent to
    id, action, attempt   of the task
    due      when its occurrence is due, as text: `2026-12-31T00:00:00.000Z`
    body     the task's payload as it was given, or the envelope: JSON
    key      the same for all attempts at one occurrence, and for nothing else: receivers detect a repeated
             message by it. Letters, digits, `-` and `_`; 80 of them at most
    group    the message group for FIFO queues and topics; None for others
    detail_type  the detail-type of an event, for buses
    traceparent  the W3C trace context of the attempt, or else of the add; None for none
    """

    to: str
    id: str
    action: str
    attempt: int
    due: str
    body: str
    key: str
    group: str | None = None
    detail_type: str = "duebell.due"
    traceparent: str | None = None

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes or headers beside the body."""
        return {
            "duebell-id": self.id,
            "duebell-action": self.action,
            "duebell-due": self.due,
            "duebell-attempt": str(self.attempt),
            **({"traceparent": self.traceparent} if self.traceparent else {}),
        }

    @property
    def size(self) -> int:
        """Bytes that it takes in a call, at most."""
        beside = (self.key, self.group or "", *self.attributes.values())
        return sum(len(text.encode()) for text in (self.body, *beside)) + _AROUND


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A target of deliveries. Make it with `target_of`.

    to       its ARN, or its URL if the kind is https
    kind     the kind of target
    region   its region; "" for https, as is the account
    account  the account that it belongs to
    name     its name, from the last part of the ARN; the URL's host for https
    run      the arguments of RunTask, for a task definition
    """

    to: str
    kind: "Kind"
    region: str = ""
    account: str = ""
    name: str = ""
    run: "RunTask | None" = None

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that ECS is passed with each run."""
        return self.run.roles if self.run else ()

    @property
    def is_fifo(self) -> bool:
        """True if each message has a group, and a message that was sent before is dropped."""
        return self.kind.has_groups and self.to.endswith(".fifo")

    @property
    def shown(self) -> str:
        """The text for messages and records: the ARN; of a URL the host alone, as the rest may be secret."""
        if self.kind is not HTTPS:
            return self.to
        parts = urlsplit(self.to)
        return f"{parts.scheme}://{parts.netloc}"


class Kind(ABC):
    """A kind of target.

    word         its name in messages
    service      the service in its ARN
    client       the service's name in the AWS SDK
    pattern      the last part of its ARN as a regular expression, whose first group is the name
    example      an example of the last part
    sends, looks the IAM actions that `send` and `look` need
    parameter    the template's parameter with the ARNs of this kind
    most_at_once the number of messages that one call takes at most
    is_run       whether ECS runs it, with the arguments of RunTask
    has_groups   whether an ARN that ends in `.fifo` is a FIFO target, whose messages have groups
    """

    word: ClassVar[str]
    service: ClassVar[str] = ""
    client: ClassVar[str] = ""
    pattern: ClassVar[str] = ""
    example: ClassVar[str] = ""
    sends: ClassVar[str] = ""
    looks: ClassVar[str] = ""
    parameter: ClassVar[str] = ""
    most_at_once: ClassVar[int] = 1
    has_groups: ClassVar[bool] = False
    is_run: ClassVar[bool] = False

    def __str__(self) -> str:
        return self.word

    def resource(self, arn: str) -> str:
        """The ARN that a policy names for the target with this ARN."""
        return arn

    @abstractmethod
    def send(self, client: Any, target: Target, messages: Sequence[Message]) -> _Answers:
        """Send these in one call; return None for each accepted one, else an Answer. Raises SDK errors."""

    @abstractmethod
    def look(self, client: Any, target: Target) -> None:
        """Check with a read that the target exists. Raises the SDK's errors."""


class _Queue(Kind):
    """https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html."""

    word, service, client = "queue", "sqs", "sqs"
    pattern, example = r"([\w-]{1,80}(?:\.fifo)?)", "orders"
    sends, looks, parameter = "sqs:SendMessage", "sqs:GetQueueAttributes", "DeliveryQueues"
    most_at_once, has_groups = MOST_ENTRIES, True

    def send(self, client: Any, target: Target, messages: Sequence[Message]) -> _Answers:
        entries = _batch("MessageBody", messages, target)
        url = queue_url(client, target.account, target.name)
        answer = client.send_message_batch(QueueUrl=url, Entries=entries)
        return _answers_in(answer, len(messages))

    def look(self, client: Any, target: Target) -> None:
        url = queue_url(client, target.account, target.name)
        client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])


class _Topic(Kind):
    """https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html."""

    word, service, client = "topic", "sns", "sns"
    pattern, example = r"([\w-]{1,256}(?:\.fifo)?)", "orders"
    sends, looks, parameter = "sns:Publish", "sns:GetTopicAttributes", "DeliveryTopics"
    most_at_once, has_groups = MOST_ENTRIES, True

    def send(self, client: Any, target: Target, messages: Sequence[Message]) -> _Answers:
        entries = _batch("Message", messages, target)
        answer = client.publish_batch(TopicArn=target.to, PublishBatchRequestEntries=entries)
        return _answers_in(answer, len(messages))

    def look(self, client: Any, target: Target) -> None:
        client.get_topic_attributes(TopicArn=target.to)


class _Bus(Kind):
    """https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html."""

    word, service, client = "bus", "events", "events"
    pattern, example = r"event-bus/([\w./-]{1,256})", "event-bus/default"
    sends, looks, parameter = "events:PutEvents", "events:DescribeEventBus", "DeliveryBuses"
    most_at_once = MOST_ENTRIES

    def send(self, client: Any, target: Target, messages: Sequence[Message]) -> _Answers:
        entries = [
            {
                "EventBusName": target.to,
                "Source": "duebell",
                "DetailType": one.detail_type,
                "Detail": one.body,
            }
            for one in messages
        ]
        answers = [
            Answer(one["ErrorCode"], one.get("ErrorMessage", "")) if one.get("ErrorCode") else None
            for one in client.put_events(Entries=entries)["Entries"]
        ]
        return [*answers, *[Answer("NoAnswer", "")] * (len(messages) - len(answers))]

    def look(self, client: Any, target: Target) -> None:
        # By its ARN, for it may be another account's. The embedded stack finds buses by their names only.
        client.describe_event_bus(Name=target.name if is_here(client.meta.endpoint_url) else target.to)


class _Function(Kind):
    """An asynchronous invocation: Lambda queues it, and answers with 202.

    https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
    """

    word, service, client = "function", "lambda", "lambda"
    pattern, example = r"function:([\w-]{1,140})(?::[\w$-]{1,128})?", "function:remind"
    sends, looks, parameter = "lambda:InvokeFunction", "lambda:GetFunctionConfiguration", "DeliveryFunctions"

    def send(self, client: Any, target: Target, messages: Sequence[Message]) -> list[None]:
        [message] = messages
        client.invoke(FunctionName=target.to, InvocationType="Event", Payload=message.body.encode())
        return [None]

    def look(self, client: Any, target: Target) -> None:
        client.get_function_configuration(FunctionName=target.to)


class _StateMachine(Kind):
    """An execution. A second start with the same name starts nothing.

    A name stays taken for 90 days after its execution has ended. Express workflows accept a name again.
    https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
    """

    word, service, client = "state machine", "states", "stepfunctions"
    pattern, example = r"stateMachine:([\w.-]{1,80})(?::[\w.-]{1,80})?", "stateMachine:reminding"
    sends, looks, parameter = "states:StartExecution", "states:DescribeStateMachine", "DeliveryStateMachines"

    def resource(self, arn: str) -> str:
        """The ARN of the state machine, also for one of its versions or aliases.

        https://docs.aws.amazon.com/step-functions/latest/dg/auth-version-alias.html
        """
        return ":".join(arn.split(":")[:7])

    def send(self, client: Any, target: Target, messages: Sequence[Message]) -> list[None]:
        [message] = messages
        with suppress(client.exceptions.ExecutionAlreadyExists):
            client.start_execution(stateMachineArn=target.to, name=message.key, input=message.body)
        return [None]

    def look(self, client: Any, target: Target) -> None:
        client.describe_state_machine(stateMachineArn=target.to)


class RunTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The arguments of RunTask that depend on the account, for a delivery to an ECS task.

    cluster          the name or the ARN of the cluster
    container        the container that gets the message, in its environment
    roles            the ARNs of the task definition's roles, which ECS is passed; at most two
    subnets, security_groups, public_ip   the network of a task definition whose network mode is `awsvpc`
    launch_type      FARGATE or EC2
    overrides        other overrides of RunTask, such as `{"cpu": "512"}`
    """

    cluster: str
    container: str
    roles: tuple[str, ...] = ()
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    public_ip: bool = False
    launch_type: Literal["FARGATE", "EC2"] = "FARGATE"
    overrides: Mapping[str, Any] = {}

    def __post_init__(self) -> None:
        if "containerOverrides" in self.overrides:
            raise InvalidSettings("run", "overrides cannot have containerOverrides: duebell sets them")
        if len(self.roles) > _MOST_ROLES or not all(map(_ROLE.fullmatch, self.roles)):
            like = "arn:aws:iam::123456789012:role/name"
            raise InvalidSettings(
                "run", f"roles must be at most two ARNs like {like}, not {quoted(self.roles)}"
            )


class _EcsTask(Kind):
    """A run of an ECS task definition. By its token, a repeated call starts no second run for a day or more.

    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RunTask.html
    https://docs.aws.amazon.com/AmazonECS/latest/APIReference/ECS_Idempotency.html
    """

    word, service, client = "task definition", "ecs", "ecs"
    pattern, example = r"task-definition/([\w-]{1,255})(?::\d{1,10})?", "task-definition/report:3"
    sends, looks, parameter = "ecs:RunTask", "ecs:DescribeTaskDefinition", "DeliveryTaskDefinitions"
    is_run = True

    def resource(self, arn: str) -> str:
        """The ARN; of all revisions if none is named, as the latest is run."""
        return arn if re.search(r":\d+$", arn) else f"{arn}:*"

    def send(self, client: Any, target: Target, messages: Sequence[Message]) -> _Answers:
        assert target.run  # noqa: S101 (a Delivery has it)
        [message], run = messages, target.run
        # Without the number of the attempt: a token must come with the same parameters each time.
        told = {"payload": message.body, "id": message.id, "action": message.action, "due": message.due}
        environment = [{"name": f"DUEBELL_{name.upper()}", "value": text} for name, text in told.items()]
        if message.traceparent:  # the name by which OpenTelemetry finds it
            environment.append({"name": "TRACEPARENT", "value": message.traceparent})
        container = {"name": run.container, "environment": environment}
        request: dict[str, Any] = {
            "taskDefinition": _family(target),
            "cluster": run.cluster,
            "launchType": run.launch_type,
            "clientToken": hashlib.sha256(message.key.encode()).hexdigest(),
            "startedBy": "duebell",
            "overrides": {**run.overrides, "containerOverrides": [container]},
        }
        if run.subnets:
            network = {
                "subnets": run.subnets,
                "securityGroups": run.security_groups,
                "assignPublicIp": "ENABLED" if run.public_ip else "DISABLED",
            }
            request["networkConfiguration"] = {"awsvpcConfiguration": network}
        try:
            failures = client.run_task(**request).get("failures", ())
        except client.exceptions.ConflictException:  # an envelope with another attempt: it was run before
            return [None]
        return [Answer(failures[0].get("reason", ""), failures[0].get("detail", "")) if failures else None]

    def look(self, client: Any, target: Target) -> None:
        client.describe_task_definition(taskDefinition=_family(target))


def _family(target: Target) -> str:
    """The family, and the revision if one is named: RunTask takes an ARN with a revision only."""
    return target.to.partition(":task-definition/")[2]


class _Https(Kind):
    """An endpoint. The worker posts to it without this class, and the doctor sends nothing to it."""

    word = "https"

    def send(self, client: Any, target: Target, messages: Sequence[Message]) -> _Answers:
        raise NotImplementedError

    def look(self, client: Any, target: Target) -> None:
        raise NotImplementedError


class Needed(NamedTuple):
    """A resource that a delivery may need beside its target.

    service    the service in its ARN
    beginning  the beginning of the last part of its ARN
    action     the IAM action that the worker's role needs on it
    parameter  the template's parameter with the ARNs
    condition  the template's condition that there are some
    means      its description in the template
    """

    service: str
    beginning: str
    action: str
    parameter: str
    condition: str
    means: str


class Permission(NamedTuple):
    """An IAM action that a delivery needs, and the ARN in the policy."""

    action: str
    arn: str


BUS, HTTPS = _Bus(), _Https()

#: The kinds that have ARNs, by the service in them.
KINDS = {kind.service: kind for kind in (_Queue(), _Topic(), BUS, _Function(), _StateMachine(), _EcsTask())}

#: The stores of secrets, by the service in their ARNs.
SECRETS = {
    "secretsmanager": Needed(
        "secretsmanager", "secret:", "secretsmanager:GetSecretValue", "DeliverySecrets", "ReadsSecrets",
        "the secrets in Secrets Manager that sign deliveries by HTTPS",
    ),
    "ssm": Needed(
        "ssm", "parameter/", "ssm:GetParameter", "DeliveryParameters", "ReadsParameters",
        "the SSM parameters that sign deliveries by HTTPS",
    ),
}  # fmt: skip

#: All that deliveries may need beside their targets.
NEEDED = (
    *SECRETS.values(),
    Needed(
        "iam", "role/", "iam:PassRole", "DeliveryRoles", "PassesRoles",
        "the roles of task definitions that deliveries run",
    ),
)  # fmt: skip


def _batch(body: str, messages: Sequence[Message], target: Target) -> list[dict[str, Any]]:
    """The entries of a batch to SQS or SNS, which give the body different names."""
    return [
        {
            "Id": str(place),
            body: one.body,
            "MessageAttributes": {
                name: {"DataType": "Number" if name == "duebell-attempt" else "String", "StringValue": value}
                for name, value in one.attributes.items()
            },
            **({"MessageGroupId": one.group} if one.group else {}),
            **({"MessageDeduplicationId": one.key} if target.is_fifo else {}),
        }
        for place, one in enumerate(messages)
    ]


def _answers_in(answer: dict[str, Any], count: int) -> list[Answer | None]:
    """The answer to each entry of a batch. An entry that is not among the accepted ones counts as failed."""
    accepted = {one["Id"] for one in answer.get("Successful", ())}
    failed = {
        one["Id"]: Answer(
            one.get("Code", ""), one.get("Message", ""), is_senders=one.get("SenderFault", False)
        )
        for one in answer.get("Failed", ())
    }
    places = map(str, range(count))
    return [None if place in accepted else failed.get(place, Answer("NoAnswer", "")) for place in places]
