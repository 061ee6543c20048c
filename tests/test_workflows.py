"""The workflows of GitHub, as far as can be told here: they call what is there, and may do little."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def jobs_of(file: Path) -> dict[str, Any]:
    jobs: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"]
    return jobs


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_calls_what_is_there(file: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    jobs = jobs_of(file)
    for job, output in re.findall(r"needs\.([\w-]+)\.outputs\.([\w-]+)", file.read_text(encoding="utf-8")):
        assert output in jobs[job].get("outputs", {}), f"{job} has no output {output}"
    for job in jobs.values():
        assert {
            *([job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", []))
        } <= jobs.keys()
        for step in job["steps"]:
            for target in re.findall(r"^make ([a-z]+)$", step.get("run", "")):
                assert target in targets
            for script in re.findall(r"^(\.ci/\w+)", step.get("run", "")):
                assert (ROOT / script).is_file()
            for module in re.findall(r"python -m ([\w.]+)", step.get("run", "")):
                assert (ROOT / Path(*module.split("."))).with_suffix(".py").is_file()
            assert "uses" not in step or re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"]), step
            assert (ROOT / step.get("working-directory", ".")).is_dir()


@pytest.mark.slow
def test_what_is_deployed_to_the_account_can_be_imported_in_a_lambda(tmp_path: Path) -> None:
    steps = jobs_of(ROOT / ".github" / "workflows" / "account.yml")["start"]["steps"]
    [(actions, folder)] = [
        (found[1], ROOT / step.get("working-directory", "."))
        for step in steps
        if (found := re.search(r"deploy --actions (\S+)", step.get("run", "")))
    ]
    place = ("--python", f"{sys.version_info[0]}.{sys.version_info[1]}", "--output", tmp_path / "worker.zip")
    command = [sys.executable, "-m", "duebell", "bundle", "--actions", actions, *place]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_may_write_only_where_a_job_says_so(file: Path) -> None:
    permissions = yaml.safe_load(file.read_text(encoding="utf-8"))["permissions"]
    assert {name for name, right in permissions.items() if right == "write"} <= {"id-token"}
