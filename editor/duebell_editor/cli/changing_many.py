"""One change to many tasks: counted, asked about, done some at a time, and told."""

import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import typer

from duebell_editor import DuebellError, Editor, Task
from duebell_shared.quoting import quoted
from duebell_shared.verbs import Verb

from ..change_many import ChangeFailure, ChangeReport, Selection
from .exits import Exit
from .progress import bar
from .saying import tell_some, warn
from .text import in_options, plain

__all__ = ["How", "change_found", "change_named", "change_one", "is_asked"]

#: Tasks that are changed before the next are begun with.
_CHUNK = 200


class How(NamedTuple):
    """What is to be done to them, and how it is gone about."""

    verb: Verb
    dry_run: bool
    yes: bool
    as_json: bool


def change_one(editor: Editor, verb: Verb, id: str) -> Task:
    """Do it to this task; raises what it does not allow."""
    report = editor.change_many(verb, [id])
    if report.failures:
        raise report.failures[0].error
    return report.changed[0]


def change_named(editor: Editor, ids: Sequence[str], how: How) -> None:
    """Do it to the tasks with these ids. They were named, so nobody is asked."""
    named = tuple(dict.fromkeys(_read(ids)))
    if how.dry_run:
        named = editor.select(how.verb, ids=named).ids
    _change(editor, named, how, is_all=True)


def change_found(editor: Editor, found: Selection, how: How) -> None:
    """Do it to what the filter finds, when someone has agreed to how many these are."""
    ids, is_all = found.ids, found.is_all
    if ids and not how.dry_run and not how.yes:
        _ask(f"{_count(len(ids))}{'' if is_all else ', and there are more,'} would be {how.verb.rule.done}")
    _change(editor, ids, how, is_all=is_all)


def _read(ids: Sequence[str]) -> Iterator[str]:
    """The ids, those on standard input for a `-`. Of a line of `duebell list` in a pipe, the id is taken."""
    for id in ids:
        if id != "-":
            yield id
            continue
        for line in sys.stdin.buffer:
            text = line.decode(errors="replace").rstrip("\r\n").partition("\t")[0]
            if text:
                yield text


def is_asked() -> bool:
    """Whether someone is there to answer a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _ask(what: str) -> None:
    if not is_asked():
        raise typer.BadParameter(f"{what}: give --yes to do it, or --dry-run to count only")
    typer.confirm(f"{what}. Do it?", abort=True, err=True)


def _change(editor: Editor, ids: Sequence[str], how: How, *, is_all: bool) -> None:
    if how.dry_run:
        _tell(how, len(ids), ChangeReport(changed=()), is_all=is_all)
        return
    changed: list[Task] = []
    failures: list[ChangeFailure] = []
    rest = iter(ids)
    if not ids:
        editor.change_many(how.verb, ())
    with bar(how.verb, len(ids)) as progress:
        try:
            while chunk := list(itertools.islice(rest, _CHUNK)):
                part = editor.change_many(how.verb, chunk)
                changed += part.changed
                failures += part.failures
                progress(len(changed) + len(failures))
        except (KeyboardInterrupt, DuebellError):
            warn("broken off: some that are not told here may be changed too")
            _tell(
                how, len(ids), ChangeReport(changed=tuple(changed), failures=tuple(failures)), is_all=is_all
            )
            raise
    _tell(how, len(ids), ChangeReport(changed=tuple(changed), failures=tuple(failures)), is_all=is_all)
    if failures:
        raise typer.Exit(Exit.SOME_FAILED)


def _tell(how: How, found: int, report: ChangeReport, *, is_all: bool) -> None:
    """What was done; as JSON, what the HTTP editor's bulk answers."""
    failures = [(one.id, plain(in_options(one.error))) for one in report.failures]
    if how.as_json:
        document = {
            "found": found,
            "is_all": is_all,
            "dry_run": how.dry_run,
            "changed": [task.id for task in report.changed],
            "failures": [{"id": id, "detail": why} for id, why in failures],
        }
        print(json.dumps(document))
        return
    if how.dry_run:
        print(f"{_count(found)} would be {how.verb.rule.done}; nothing was changed")
    else:
        print(f"{_count(len(report.changed))} {how.verb.rule.done}, {len(failures):,} failed")
    sys.stdout.flush()
    if not is_all:
        print("there are more than these: repeat it, or take more with --limit", file=sys.stderr)
    tell_some([why if quoted(id) in why else f"{plain(id)}: {why}" for id, why in failures])


def _count(number: int) -> str:
    return "1 task" if number == 1 else f"{number:,} tasks"
