"""Lines that threads print at the same time are written whole, one after the other."""

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import timedelta
from typing import Any

from duebell import Worker
from duebell_infra.testing import Rehearsal
from duebell_worker.log import WholeLines, keep_lines_whole


@contextmanager
def writing_whole_lines() -> Iterator[io.StringIO]:
    """Holds what this process writes inside, standard error included."""
    stream = io.StringIO()
    with redirect_stdout(stream), redirect_stderr(stream):
        keep_lines_whole()
        yield stream


def in_another_thread(call: Callable[..., Any], *arguments: Any) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(call, *arguments).result()


def test_a_line_that_another_thread_prints_meanwhile_comes_before_or_after() -> None:
    with writing_whole_lines() as written:
        # Given a thread between the two writes that a `print` is made of
        sys.stdout.write("one")
        in_another_thread(print, "two")
        sys.stderr.writelines([" goes on", "\nthree\nfo"])
        assert written.getvalue() == "two\none goes on\nthree\n"
        # And what is to be seen at once is
        sys.stdout.flush()
        assert written.getvalue().endswith("three\nfo")


def test_lines_are_kept_whole_once() -> None:
    with writing_whole_lines():
        both = sys.stdout
        assert sys.stderr is both
        keep_lines_whole()
        assert sys.stdout is sys.stderr is both
        assert sys.stdout.isatty() is False


def test_an_action_ends_the_line_that_it_has_begun() -> None:
    worker = Worker()

    @worker.action(attempts=1)
    def begin_a_line() -> None:
        print("begun", end="")
        raise ValueError

    with Rehearsal(worker) as rehearsal, writing_whole_lines() as written:
        begin_a_line.using(due=rehearsal.now, id="one").add()
        rehearsal.let_time_pass(timedelta(minutes=2))
        assert rehearsal.editor.get("one").failure
        assert written.getvalue() == "begun\n"


def test_a_lambda_writes_whole_lines() -> None:
    code = (
        "import sys, duebell_worker.entry, threading\n"
        "print('one', end='')\n"
        "two = threading.Thread(target=print, args=['two'])\n"
        "two.start(); two.join()\n"
        "print(' goes on')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"AWS_LAMBDA_FUNCTION_NAME": "duebell", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("two\none goes on\n", "")


def test_a_stream_of_its_own_is_left_as_it_is() -> None:
    stream = io.StringIO()
    whole = WholeLines(stream)
    whole.end_line()
    assert whole.write("text") == 4
    whole.end_line()
    assert stream.getvalue() == "text\n"
