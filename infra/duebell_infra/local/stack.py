"""The embedded stack: the same stack as on AWS, deployed into MiniStack on this machine."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Self

import boto3

from duebell_editor.library.editor import Editor
from duebell_infra.bundle.sources import actions_files
from duebell_infra.bundle.target import Place
from duebell_infra.deploy.deliveries import Deliveries
from duebell_infra.deploy.deploy import Deployment, deploy
from duebell_infra.deploy.parameters import environment_of
from duebell_infra.errors import BundleFailed, EmbeddedStackFailed
from duebell_shared.deliveries.delivery import ENVIRONMENT, Delivery, deliveries_in
from duebell_shared.instants import utc_now
from duebell_shared.settings import Settings

from .ministack import MiniStack, embedded_environment, embedded_session, free_port
from .state import StateFolder

#: The time after its start in which MiniStack may miss a rule's minute: it checks every ten seconds.
_BLIND = timedelta(seconds=30)

#: Metrics would only fill the worker's log here; the colour shows that the page is not on AWS.
_USUAL = {"Metrics": "off", "Alarms": "no", "Color": "gray"}


class EmbeddedStack:
    """A stack that lives in a folder: started on entering the context, stopped in order on leaving it.

    state         the folder; the tasks in it are kept, and run after the next start
    port          where it listens, on 127.0.0.1 only; None takes a free one
    actions       `module:attribute` of the Worker; "": no code of yours; None: that of the earlier start
    deliver       all deliveries that need no code, as in Deployment; None: those of the earlier start
    folder        where the actions are looked for first; None: the current folder
    requirements  a requirements file with libraries of the actions that are not installed here
    parameters    more parameters of the template, such as Lanes
    say           is given a line for every step
    synced        is given a line for each recurring task that is changed, also by a reload

    Once it is started, `settings` are for its Editor, `actions` names its Worker, and `deliveries` has the
    deliveries that need no code. The start began at `begun`, in nanoseconds since 1970. The output of the
    worker and its actions is in the file `worker_log` at once, and in CloudWatch Logs when a run has ended.
    Entering raises EmbeddedStackFailed, BundleFailed or DeployFailed, with everything stopped again.
    """

    def __init__(
        self,
        state: Path,
        *,
        port: int | None = None,
        actions: str | None = None,
        deliver: Deliveries | None = None,
        folder: Path | None = None,
        requirements: Path | None = None,
        parameters: Mapping[str, str] | None = None,
        say: Callable[[str], None] = lambda _: None,
        synced: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._state = StateFolder(state)
        self._ministack = MiniStack(self._state, port or free_port())
        self._deployment = Deployment(
            actions=actions,
            deliver=deliver,
            folder=folder,
            requirements=requirements,
            place=Place.THIS_MACHINE,
            parameters={**_USUAL, **(parameters or {})},
        )
        self._say = say
        self._synced = synced
        self._exit = ExitStack()
        self._session: boto3.Session | None = None
        self.settings = Settings()
        self.actions = ""
        self.begun = 0
        self.deliveries: list[Delivery] = []
        self.endpoint_url = self._ministack.endpoint_url
        self.worker_log = self._state.worker_log

    @property
    def session(self) -> boto3.Session:
        """A session with the stack's endpoint and access key, once it is started."""
        if self._session is None:
            raise EmbeddedStackFailed("the embedded stack is not started")
        return self._session

    @property
    def environment(self) -> dict[str, str]:
        """The environment that another process needs to use this stack."""
        stack = embedded_environment(self.endpoint_url, self._state.key)
        return {**stack, **environment_of(self.settings)}

    @property
    def is_running(self) -> bool:
        """True while MiniStack is there; it may be killed from outside."""
        return self._ministack.is_running

    def __enter__(self) -> Self:
        self.begun = time.time_ns()
        with ExitStack() as undo:
            undo.enter_context(self._state)
            self._session = embedded_session(self.endpoint_url, self._state.key)
            self._ministack.start()
            undo.callback(self._ministack.stop)
            self.settings = deploy(self.session, self._deployment, say=self._say, synced=self._synced)
            client, name = self.session.client("lambda"), self.settings.table
            variables = client.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
            self.actions = variables.get("DUEBELL_WORKER", "")
            self.deliveries = list(deliveries_in(variables.get(ENVIRONMENT, "")).values())
            self._ring_if_missed()
            self._exit = undo.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._exit.close()

    @property
    def intake_url(self) -> str | None:
        """The URL of the intake queue; None if the stack has none."""
        if self.settings.intake is None:
            return None
        return self.session.client("sqs").get_queue_url(QueueName=self.settings.intake)["QueueUrl"]

    def sources(self) -> set[Path]:
        """The source files of the worker that users change; none if one is missing or wrong."""
        requirements = self._deployment.requirements
        try:
            files = actions_files(self.actions, folder=self._deployment.folder) if self.actions else {}
        except (BundleFailed, OSError, SyntaxError):
            return set()
        return {*files.values(), *([requirements] if requirements else [])}

    def reload(self) -> None:
        """Deploy the actions as they are now. A run that is under way ends with the old code.

        Raises BundleFailed and DeployFailed; then the worker stays as it was.
        """
        deploy(self.session, self._deployment, say=lambda _: None, synced=self._synced)

    def _ring_if_missed(self) -> None:
        """Start a run if MiniStack may have missed the rule's minute, or may miss it now.

        MiniStack rings only for minutes that begin while it runs, and may miss one in its first seconds. The
        run catches up and arms the rule anew.
        """
        rings_at = Editor(self.settings, session=self.session).status().rings_at
        if rings_at is not None and rings_at < utc_now() + _BLIND:
            self.session.client("lambda").invoke(FunctionName=self.settings.table, InvocationType="Event")
