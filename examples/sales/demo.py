"""The example, played on the embedded stack: `make demo`.

Plans a few sales, shows the rule as it moves, opens the editor, and shows how the rule rings and the
Lambda runs a task. With `--once` it ends there, with exit status 0 if the task was done.
"""

import argparse
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread

from duebell import DuebellError, Editor, Status, Task
from duebell.http import serve
from duebell_infra.local.ministack import refuse_taken
from duebell_infra.local.signals import Ended, ended_by_signal
from duebell_infra.local.stack import EmbeddedStack
from duebell_infra.local.worker_log import WorkerLog

from .payloads import Item
from .service import Shop

#: The rule rings within two minutes; a busy machine may take longer to run the Lambda.
PATIENCE = timedelta(minutes=5)

SOON = "sale-9-end"


def main() -> int:
    """Play the example; the exit status."""
    parser = argparse.ArgumentParser(prog="make demo", description="Run the example on the embedded stack.")
    parser.add_argument("--once", action="store_true", help="end when the first task has been run")
    parser.add_argument("--port", type=int, default=8125, help="port of the HTTP editor (default 8125)")
    options = parser.parse_args()
    try:
        with ended_by_signal(), tempfile.TemporaryDirectory(prefix="duebell-demo-") as folder:
            return play(Path(folder), once=options.once, port=options.port)
    except Ended:
        say("stopped; a demo keeps nothing, `duebell local` does")
        return 0
    except DuebellError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def play(folder: Path, *, once: bool, port: int) -> int:
    """Deploy the stack into `folder`, plan sales, see one task run; the exit status."""
    if not once:
        refuse_taken(port, option="ARGS='--port N'")
    say("deploying the stack on this machine, from the template that goes to AWS")
    with EmbeddedStack(folder, actions="examples.sales.actions:worker", say=say) as stack:
        say("to use the command line meanwhile, in another terminal:  . .venv/bin/activate")
        say("  export " + " ".join(f"{name}={value}" for name, value in stack.environment.items()))
        editor = Editor(stack.settings, session=stack.session)
        log = WorkerLog(stack.worker_log)
        plan(editor)
        if not once:
            # The page is served from now on, so that the first task can be watched.
            Thread(target=lambda: see_it_run(editor, log), daemon=True).start()
            serve(editor, port=port, started=greet)
            return 0
        task = see_it_run(editor, log)
        if task.status is not Status.DONE:
            say(f"task {task.id} is still {task.status}: that is not as it should be")
            return 1
        return 0


def plan(editor: Editor) -> None:
    """Add a handful of tasks, and show where each leaves the rule."""
    shop = Shop(editor)
    show_rule(editor, "nothing to do")
    shop.plan_sale(42, 19.99, start=day(60), end=day(90))
    show_rule(editor, "a sale in two months: armed for its start")
    shop.plan_sale(7, 4.50, start=day(75), end=day(80))
    show_rule(editor, "a later sale: the rule stays")
    shop.plan_sale(8, 8.00, start=day(14), end=day(21))
    show_rule(editor, "an earlier one: armed for that")
    # A minute that the rule can safely ring in, so that the lateness shown is that of the ring.
    soon = (datetime.now(UTC) + timedelta(seconds=61 + 59)).replace(second=0, microsecond=0)
    editor.add("take_off_sale", due=soon, payload=Item(item=9), id=SOON)
    show_rule(editor, f"a sale that ends at {soon:%H:%M} UTC: armed for that")


def see_it_run(editor: Editor, log: WorkerLog) -> Task:
    """Tell what the worker logs until the first task has been run; the task as it is then."""
    say("waiting for the rule to ring; the lines that follow are the Lambda's own")
    give_up = datetime.now(UTC) + PATIENCE
    has_told = False
    while True:
        task = editor.get(SOON)
        for line in log.new_lines():
            print(f"           {line}", flush=True)
            has_told = has_told or SOON in line
        if task.status.is_finished and has_told:
            say(f"task {task.id} is {task.status}, {(task.lateness_ms or 0) / 1000:.1f} s after it was due")
            show_rule(editor, "re-armed for the next task")
            return task
        if datetime.now(UTC) > give_up:
            return task
        time.sleep(0.5)


def show_rule(editor: Editor, why: str) -> None:
    """The minute that the rule is set to now, and why."""
    rings = editor.status().rings_at
    say(f"rule  {f'rings at {rings:%Y-%m-%d %H:%M} UTC' if rings else 'parked in 1970':<34} {why}")


def day(number: int) -> datetime:
    """Midnight UTC, this many days from now."""
    return (datetime.now(UTC) + timedelta(days=number)).replace(hour=0, minute=0, second=0, microsecond=0)


def greet(url: str) -> None:
    """Say where the editor is."""
    say(f"the page is at {url}, Ctrl-C ends the demo and deletes its queue")


def say(line: str) -> None:
    """One line of the demo's own, at once."""
    print(f"{datetime.now():%H:%M:%S}  {line}", flush=True)  # noqa: DTZ005 (the viewer's own clock)


if __name__ == "__main__":
    sys.exit(main())
