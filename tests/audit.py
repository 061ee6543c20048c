"""The audit of our own dependencies: `make audit` gives it pip-audit, and it says what came of it.

python -m tests.audit PIP_AUDIT REQUIREMENTS

pip-audit succeeds when the advisory database knows none of the packages, as when a proxy answers for it.
So what was not audited is told here, and fails.
"""

import json
import subprocess
import sys
from typing import Any

__all__ = ["main", "verdict"]

#: Exit statuses.
_CLEAN, _VULNERABLE, _NOT_AUDITED = 0, 1, 2

_NOT_REACHED = (
    "NOT AUDITED: the advisory database could not be asked, so nothing is known about these versions: audit "
    "again where it can be reached"
)


def main(pip_audit: str, requirements: str) -> int:
    """Audit the requirements file; the exit status."""
    command = [pip_audit, "--requirement", requirements, "--require-hashes", "--disable-pip"]
    report = [*command, "--progress-spinner", "off", "--format", "json"]
    done = subprocess.run(report, capture_output=True, text=True, check=False)
    try:
        found: Any = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        print(f"{_NOT_REACHED} ({last})")
        return _NOT_AUDITED
    status, lines = verdict(found)
    print("\n".join(lines))
    return status


def verdict(report: Any) -> tuple[int, list[str]]:
    """The exit status for a report of pip-audit's, and what to say."""
    packages = report["dependencies"]
    skipped = [one["name"] for one in packages if "skip_reason" in one]
    vulnerable = [
        f"{one['name']} {one['version']}: {advisory['id']}, fixed in "
        f"{', '.join(advisory['fix_versions']) or 'no version yet'}"
        for one in packages
        for advisory in one.get("vulns", [])
    ]
    if vulnerable:
        return _VULNERABLE, vulnerable
    if not packages or len(skipped) == len(packages):
        return _NOT_AUDITED, [_NOT_REACHED]
    if skipped:
        return _NOT_AUDITED, [
            f"NOT AUDITED, for the advisory database does not know them: {', '.join(skipped)}"
        ]
    return _CLEAN, [f"no known vulnerability in any of {len(packages)} packages"]


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(main(*arguments))
