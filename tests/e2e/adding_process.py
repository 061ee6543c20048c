"""An editor's process that adds many tasks and is stopped in the middle, to be killed there.

python adding_process.py TASKS STOPS_AT: reads tasks as JSON from a file, says a line after the nth batch that
it wrote and writes no further one.
"""

import json
import sys
import threading
from pathlib import Path
from typing import Any

import boto3

from duebell import Editor, Settings
from duebell_shared.instants import utc_now


def main(tasks: Path, stops_at: int) -> None:
    """Add them, as far as one is let."""
    session = boto3.Session()
    count, lock, written = 0, threading.Lock(), threading.Semaphore(0)

    def stop(**_: Any) -> None:
        nonlocal count
        with lock:
            count += 1
            is_over = count > stops_at
            if count == stops_at + 1:
                for _batch in range(stops_at):
                    written.acquire()
                print("in the middle", flush=True)
        if is_over:
            threading.Event().wait()

    def note(**_: Any) -> None:
        written.release()

    session.events.register("before-call.dynamodb.BatchExecuteStatement", stop)
    session.events.register("after-call.dynamodb.BatchExecuteStatement", note)
    editor = Editor(Settings.from_env(), session=session)
    editor.add_many([{**task, "due": utc_now()} for task in json.loads(tasks.read_text())])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
