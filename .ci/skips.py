"""Fail on a skipped test that should have run: ``skips.py [--list] JUNIT_XML…``.

Only the reasons below may skip here; ``--list`` names every skip and fails on none.
"""

import sys
from xml.etree import ElementTree as ET

ALLOWED = (
    "is not on this machine",  # a Python for the worker
    "which is not installed. Three ways to get it",  # a Python for a framework's environment
    "no memory control group",  # an out-of-memory kill, staged
    "mounting a small file system is not allowed here",  # a full disk, staged
)


def skips(path: str) -> list[tuple[str, str]]:
    """Test and reason of each."""
    cases = ET.parse(path).iter("testcase")
    return [
        (f"{case.get('classname')}.{case.get('name')}", skipped.get("message") or "")
        for case in cases
        for skipped in case.iter("skipped")
    ]


def main() -> int:
    """List, or judge."""
    is_list = sys.argv[1] == "--list"
    found = [skip for path in sys.argv[1 + is_list :] for skip in skips(path)]
    for test, reason in found:
        print(f"left out: {test}: {reason}")
    if is_list:
        print(f"left out: {len(found)} tests")
        return 0
    wrong = [test for test, reason in found if not any(allowed in reason for allowed in ALLOWED)]
    for test in wrong:
        print(f"must not be skipped here: {test}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
