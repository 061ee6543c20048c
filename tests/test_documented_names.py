"""Commands, options, names, files and links in README and docs exist, in the product or on the site."""

import inspect
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from docs import make_reference, make_site

import duebell
from duebell import Abort, Backoff, Editor, Retry, Snooze, Status, Worker
from duebell_editor.cli.program import app
from duebell_shared.tasks.fields import FIELDS
from duebell_worker.actions.handles import new_action

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAM: Any = typer.main.get_command(app)

_CODE = re.compile(r"```(?:console|sh|bash|text|yaml)\n(.*?)```|(?<!`)`([^`\n]+)`(?!`)", re.DOTALL)
_LINE = re.compile(r"^(?:\$ |.*&& |.*- run: )?(?:[A-Z_]+=\S+ )*duebell (.*)$", re.MULTILINE)


def command_lines(text: str) -> list[str]:
    """The words after `duebell` in the code of a page, a line each."""
    code = [(block or inline).replace("\\\n", " ") for block, inline in _CODE.findall(text)]
    return [line.partition(" #")[0] for each in code for line in _LINE.findall(each)]


def options_of(command: Any) -> set[str]:
    return {name for one in command.params for name in (*one.opts, *one.secondary_opts)}


def unknown(line: str) -> list[str]:
    """The words of a command line that the program does not know as a command or an option."""
    words = iter(shlex.split(line.replace("…", "")))
    command, wrong = PROGRAM, []
    for word in words:
        name, _, value = word.partition("=")
        if word in {"|", ">"}:
            break
        if name.startswith("--"):
            if name not in options_of(PROGRAM) | options_of(command) | {"--help"}:
                wrong.append(name)
            if command is PROGRAM and not value:
                next(words, None)  # the options before the command that pages use take a value
        elif command is PROGRAM:
            command = PROGRAM.get_command(None, word)
            if not command:
                return [] if word == "COMMAND" else [word]
        elif hasattr(command, "get_command"):
            command = command.get_command(None, word) or command
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_page_exists_with_its_options(page: Path) -> None:
    wrong = {line: unknown(line) for line in command_lines(page.read_text(encoding="utf-8"))}
    assert not {line: words for line, words in wrong.items() if words}


#: The names that a page may use of a scheduler: of the library, its methods, their arguments, and values.
NAMES = {*duebell.__all__, *dir(Editor), *dir(Worker), *FIELDS, *Status, "datetime", "raise", "timedelta"} | {
    name
    for call in (Editor.add, Editor.batch, new_action, Worker.deliver, Abort, Backoff, Retry, Snooze)
    for name in inspect.signature(call).parameters
}


def test_what_another_scheduler_has_is_called_here_by_names_that_exist() -> None:
    rows = re.findall(
        r"^\|(.*)\|(.*)\|$", (ROOT / "docs/coming-from.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    codes = [code for _, ours in rows for code in re.findall("`([^`]*)`", ours) if "duebell " not in code]
    wrong = {
        code: names - NAMES
        for code in codes
        if (names := set(re.findall(r"[a-z]\w+", re.sub('".*?"', "", code), re.IGNORECASE)))
    }
    assert len(codes) > 40
    assert not {code: names for code, names in wrong.items() if names - {"True", "False", "sale"}}


def test_every_variable_of_a_page_is_a_setting() -> None:
    settings = (ROOT / "docs/settings.md").read_text(encoding="utf-8")  # generated
    pages = " ".join(page.read_text(encoding="utf-8") for page in PAGES)
    of_a_container = {f"DUEBELL_{name}" for name in ("ACTION", "DUE", "ID", "PAYLOAD")}
    assert {*re.findall(r"DUEBELL_[A-Z_]*[A-Z]", pages)} - of_a_container <= {
        *re.findall(r"`(DUEBELL_\w+)`", settings)
    }


def test_the_files_and_the_commands_that_contributing_names_exist() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`([\w/]+\.(?:py|js|html|yaml|md))`", page))
    folders = ("docs", "duebell", "editor", "worker", "shared", "infra", "tests")
    there = {f"/{file.relative_to(ROOT).as_posix()}" for one in folders for file in (ROOT / one).rglob("*.*")}
    assert len(names) > 20
    assert not [name for name in names if not any(file.endswith(f"/{name}") for file in there)]
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", page)) <= targets


DOCS = ROOT / "docs"
CODE = "https://github.com/duebell/duebell"


@pytest.mark.parametrize(
    ("page", "given", "link"),
    [
        ("how-to/sam.md", "[a](../limits.md)", "[a](../limits.md)"),
        ("how-to/sam.md", "[a](../../README.md)", "[a](../index.md)"),
        ("how-to/sam.md", "[a](../../infra/template.yaml)", f"[a]({CODE}/blob/main/infra/template.yaml)"),
        ("compare.md", "[a](../alternatives)", f"[a]({CODE}/tree/main/alternatives)"),
        ("../README.md", "![a](docs/page/light.png)", "![a](page/light.png)"),
        ("../README.md", "[a](CHANGELOG.md)", "[a](changelog.md)"),
        ("using.md", "[a](https://example.com/x.md) [b](#part)", "[a](https://example.com/x.md) [b](#part)"),
    ],
)
def test_links_lead_to_pages_of_the_site_or_to_the_project(page: str, given: str, link: str) -> None:
    assert make_site.for_site(given, (DOCS / page).resolve()) == link


def test_every_page_stands_in_the_navigation_once() -> None:
    config = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"[\w/-]+\.md$", config, re.MULTILINE)
    pages = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")]
    assert sorted(listed) == sorted([*pages, "index.md", "changelog.md"])


def test_every_public_name_stands_in_the_reference_once() -> None:
    names = [name for group in make_reference.GROUPS.values() for name in group.split()]
    assert sorted(names) == sorted(duebell.__all__)


def test_the_diagram_of_states_has_each_status_but_cancelled() -> None:
    page = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    [diagram] = re.findall(r"stateDiagram-v2\n(.*?)```", page, re.DOTALL)
    shown = {*re.findall(r"[a-z]+(?= -->)|(?<=--> )[a-z]+", diagram)}
    assert shown == {*Status} - {Status.CANCELLED}
