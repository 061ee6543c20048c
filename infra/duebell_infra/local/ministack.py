"""MiniStack as a child process: a local AWS that fires rules, runs functions and keeps its state.

A guard in the same process protects it: only requests with the access key of the state folder pass. The key
is the session token too: functions on the stack get it so, and MiniStack wants the same token from everybody.
"""

import os
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path

import boto3
from botocore.config import Config

from duebell_editor.cli.account import EndpointSession
from duebell_infra.errors import EmbeddedStackFailed

from .state import StateFolder

#: The script of the child process.
_CHILD = Path(__file__).with_name("ministack_child.py")

#: Loopback: no other machine can reach an embedded stack.
HOST = "127.0.0.1"

#: Seconds that it has to start. It takes less than one, but more on a busy machine.
_START_LIMIT = 60.0
#: Seconds that it has to write its state and end. Only then it is killed.
_STOP_LIMIT = 60.0

#: The only variables of our environment that the child gets. MiniStack reads many variables, and a function
#: on AWS does not have the user's variables either.
_INHERITED = (
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "PYTHONDONTWRITEBYTECODE",
    "PYTHONPATH", "SHELL", "SSL_CERT_DIR", "SSL_CERT_FILE", "TZ", "USER", "VIRTUAL_ENV",
)  # fmt: skip


class MiniStack:
    """One MiniStack on this port of this machine, with its state in the folder. The folder must be locked."""

    def __init__(self, state: StateFolder, port: int) -> None:
        self.endpoint_url = f"http://{HOST}:{port}"
        self._state = state
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """True while the process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait till it answers. Raises EmbeddedStackFailed."""
        if find_spec("ministack") is None:
            raise EmbeddedStackFailed("the embedded stack needs MiniStack: pip install 'duebell[local]'")
        # The port is ours before the key goes there: nobody else can listen on it and be given the key.
        self._state.worker_log.write_bytes(b"")
        with self._state.log.open("wb") as log, _bound(self._port) as listener:
            listener.listen()
            self._process = subprocess.Popen(  # noqa: S603
                # -P keeps this folder off the path, or this file would be imported as MiniStack.
                [sys.executable, "-P", str(_CHILD), str(listener.fileno()), str(self._state.worker_log)],
                cwd=self._state.path,
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=[self._state.lock, listener.fileno()],
                # A Ctrl-C in the terminal must not reach it: this process stops it in order.
                start_new_session=True,
            )
        try:
            self._wait_till_ready()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop it, and return when its state is written. It is killed only if that takes a minute."""
        process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise EmbeddedStackFailed(
                f"MiniStack did not stop within {_STOP_LIMIT:.0f} seconds and was killed; what came since it "
                f"was started may be lost (see {self._state.log})"
            ) from None
        finally:
            if process.stdin:
                process.stdin.close()
            self._process = None

    def _wait_till_ready(self) -> None:
        deadline = time.monotonic() + _START_LIMIT
        while not self._answers():
            if not self.is_running:
                raise EmbeddedStackFailed(f"MiniStack ended at once: {self._last_words()}")
            if time.monotonic() > deadline:
                raise EmbeddedStackFailed(
                    f"MiniStack does not answer on {self.endpoint_url}: see {self._state.log}"
                )
            time.sleep(0.05)

    def _answers(self) -> bool:
        """Tell whether the guard answers, even if it refuses."""
        connection = HTTPConnection(HOST, self._port, timeout=5)
        try:
            connection.request("GET", "/_ministack/ready")
            return bool(connection.getresponse().status)
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def _last_words(self) -> str:
        lines = self._state.log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"see {self._state.log}"

    def _environment(self) -> dict[str, str]:
        ours = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        return {
            **ours,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "BIND_HOST": HOST,
            "GATEWAY_PORT": str(self._port),
            "MINISTACK_HOST": HOST,
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "PERSIST_STATE": "1",
            "STATE_DIR": str(self._state.services),
            "S3_PERSIST": "1",
            "S3_DATA_DIR": str(self._state.objects),
            "TMPDIR": str(self._state.temporary),
            "PYTHONUNBUFFERED": "1",
            # The guard and the functions get the key from here.
            **embedded_environment(self.endpoint_url, self._state.key),
        }


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def refuse_taken(port: int, *, option: str = "--port") -> None:
    """Raise EmbeddedStackFailed if someone listens on this port, which `option` chooses."""
    _bound(port, option=option).close()


def _bound(port: int, *, option: str = "--port") -> socket.socket:
    """A socket that has this port. Raises EmbeddedStackFailed if somebody else has it."""
    bound = socket.socket()
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((HOST, port))
    except OSError as error:
        bound.close()
        raise EmbeddedStackFailed(
            f"port {port} cannot be used ({error.strerror}): choose another with {option}"
        ) from None
    return bound


#: The embedded stack keeps resources apart by region, as AWS does; everything is in this one.
REGION = "us-east-1"

#: The secret that signs requests. It is no secret: the access key is what lets a caller use the stack.
_SECRET = "not-secret"  # noqa: S105


def embedded_session(endpoint_url: str, key: str) -> boto3.Session:
    """A session for the stack at this endpoint, with its region and its access key.

    They are set here and not in the environment. So a process can talk to an embedded stack and to AWS, or to
    two stacks, and a variable of the user does not override them.
    """
    # A profile that the environment names need not exist here, and must not matter.
    inner = EndpointSession(session_vars={"profile": (None, None, None, None)})
    inner.endpoint_url = endpoint_url
    inner.set_config_variable("config_file", "")
    inner.set_config_variable("credentials_file", "")
    inner.set_credentials(key, _SECRET, key)
    inner.set_default_client_config(Config(proxies={}))
    return boto3.Session(botocore_session=inner, region_name=REGION)


def embedded_environment(endpoint_url: str, key: str) -> dict[str, str]:
    """The environment that another process needs to talk to the stack at this endpoint."""
    return {
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": _SECRET,
        "AWS_SESSION_TOKEN": key,
    }
