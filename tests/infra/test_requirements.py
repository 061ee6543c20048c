"""What of a requirements file reaches pip: requirements by name, and nothing else."""

from pathlib import Path

import pytest

from duebell_infra.bundle.dependencies import requirements_of
from duebell_infra.errors import BundleFailed

SHA = "sha256:" + "a" * 64


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "requirements.txt"


def lines(file: Path, text: str) -> list[str]:
    file.write_text(text)
    return [str(one) for one in requirements_of(file).wanted]


@pytest.mark.parametrize(
    "line",
    [
        "sums",
        "sums==1.0",
        "sums >= 1.0, < 2.0",
        "sums~=1.4.2",
        "sums!=1.5.*",
        "sums===1.0+local.1",
        "sums (>=1.0,<2.0)",
        "sums[fast,more]>=1",
        "a.b_c-d==1!2.0rc1",
        "sums==1.0 ; python_version < '3.12' and sys_platform == \"linux\"",
        "sums;(platform_machine in 'arm64 aarch64') or os_name!='nt'",
    ],
)
def test_a_requirement_by_name_is_taken_as_it_is(file: Path, line: str) -> None:
    assert lines(file, line) == [line]


def test_comments_and_blank_lines_are_left_out_and_broken_lines_joined(file: Path) -> None:
    text = "\ufeff# what we need\n\nsums>=1, \\\n    <2  # for adding\n  numbers\n#last \\\nletters"
    assert lines(file, text) == ["sums>=1, <2", "numbers", "letters"]


def test_duebell_itself_is_in_the_bundle_anyway(file: Path) -> None:
    text = "duebell[cli]==0.1\nDuebell @ file:///somewhere\nduebell-more\n"
    assert lines(file, text) == ["duebell-more"]


INDEXES = "PIP_INDEX_URL"
BY_NAME = "require it by its name"
SUCH_AS = "write it such as"


@pytest.mark.parametrize(
    ("line", "way_out"),
    [
        ("--index-url https://example.com/simple", INDEXES),
        ("--extra-index-url=https://example.com/simple", INDEXES),
        ("-i https://example.com/simple", INDEXES),
        ("--find-links ./wheels", INDEXES),
        ("-f wheels", INDEXES),
        ("--trusted-host example.com", INDEXES),
        ("--no-binary :all:", INDEXES),
        ("--no-binary=sums", INDEXES),
        ("--pre", INDEXES),
        ("--use-feature=fast-deps", INDEXES),
        ("sums==1 --index-url https://example.com", INDEXES),
        ("sums==1 --config-settings=a=b", INDEXES),
        ("sums==1 ; python_version > '3' --index-url=https://example.com", INDEXES),
        ("sums==1 ; extra == ' --index-url https://example.com '", INDEXES),
        ("sums==1 --hash=md5:abc", INDEXES),
        ("-e .", BY_NAME),
        ("-e git+https://example.com/sums.git#egg=sums", BY_NAME),
        ("--editable=../sums", BY_NAME),
        ("sums @ https://example.com/sums-1.0-py3-none-any.whl", BY_NAME),
        ("sums@git+ssh://git@example.com/sums.git", BY_NAME),
        ("https://example.com/sums-1.0.tar.gz", BY_NAME),
        ("file:///home/me/sums", BY_NAME),
        (".", BY_NAME),
        ("./sums", BY_NAME),
        ("..", BY_NAME),
        ("/home/me/sums-1.0-py3-none-any.whl", BY_NAME),
        ("C:\\sums", BY_NAME),
        ("sums-1.0.tar.gz", BY_NAME),
        ("sums-1.0-py3-none-any.whl ; python_version > '3'", BY_NAME),
        ("sums==${VERSION}", SUCH_AS),
        ("${WHATEVER}", SUCH_AS),
        ("sums numbers", SUCH_AS),
        ("sums==1\x00", SUCH_AS),
    ],
)
def test_whatever_else_is_refused_with_its_line_and_the_way_out(file: Path, line: str, way_out: str) -> None:
    file.write_text(f"numbers\n\n{line}\n")
    with pytest.raises(BundleFailed) as refused:
        requirements_of(file)
    assert f"{file}, line 3: " in str(refused.value)
    assert way_out in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "line",
    ["-e .", "--index-url=https://example.com", "sums @ https://example.com/s.whl", "sums==1 --hash=" + SHA],
)
def test_and_so_it_is_of_a_project(tmp_path: Path, line: str) -> None:
    (tmp_path / "pyproject.toml").write_text(
        f'[project]\nname = "service"\ndependencies = ["numbers", "{line}"]\n'
    )
    with pytest.raises(BundleFailed, match=r"pyproject\.toml, dependencies: "):
        requirements_of(tmp_path)


def test_a_project_whose_dependencies_are_no_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "service"\ndependencies = "sums"\n')
    with pytest.raises(BundleFailed, match="no list"):
        requirements_of(tmp_path)


def test_no_password_and_no_long_line_is_repeated(file: Path) -> None:
    file.write_text(f"--index-url https://me:hunter2@example.com/{'x' * 200}\n")
    with pytest.raises(BundleFailed) as refused:
        requirements_of(file)
    assert "hunter2" not in str(refused.value)
    assert "x" * 100 not in str(refused.value)


def test_a_file_that_is_no_text_is_refused(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BundleFailed, match="cannot be read"):
        requirements_of(file)


# Other files.


@pytest.mark.parametrize(
    "option", ["-r base.txt", "-rbase.txt", "--requirement base.txt", "--requirement=base.txt"]
)
def test_other_files_are_read_and_held_to_the_same(file: Path, option: str) -> None:
    (file.parent / "base.txt").write_text("numbers\n-r requirements.txt\n")
    assert lines(file, f"{option}\nsums") == ["numbers", "sums"]

    (file.parent / "base.txt").write_text("\n--index-url https://example.com\n")
    with pytest.raises(BundleFailed, match=r"base\.txt, line 2"):
        requirements_of(file)


@pytest.mark.parametrize("option", ["-r none.txt", "-r https://example.com/requirements.txt", "-c none.txt"])
def test_a_file_that_is_not_here_is_named(file: Path, option: str) -> None:
    file.write_text(option)
    with pytest.raises(BundleFailed, match=r"line 1: .*no such file on this machine"):
        requirements_of(file)


def test_a_file_may_be_required_and_constrain_as_well(file: Path) -> None:
    (file.parent / "base.txt").write_text("numbers==2\n")
    file.write_text("-c base.txt\n-r base.txt\n")
    found = requirements_of(file)
    assert [str(one) for one in found.wanted] == [str(one) for one in found.constraints] == ["numbers==2"]


# Hashes.


@pytest.mark.parametrize(
    "text",
    [
        f"sums==1.0 --hash={SHA}",
        f"sums==1.0 \\\n    --hash={SHA} \\\n    --hash {SHA}",
        f"--require-hashes\nsums==1.0 --hash={SHA}",
    ],
)
def test_hashes_make_everything_hashed(file: Path, text: str) -> None:
    file.write_text(text)
    found = requirements_of(file)
    [sums] = found.wanted
    assert found.are_hashed
    assert sums.line == "sums==1.0"
    assert set(sums.hashes) == {SHA}


@pytest.mark.parametrize(
    "text", [f"sums==1.0 --hash={SHA}\nnumbers==2.0", "--require-hashes\nnumbers==2.0\n"]
)
def test_one_without_a_hash_is_named_where_others_have_one(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(BundleFailed, match=r"line 2: 'numbers==2\.0': it has no --hash"):
        requirements_of(file)
