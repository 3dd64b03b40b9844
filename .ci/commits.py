"""Check the subjects of new commits: ``commits.py``, in a clone.

A subject is at most 72 characters long, has no full stop at its end, and is imperative ("Add", not "Added", "Adds" or
"Adding"), judging by its first word. New commits are those after the last one that predates these rules.
"""

import re
import subprocess
import sys
from collections.abc import Iterator

# The last commit that predates the rules.
BASE = "7181c1407899fbf031dfbebe346b403cf749ed2d"
LONGEST = 72
OTHER_MOODS = re.compile(r"[A-Za-z]+(ed|ing|[^sui]s)\b", re.IGNORECASE)
# Imperatives that end like another verb form.
IMPERATIVE = frozenset(
    {"bring", "embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "spring", "string"}
)


def faults(subject: str) -> Iterator[str]:
    """What is wrong with a subject."""
    if len(subject) > LONGEST:
        yield f"{len(subject)} characters, more than {LONGEST}"
    if subject.endswith("."):
        yield "a full stop at the end"
    word = subject.partition(" ")[0]
    if OTHER_MOODS.fullmatch(word) and word.lower() not in IMPERATIVE:
        yield f"{word!r} is not imperative"


def subjects() -> list[str]:
    """Subjects of the new commits, newest first; only of the newest if a shallow clone lacks the last old commit."""
    known = subprocess.run(["git", "cat-file", "-e", BASE], capture_output=True, check=False).returncode == 0
    which = [f"{BASE}..HEAD"] if known else ["-1"]
    done = subprocess.run(
        ["git", "log", "--no-merges", "--format=%s", *which], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def main() -> int:
    """Count the subjects, and report their faults."""
    found = subjects()
    print(f"new commits: {len(found)}")
    wrong = [f"{subject}: {fault}" for subject in found for fault in faults(subject)]
    for line in wrong:
        print(f"commit subject: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
