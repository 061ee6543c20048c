"""What only the end-to-end tests need; the stack itself is in the tests' own conftest."""

import shutil
from collections.abc import Iterator
from pathlib import Path, PurePath

import pytest

from duebell import Editor
from duebell_infra.bundle import bundle
from duebell_infra.bundle.sources import Files
from duebell_infra.bundle.target import Target
from duebell_infra.local.stack import EmbeddedStack
from tests.e2e.deployer import Deployer


def pytest_itemcollected(item: pytest.Item) -> None:
    """Some of these tests want tasks that the stack's worker cannot run, and say so by their names."""
    item.add_marker(pytest.mark.filterwarnings("ignore::duebell.UnknownAction"))


@pytest.fixture(scope="package", autouse=True)
def _compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each source is compiled once, as all bundles of these tests have nearly the same."""
    compile_them, store = bundle.compiled_files, tmp_path_factory.mktemp("compiled")
    kept: dict[tuple[str, str, bytes], tuple[str, Path] | None] = {}

    def compiled_files(files: Files, target: Target, folder: Path) -> Files:
        keys = {
            name: (target.python, name, file.read_bytes())
            for name, file in files.items()
            if name.endswith(".py")
        }
        new = {name: files[name] for name, key in keys.items() if key not in kept}
        made = {_source_of(name): (name, file) for name, file in compile_them(new, target, folder).items()}
        for name in new:
            if found := made.get(name):
                found = found[0], shutil.copyfile(found[1], store / str(len(kept)))
            kept[keys[name]] = found
        return dict(one for key in keys.values() if (one := kept[key]))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundle, "compiled_files", compiled_files)
        yield


def _source_of(compiled: str) -> str:
    """The name of the source of this compiled file."""
    file = PurePath(compiled)
    return (file.parent.parent / f"{file.name.partition('.')[0]}.py").as_posix()


@pytest.fixture(scope="session")
def stack_editor(stack: EmbeddedStack) -> Editor:
    """An editor of the shared stack."""
    return Editor(stack.settings, session=stack.session)


@pytest.fixture
def deployer(stack: EmbeddedStack, request: pytest.FixtureRequest) -> Iterator[Deployer]:
    """A stack of the test's own, named after it, beside the shared one; all of it is gone afterwards."""
    name = request.function.__name__.removeprefix("test_").replace("_", "-")[:30].rstrip("-")
    deployer = Deployer(stack, name)
    yield deployer
    deployer.destroy(delete_table=True)
