"""The shown Java adds the shown task: compiled with a stand-in for the AWS SDK, which prints what is sent."""

import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from duebell_editor.intake.messages import Message, entries_of
from tests.infra.documented import ROOT, written
from tests.intake.conftest import record

#: As much of the SDK's signatures as the example calls.
#: https://sdk.amazonaws.com/java/api/latest/software/amazon/awssdk/services/sqs/SqsClient.html
SDK = {
    "SqsClient": """
        package software.amazon.awssdk.services.sqs;
        import java.util.function.Consumer;
        import software.amazon.awssdk.services.sqs.model.SendMessageRequest;
        public interface SqsClient extends AutoCloseable {
            static SqsClient create() { return new SqsClient() {}; }
            default void sendMessage(Consumer<SendMessageRequest.Builder> fill) {
                SendMessageRequest.Builder message = new SendMessageRequest.Builder();
                fill.accept(message);
                System.out.print(message.sent);
            }
            @Override default void close() {}
        }
    """,
    "model/SendMessageRequest": """
        package software.amazon.awssdk.services.sqs.model;
        public class SendMessageRequest {
            public static class Builder {
                public String sent = "";
                public Builder queueUrl(String url) { sent += url + "\\n"; return this; }
                public Builder messageBody(String body) { sent += body; return this; }
            }
        }
    """,
}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("javac") is None, reason="no Java compiler is installed")
def test_the_shown_java_adds_the_shown_task(tmp_path: Path) -> None:
    written(ROOT / "docs" / "how-to" / "send.md", tmp_path)
    files = ["Send.java"]
    for name, source in SDK.items():
        files.append(f"software/amazon/awssdk/services/sqs/{name}.java")
        (tmp_path / files[-1]).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / files[-1]).write_text(source)

    def run(*command: str) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env={"INTAKE_URL": "its-url"}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(shutil.which("javac") or "", "-Xlint:all", "-Werror", *files)
    url, _, body = run(shutil.which("java") or "", "Send").partition("\n")
    now = datetime.now(UTC)
    [entry] = entries_of(Message.of(record(body), now))
    assert url == "its-url"
    assert isinstance(entry.wanted, dict)
    due = entry.wanted["due"]
    assert entry.wanted == {"action": "remind", "payload": {"user": 7}, "id": "trial-7", "due": due}
    assert isinstance(due, datetime)
    assert abs(due - now - timedelta(days=14)) < timedelta(hours=1)
