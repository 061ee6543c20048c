"""The libraries in a bundle: which, for which machine, and how it is said that one cannot be had.

pip gets the wheels from a folder: no test here reaches a registry.
"""

import hashlib
import io
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from duebell_infra.bundle.dependencies import core_requirements, install
from duebell_infra.bundle.target import Architecture, Target
from duebell_infra.errors import BundleFailed

pytestmark = pytest.mark.slow

ARM = Target(python="3.13", architecture=Architecture.ARM64)
INTEL = Target(python="3.12", architecture=Architecture.X86_64)


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that pip takes wheels from; the core's own are in it, for both targets."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    for requirement in core_requirements():
        name, version = requirement.split("==")
        needs = "botocore" if name == "tzdata" else ""
        for tag in ("cp313-cp313-manylinux_2_17_aarch64", "cp312-cp312-manylinux2014_x86_64"):
            write_wheel(folder, name, version, tag, needs=needs)
    write_wheel(folder, "botocore", "1.0", "py3-none-any")
    return folder


def write_wheel(folder: Path, name: str, version: str, tag: str, *, needs: str = "") -> None:
    notes = f"{name}-{version}.dist-info"
    requires = f"Requires-Dist: {needs}\n" if needs else ""
    files = {
        f"{name}/__init__.py": f"# {tag}\n",
        f"{notes}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}",
        f"{notes}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    files[f"{notes}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{notes}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)


@pytest.mark.parametrize(("target", "tag"), [(ARM, "aarch64"), (INTEL, "x86_64")])
def test_lambda_gets_wheels_of_its_own_kind(wheels: Path, tmp_path: Path, target: Target, tag: str) -> None:
    files = install(tmp_path / "installed", target, requirements=None)

    assert tag in files["msgspec/__init__.py"].read_text()
    assert not [name for name in files if name.startswith("botocore")]
    assert not [name for name in files if name.endswith(("RECORD", "INSTALLER", "direct_url.json"))]
    assert f"msgspec-{metadata.version('msgspec')}.dist-info/METADATA" in files


def test_the_users_requirements_go_in(wheels: Path, tmp_path: Path) -> None:
    write_wheel(wheels, "sums", "1.0", "cp313-cp313-manylinux_2_28_aarch64", needs="numbers")
    write_wheel(wheels, "numbers", "2.0", "py3-none-any")
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("sums>=1\n")

    files = install(tmp_path / "installed", ARM, requirements=requirements)

    assert {"sums/__init__.py", "numbers/__init__.py", "msgspec/__init__.py"} <= set(files)
    # And those of the user's project
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "service"\ndependencies = ["numbers>=2", "duebell[cli]>=99", "./x/duebell"]\n'
    )
    files = install(tmp_path / "more", ARM, requirements=tmp_path)
    assert {"numbers/__init__.py", "msgspec/__init__.py"} <= set(files)


def test_a_wheel_for_another_machine_is_said_to_be_missing(wheels: Path, tmp_path: Path) -> None:
    write_wheel(wheels, "sums", "1.0", "cp313-cp313-manylinux_2_28_x86_64")
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("sums\n")

    with pytest.raises(BundleFailed, match=r"no libraries for Python 3\.13 on arm64.*sums"):
        install(tmp_path / "installed", ARM, requirements=requirements)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, r"^there is no pyproject\.toml .*/pyproject\.toml$"),
        ("[project", r"^.*/pyproject\.toml cannot be read: Expected"),
        ('[project]\nname = "service"\n', r"lists no dependencies under \[project\]"),
        ('[tool.poetry.dependencies]\nsums = "1"\n', "list will do., or give a requirements file$"),
    ],
)
def test_a_project_that_does_not_say_is_refused(text: str | None, why: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(BundleFailed, match=why):
        install(tmp_path / "installed", ARM, requirements=tmp_path)


def test_a_missing_requirements_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BundleFailed, match=r"^there is no requirements file .*/none\.txt$"):
        install(tmp_path / "installed", ARM, requirements=tmp_path / "none.txt")


def test_this_machine_gets_what_is_installed_on_it(tmp_path: Path) -> None:
    files = install(tmp_path / "installed", Target.this_machine(), requirements=None)

    assert {"msgspec/__init__.py", "tzdata/__init__.py"} <= set(files)
    assert [name for name in files if name.startswith("msgspec/_core")]
    assert not [
        name for name in files if "__pycache__" in name or name.startswith(("boto3", "botocore", ".."))
    ]


# Hashes, and what is never done.


def sha(folder: Path, name: str) -> str:
    [wheel] = folder.glob(f"{name}-*.whl")
    return f"--hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"


@pytest.fixture
def hashed(wheels: Path, tmp_path: Path) -> Path:
    """A requirements file with hashes for two libraries, one of which requires the other."""
    write_wheel(wheels, "sums", "1.0", "py3-none-any", needs="numbers")
    write_wheel(wheels, "numbers", "2.0", "py3-none-any")
    requirements = tmp_path / "requirements.txt"
    requirements.write_text(f"sums==1.0 \\\n  {sha(wheels, 'sums')}\nnumbers==2.0 {sha(wheels, 'numbers')}\n")
    return requirements


PLACES = pytest.mark.parametrize("target", [ARM, Target.this_machine()], ids=["Lambda", "here"])


def test_what_has_its_hash_goes_in_beside_the_core(hashed: Path, tmp_path: Path) -> None:
    files = install(tmp_path / "installed", ARM, requirements=hashed)

    assert {"sums/__init__.py", "numbers/__init__.py", "msgspec/__init__.py"} <= set(files)


@PLACES
def test_what_has_another_is_refused(hashed: Path, wheels: Path, tmp_path: Path, target: Target) -> None:
    write_wheel(wheels, "numbers", "2.0", "py3-none-any", needs="msgspec")  # somebody changed it

    with pytest.raises(BundleFailed, match=r"HASHES .* numbers==2\.0 .*Expected sha256"):
        install(tmp_path / "installed", target, requirements=hashed)


def test_a_lock_with_another_version_of_the_core_is_refused_and_told_which(
    hashed: Path, wheels: Path, tmp_path: Path
) -> None:
    write_wheel(wheels, "msgspec", "0.1", "py3-none-any")
    digest = hashlib.sha256((wheels / "msgspec-0.1-py3-none-any.whl").read_bytes()).hexdigest()
    with hashed.open("a") as file:
        file.write(f"msgspec==0.1 --hash=sha256:{digest}\n")

    with pytest.raises(BundleFailed) as refused:
        install(tmp_path / "installed", ARM, requirements=hashed)
    assert f"msgspec=={metadata.version('msgspec')}" in str(refused.value)


@PLACES
def test_nothing_is_built_from_source(wheels: Path, tmp_path: Path, target: Target) -> None:
    # Given a library without a wheel, whose building would leave a trace
    trace = tmp_path / "built"
    setup = (
        f"import pathlib; pathlib.Path({str(trace)!r}).touch()\n"
        f"from setuptools import setup; setup(name='sums', version='1.0')"
    )
    with tarfile.open(wheels / "sums-1.0.tar.gz", "w:gz") as archive:
        for name, text in {
            "setup.py": setup,
            "PKG-INFO": "Metadata-Version: 2.1\nName: sums\nVersion: 1.0\n",
        }.items():
            entry = tarfile.TarInfo(f"sums-1.0/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("\nsums\n")
    # Then it is refused, with the way out
    with pytest.raises(BundleFailed, match=r"no libraries .*sums.*Nothing is built from source"):
        install(tmp_path / "installed", target, requirements=requirements)
    assert not trace.exists()
