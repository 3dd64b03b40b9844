"""Fail on a skipped test that should have run: ``skips.py [--list] JUNIT_XML…``.

A test may be skipped for the reasons below, and for the stamps in the plan that DLBENCH_CI_PLAN names. --list lists all
skips except those by stamps, and never fails.
"""

import json
import os
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

ALLOWED = (
    "is not on this machine",  # a Python for the worker
    "which is not installed. Three ways to get it",  # a Python for a framework's environment
    "no memory control group",  # an out-of-memory kill (simulated)
    "mounting a small file system is not allowed here",  # a full disk (simulated)
    "only with EXAMPLES_FULL=1",  # the thorough checks of the examples
)


def skips(path: str) -> list[tuple[str, str]]:
    """The test and the reason of each skip."""
    cases = ET.parse(path).iter("testcase")
    return [
        (f"{case.get('classname')}.{case.get('name')}", skipped.get("message") or "")
        for case in cases
        for skipped in case.iter("skipped")
    ]


def stamped() -> set[str]:
    """The reasons of skips by stamps, each for one framework, sweep and key."""
    plan = os.environ.get("DLBENCH_CI_PLAN")
    skipped = json.loads(Path(plan).read_text())["skipped"] if plan else {}
    return {stamp["reason"] for stamps in skipped.values() for stamp in stamps.values()}


def main() -> int:
    """List the skips, or report those that are not allowed."""
    is_list, known = sys.argv[1] == "--list", stamped()
    found = [skip for path in sys.argv[1 + is_list :] for skip in skips(path)]
    others = [(test, reason) for test, reason in found if reason not in known]
    if is_list:
        for test, reason in others:
            print(f"skipped: {test}: {reason}")
        print(f"skipped: {len(others)} tests, and {len(found) - len(others)} by stamps")
        return 0
    wrong = [(test, reason) for test, reason in others if not any(allowed in reason for allowed in ALLOWED)]
    for test, reason in wrong:
        print(f"must not be skipped: {test}: {reason}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
