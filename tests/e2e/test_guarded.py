"""The embedded stack as strangers find it: other users of the machine, and whoever has no key."""

import os
import shutil
import socket
import stat
import subprocess
import tempfile
import textwrap
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError
from botocore.session import Session

from duebell import Editor
from duebell_infra.local.ministack import HOST, MiniStack, free_port
from duebell_infra.local.stack import EmbeddedStack
from duebell_infra.local.state import StateFolder
from tests.e2e.support import duebell

pytestmark = pytest.mark.e2e

#: A user of nearly every machine, who may do nothing.
NOBODY = 65534


def test_without_the_key_no_service_does_anything(stack: EmbeddedStack) -> None:
    # Given somebody who knows the port, and the keys that such stacks often have
    session = Session()
    session.set_credentials("000000000000", "test")
    for service, call, arguments in [
        ("dynamodb", "delete_table", {"TableName": "duebell"}),
        ("lambda", "invoke", {"FunctionName": "duebell"}),
        ("s3", "list_buckets", {}),
        ("sts", "get_caller_identity", {}),
    ]:
        client: Any = session.create_client(service, region_name="us-east-1", endpoint_url=stack.endpoint_url)
        with pytest.raises(ClientError, match="the access key is not this stack's") as refused:
            getattr(client, call)(**arguments)
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    assert Editor(stack.settings, session=stack.session).status().enabled  # with it, all is answered


@pytest.mark.parametrize(
    "request_text",
    [
        "GET /_ministack/health HTTP/1.0\r\n\r\n",
        "GET http://127.0.0.1/_ministack/health HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{signed}\r\n",
        "GET / HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n{signed}\r\n",
        "GET /_ministack/health HTTP/1.1\r\nHost: {host}\r\nOrigin: http://evil.test\r\n{signed}\r\n",
    ],
)
def test_what_no_client_of_ours_sends_is_refused(stack: EmbeddedStack, request_text: str) -> None:
    key = stack.environment["AWS_ACCESS_KEY_ID"]
    signed = f"Authorization: AWS4-HMAC-SHA256 Credential={key}/20260101/us-east-1/s3/aws4_request\r\n"
    address = urlsplit(stack.endpoint_url)
    with socket.create_connection((HOST, address.port or 0), timeout=60) as connection:
        connection.sendall(request_text.format(host=address.netloc, signed=signed).encode())
        status_line = connection.makefile("rb").readline()
    assert status_line.split()[1] in {b"400", b"403"}


def as_nobody(command: str, state: Path) -> subprocess.CompletedProcess[str]:
    """This command of the shell's, run by another user."""
    return subprocess.run(
        ["bash", "-c", command],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        env={"PATH": os.environ["PATH"], "STATE": str(state)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_another_user_of_the_machine_is_kept_out(request: pytest.FixtureRequest) -> None:
    # Given a state folder that another user can reach and write to, with a key that they put there
    folder = Path(tempfile.mkdtemp(prefix="duebell-test-"))  # pytest's own can be reached by nobody else
    request.addfinalizer(lambda: shutil.rmtree(folder))
    folder.chmod(0o755)
    place = folder / "state"
    place.mkdir()
    place.chmod(0o777)
    planted = as_nobody('cd "$STATE" && umask 077 && echo test > key && touch lock && id -u', place)
    assert planted.stdout.strip() == str(NOBODY), planted.stderr

    with StateFolder(place) as state:
        stack = MiniStack(state, free_port())
        stack.start()
        try:
            # When a stack runs in it
            address = urlsplit(stack.endpoint_url)
            assert stack._process
            process = stack._process.pid

            # Then they find the key nowhere: not in the folder, nor in what they see of the process
            assert stat.S_IMODE(place.stat().st_mode) == 0o700
            for command in (
                'cat "$STATE/key"',
                'ls "$STATE"',
                'echo test > "$STATE/key"',
                f"cat /proc/{process}/environ",
                f"ls /proc/{process}/fd",
            ):
                refused = as_nobody(command, place)
                assert "Permission denied" in refused.stderr, command
                assert state.key not in refused.stdout
            assert state.key not in as_nobody(f"cat /proc/{process}/cmdline", place).stdout

            # And the stack does not answer them
            talk = textwrap.dedent(f"""
                exec 3<>/dev/tcp/{address.hostname}/{address.port}
                printf 'POST /_ministack/reset HTTP/1.0\\r\\nHost: {address.netloc}\\r\\n' >&3
                printf 'Authorization: AWS4-HMAC-SHA256 Credential=test/x\\r\\n\\r\\n' >&3
                head -n 1 <&3
            """)
            answered = as_nobody(talk, place)
            assert " 403 " in answered.stdout, answered.stderr
        finally:
            stack.stop()


def test_the_command_line_says_what_to_do_without_the_key(stack: EmbeddedStack) -> None:
    # With what the stack prints all is well
    assert duebell("list", environment=stack.environment).returncode == 0
    # Without its key it is refused, with the way out
    without_key = {**stack.environment, "AWS_ACCESS_KEY_ID": "test", "AWS_SESSION_TOKEN": ""}
    refused = duebell("list", environment=without_key)
    assert refused.returncode == 5
    assert "the access key is not this stack's: paste the line `duebell local` prints" in refused.stderr
