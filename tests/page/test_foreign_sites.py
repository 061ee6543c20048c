"""Pages of other sites in a real browser, beside the embedded stack: whatever they try, nothing happens."""

import base64
import io
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Response

from duebell import Editor
from duebell_infra.local.stack import EmbeddedStack
from tests.e2e.deployer import LATER
from tests.page.conftest import FOREIGN_NAME

pytestmark = pytest.mark.e2e

_EMPTY = "<!doctype html><title>another site</title>"

#: The requests that a browser lets any page send without a preflight: fetch, forms, pictures, a WebSocket.
_ATTACK = """
async ({stack, create, invoke, dynamodb}) => {
  const said = [];
  const post = (path, body, more = {}) => fetch(stack + path, {method: "POST", body, ...more})
    .then(async answer => said.push(`${path} ${answer.status} ${await answer.text()}`))
    .catch(error => said.push(`${path} ${error.name}`));
  const unseen = {mode: "no-cors"};
  await post("/2015-03-31/functions", create, unseen);
  await post("/2015-03-31/functions", create, {...unseen, headers: {"Content-Type": "text/plain"}});
  await post("/2015-03-31/functions/planted/invocations", invoke, unseen);
  await post("/2015-03-31/functions/planted/invocations", invoke, {...unseen, credentials: "include"});
  await post("/?Action=CreateQueue&QueueName=planted", undefined, unseen);
  await post("/_ministack/reset", undefined, unseen);
  await post("/2015-03-31/functions", create);
  await post("/", dynamodb, {headers: {
    "X-Amz-Target": "DynamoDB_20120810.DeleteTable", "Content-Type": "application/x-amz-json-1.0"}});
  navigator.sendBeacon(stack + "/2015-03-31/functions", create);
  navigator.sendBeacon(stack + "/_ministack/reset");
  for (const tag of ["img", "script", "iframe"]) {
    const element = document.createElement(tag);
    const ended = new Promise(resolve => { element.onload = element.onerror = resolve; });
    element.src = stack + "/?Action=CreateQueue&QueueName=planted";
    document.body.append(element);
    await ended;
  }
  for (const [path, body] of [["/_ministack/reset", ""], ["/2015-03-31/functions", create]]) {
    const frame = document.createElement("iframe");
    frame.name = "frame" + path;
    document.body.append(frame);
    const form = document.createElement("form");
    Object.assign(form, {method: "post", enctype: "text/plain", action: stack + path, target: frame.name});
    const field = document.createElement("input");
    // As text/plain the body is `name=value`: JSON all the same, when the `=` is in a string of it.
    Object.assign(field, {name: body.slice(0, -1) + ', "Description": "', value: '"}'});
    form.append(field);
    document.body.append(form);
    const ended = new Promise(resolve => { frame.onload = resolve; });
    form.submit();
    await ended;
  }
  for (const path of ["/_aws/execute-api/00000000/live", "/"]) {
    await new Promise(resolve => {
      const socket = new WebSocket(stack.replace("http", "ws") + path);
      socket.onopen = () => { said.push("the WebSocket is open"); socket.close(); resolve(); };
      socket.onerror = () => { said.push("no WebSocket"); resolve(); };
    });
  }
  return said;
}
"""


def planting(trace: Path) -> dict[str, str]:
    """The code that the attacks send: a function that leaves a trace, its call, a deletion of the table."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("evil.py", f"def handler(event, context):\n    open({str(trace)!r}, 'w').close()\n")
    code = base64.b64encode(file.getvalue()).decode()
    role = "arn:aws:iam::000000000000:role/planted"
    return {
        "create": f'{{"FunctionName": "planted", "Runtime": "python3.11", "Handler": "evil.handler", '
        f'"Role": "{role}", "Code": {{"ZipFile": "{code}"}}}}',
        "invoke": "{}",
        "dynamodb": '{"TableName": "duebell"}',
    }


@pytest.mark.parametrize(("name", "site"), [("127.0.0.1", FOREIGN_NAME), ("localhost", "127.0.0.1")])
def test_a_page_of_another_site_does_nothing_to_the_stack(
    stack: EmbeddedStack, browser: Browser, tmp_path: Path, name: str, site: str
) -> None:
    editor, client = Editor(stack.settings, session=stack.session), stack.session.client
    task = editor.add("succeed", due=LATER, id=f"foreign-{name}-{site}")
    trace = tmp_path / "trace"

    def seen() -> list[object]:
        """The targets of an attack: the queue, the worker, and the traces of code that it plants."""
        return [
            trace.exists(),
            sorted(one["FunctionName"] for one in client("lambda").list_functions()["Functions"]),
            client("dynamodb").list_tables()["TableNames"],
            sorted(client("sqs").list_queues().get("QueueUrls", [])),
            editor.status().expression,
            editor.get(task.id),
        ]

    before = seen()
    # Given a page of another site: by its name, or only by its port
    port = urlsplit(stack.endpoint_url).port
    answers: list[tuple[str, int]] = []

    def note(response: Response) -> None:
        if urlsplit(response.url).port == port:
            answers.append((f"{response.request.method} {response.url}", response.status))

    page = browser.new_page()
    page.on("response", note)
    page.route(f"http://{site}:8080/", lambda route: route.fulfill(body=_EMPTY, content_type="text/html"))
    page.goto(f"http://{site}:8080/")
    # When it sends all that a page can send without being let
    said = page.evaluate(_ATTACK, {"stack": f"http://{name}:{port}", **planting(trace)})
    page.close()

    # Then every request that came through was refused, and nothing happened
    assert answers
    assert [answer for answer in answers if answer[1] != 403] == []
    assert said.count("no WebSocket") == 2
    assert not [one for one in said if " 200 " in one]
    assert not before[0]
    assert seen() == before
