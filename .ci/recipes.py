"""Print the commands that a page or a workflow shows, as a shell script that runs them literally: ``recipes.py FILE…``.

Of a Markdown page: every block of shell commands, and every block of Python after "Save this as `NAME`", which is
saved. A comment before a block, ``<!-- not run by CI: REASON -->``, omits it, and the reason is printed. Of a
workflow (YAML, for GitHub or GitLab): what is installed, and what dlbench and pytest are called with.
"""

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
OURS = ("pip install ", "dlbench ", "pytest ")


def of_page(text: str) -> Iterator[str]:
    """The commands of a page, in their order."""
    for block in BLOCK.finditer(text):
        (kind, code), paragraph = block.groups(), text[: block.start()].rstrip().rpartition("\n\n")[2]
        saved = re.search(r"Save this as `([\w./]+)`", " ".join(paragraph.split()))
        if reason := re.fullmatch(r"<!-- not run by CI: (.*) -->", paragraph):
            yield f"echo {shlex.quote(f'not run: {reason[1]}')}\n"
        elif kind == "sh":
            yield code
        elif kind == "python" and saved:
            yield f"cat >{saved[1]} <<'EOF'\n{code}EOF\n"


def of_workflow(content: Any) -> Iterator[str]:
    """The commands of a workflow that install, or call this package."""
    if "jobs" in content:
        steps = (step for job in content["jobs"].values() for step in job["steps"])
        scripts = [step["run"] for step in steps if "run" in step]
    else:
        scripts = [line for job in content.values() for line in [*job["script"], *job.get("after_script", [])]]
    yield from (f"{line}\n" for script in scripts for line in script.splitlines() if line.startswith(OURS))


def script(path: Path) -> str:
    """The script of a file; ValueError if it shows no command."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        commands = list(of_page(text))
    else:
        import yaml  # noqa: PLC0415 - pages need no more than Python

        commands = list(of_workflow(yaml.safe_load(text)))
    if not commands:
        raise ValueError(f"{path}: no command was found")
    return "".join(commands)


if __name__ == "__main__":
    print("set -euxo pipefail")
    for name in sys.argv[1:]:
        print(script(Path(name)))
